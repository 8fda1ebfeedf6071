import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { Failure } from "@holdfast/shared/failure";
import { refused } from "../../tests/support/made/made-namespaces.ts";
import { readNames } from "./names.ts";

test("a path is cut into its names", () => {
  assert.deepEqual(readNames("team"), ["team"]);
  assert.deepEqual(readNames("Team-1/b.c/~x,y:z@w"), ["Team-1", "b.c", "~x,y:z@w"]);
  assert.deepEqual(readNames("rooted/system/authors/v1/ui"), [
    "rooted",
    "system",
    "authors",
    "v1",
    "ui",
  ]);
});

for (const name of ["root", "sys", "audit", "auth", "cubbyhole", "identity", "acl", "api-lock"]) {
  test(`T-D01: ${name} is no name, in any case and at any depth`, () => {
    const upper = name.toUpperCase();
    const mixed = upper.slice(0, 1) + name.slice(1);
    for (const path of [name, upper, mixed, `a/${name}`, `${mixed}/a`]) {
      assert.throws(() => readNames(path), refused("namespace-name"), path);
    }
  });
}

test("the calls that seal one namespace at other servers make none here, and are told why", () => {
  for (const name of ["seal", "unseal", "seal-status", "delete-sealed", "Seal"]) {
    assert.throws(
      () => readNames(`team/${name}`),
      (error) => error instanceof Failure && /sys\/seal seals the server/.test(error.message),
    );
  }
});

test("T-D01, T-D05: what is no segment of a path, or no printable ASCII, is no name", () => {
  for (const path of [
    "",
    "/",
    "a/",
    "/a",
    "a//b",
    ".",
    "..",
    "a/../b",
    ".a",
    "a.",
    "a b",
    " a",
    "a\u00a0",
    "a*",
    "+",
    "a%2e",
    "a\\b",
    "a\u0000",
    "a\n",
    "\u007f",
    "é",
    "ｒｏｏｔ",
    "root\u200b",
    "\ud800",
    "x".repeat(129),
  ]) {
    assert.throws(() => readNames(path), refused("namespace-name"), JSON.stringify(path));
  }
  assert.deepEqual(readNames("x".repeat(128)), ["x".repeat(128)]);
});

test("T-D05: a path of ten thousand names is refused before it is cut up", () => {
  assert.throws(() => readNames("a/".repeat(10_000)), refused("namespace-path-too-long"));
});

test("T-D05: any text is names that a request path can carry, or a Failure", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "grapheme" }),
    fc
      .array(fc.constantFrom("a", "/", ".", "%", "root", "SYS", " ", "~", "é"))
      .map((a) => a.join("")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      let names: readonly string[];
      try {
        names = readNames(text);
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
        assert.equal(error.kind, "invalid");
        return;
      }
      assert.equal(names.join("/"), text);
      const raw = names.map((name) => encodeURIComponent(name).replaceAll("%7E", "~"));
      assert.deepEqual(CanonicalPath.parse(`/${raw.join("/")}`).segments, names);
    }),
    { numRuns: 5000 },
  );
});
