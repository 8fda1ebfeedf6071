import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { canonicalVersion, compareVersions, isBuiltInVersion, reportedVersion } from "./version.ts";

const forms: readonly [text: string, canonical: string][] = [
  ["", ""],
  ["1", "v1.0.0"],
  ["1.2", "v1.2.0"],
  ["v1.2", "v1.2.0"],
  ["1.2.3", "v1.2.3"],
  ["v1.2.3-rc.1", "v1.2.3-rc.1"],
  ["1.2-beta+build.5", "v1.2.0-beta+build.5"],
];
for (const [text, canonical] of forms) {
  test(`${text || "nothing"} is kept as ${canonical || "nothing"}`, () => {
    assert.equal(canonicalVersion(text), canonical);
    assert.equal(canonicalVersion(canonical), canonical);
  });
}

const refused = [
  "x",
  "v",
  "1.",
  "1.2.3.4",
  "01.2",
  "1.2.3-01",
  "1.2.3-",
  "1.2.3+",
  "1.2.3+a/b",
  "-",
  " 1.2",
  "1.2\n",
  "1.2.3+a\0",
  "9".repeat(16),
  `1.2.3-${"a".repeat(128)}`,
];
for (const text of refused) {
  test(`${JSON.stringify(text).slice(0, 20)} is no version, and what is one is told`, () => {
    assert.throws(
      () => canonicalVersion(text),
      (error) =>
        error instanceof Failure &&
        error.kind === "invalid" &&
        /is not a valid semantic version: expected .* such as v1\.2\.0/.test(error.message),
    );
    assert.equal(reportedVersion(text), null);
  });
}

test("what would pass for a built-in version is refused in the one form of it", () => {
  assert.throws(
    () => canonicalVersion("1.0+builtin"),
    (error) =>
      error instanceof Failure &&
      error.texts.join().startsWith(`version "v1.0.0+builtin" is not allowed because 'builtin' is`),
  );
  assert.throws(() => canonicalVersion("v1.0.0+a.builtin.b"), /reserved metadata identifier/);
  assert.equal(canonicalVersion("v1.0.0+builtins"), "v1.0.0+builtins");
  assert.equal(isBuiltInVersion("v1.0.0+builtin"), true);
  assert.equal(isBuiltInVersion("v1.0.0"), false);
});

test("versions are ordered as the specification of them orders its own examples", () => {
  const ordered = [
    "v1.0.0-alpha",
    "v1.0.0-alpha.1",
    "v1.0.0-alpha.beta",
    "v1.0.0-beta",
    "v1.0.0-beta.2",
    "v1.0.0-beta.11",
    "v1.0.0-rc.1",
    "v1.0.0",
    "v1.9.0",
    "v1.10.0",
    "v2.0.0",
  ];
  assert.deepEqual(["", ...ordered.toReversed()].toSorted(compareVersions), ["", ...ordered]);
});

test("the order is one: no two are before each other, and it goes on through a third", () => {
  const number = fc.nat({ max: 3 });
  const word = fc.constantFrom("a", "b", "2", "11", "rc");
  const version = fc
    .tuple(
      number,
      number,
      number,
      fc.array(word, { maxLength: 2 }),
      fc.constantFrom("", "+a", "+b"),
    )
    .map(([a, b, c, before, build]) =>
      canonicalVersion(
        `${a}.${b}.${c}${before.length === 0 ? "" : `-${before.join(".")}`}${build}`,
      ),
    );
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      assert.equal(Math.sign(compareVersions(a, b)), -Math.sign(compareVersions(b, a)) || 0);
      assert.equal(compareVersions(a, b) === 0, a === b);
      if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) {
        assert.ok(compareVersions(a, c) <= 0);
      }
    }),
  );
});
