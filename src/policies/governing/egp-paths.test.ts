import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type EgpPath, EgpIndex, readEgpPaths, showEgpPath } from "./egp-paths.ts";

function index(...paths: readonly string[]): EgpIndex<string> {
  return EgpIndex.of(readEgpPaths(paths).map((path) => ({ path, value: showEgpPath(path) })));
}

function matching(paths: readonly string[], path: string): readonly string[] {
  return index(...paths)
    .matching(path)
    .map(({ value }) => value);
}

test("paths are trimmed, lose one leading slash and their star, and count once", () => {
  assert.deepEqual(readEgpPaths([" secret/* ", "/secret/*", "*", "transit/keys/a", ""]), [
    { path: "secret/", glob: true },
    { path: "", glob: true },
    { path: "transit/keys/a", glob: false },
  ]);
});

test("what cannot be a path is refused in its own words", () => {
  const refused = (paths: readonly string[], message: string) =>
    assert.throws(() => readEgpPaths(paths), { kind: "invalid", message });
  refused([], "'paths' parameter not supplied or empty");
  refused([" ", "/"], "'paths' parameter not supplied or empty");
  refused(["a/*/b"], "invalid EGP path \"a/*/b\": '*' is only allowed as the last character");
  refused(["a**"], "invalid EGP path \"a**\": '*' is only allowed as the last character");
  refused(["a/+/b"], "invalid EGP path \"a/+/b\": '+' is not supported in EGP paths");
});

test("every path that matches is found, the longest first", () => {
  const paths = ["*", "secret/*", "secret/orders", "secret/orders*", "secretx"];
  assert.deepEqual(matching(paths, "secret/orders"), [
    "secret/orders",
    "secret/orders*",
    "secret/*",
    "*",
  ]);
  assert.deepEqual(matching(paths, "secretx"), ["secretx", "*"]);
  assert.deepEqual(matching(["secret/*"], "secretx"), []);
  assert.deepEqual(matching(["secret/*"], "secret"), []);
});

test("an exact path also matches itself with a slash, and no more than one", () => {
  assert.deepEqual(matching(["secret/orders"], "secret/orders/"), ["secret/orders"]);
  assert.deepEqual(matching(["secret/orders"], "secret/orders//"), []);
  assert.deepEqual(matching(["secret/orders/"], "secret/orders"), []);
});

test("several policies on one path are all found", () => {
  const path: EgpPath = { path: "a", glob: false };
  const all = EgpIndex.of([
    { path, value: 1 },
    { path, value: 2 },
  ]);
  assert.deepEqual(
    all.matching("a").map(({ value }) => value),
    [1, 2],
  );
  assert.equal(all.isEmpty, false);
  assert.equal(EgpIndex.of([]).isEmpty, true);
});

test("the index finds what a look at every path finds", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 6 });
  const path = fc.record({ path: text, glob: fc.boolean() });
  fc.assert(
    fc.property(fc.array(path, { maxLength: 12 }), text, (paths, wanted) => {
      const entries = paths.map((each, value) => ({ path: each, value }));
      const naive = entries.filter(({ path: each }) =>
        each.glob
          ? wanted.startsWith(each.path)
          : each.path === wanted || `${each.path}/` === wanted,
      );
      const found = EgpIndex.of(entries).matching(wanted);
      assert.deepEqual(
        found.map(({ value }) => value).toSorted((a, b) => a - b),
        naive.map(({ value }) => value),
      );
      const lengths = found.map(({ path: each }) => each.path.length);
      assert.deepEqual(
        lengths,
        lengths.toSorted((a, b) => b - a),
      );
    }),
  );
});
