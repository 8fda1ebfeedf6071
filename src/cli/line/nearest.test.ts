// Guessing what was meant.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { edits, nearest } from "./nearest.ts";

test("edits() counts insertions, deletions, replacements and swaps", () => {
  for (const [from, to, count] of [
    ["", "", 0],
    ["seal", "unseal", 2],
    ["statsu", "status", 1],
    ["rekey", "reket", 1],
    ["abc", "", 3],
  ] as const) {
    assert.equal(edits(from, to), count, `${from} ${to}`);
  }
});

test("edits() is a distance: symmetric, zero for the same word only", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
      assert.equal(edits(a, b), edits(b, a));
      assert.equal(edits(a, b) === 0, a === b);
    }),
  );
});

test("nearest() guesses what is close or begins alike, and nothing else", () => {
  const known = ["unseal", "seal", "status", "generate-root"];
  assert.equal(nearest("statsu", known), "status");
  assert.equal(nearest("gen", known), "generate-root");
  assert.equal(nearest("unsael", known), "unseal");
  assert.equal(nearest("xyzzy", known), null);
});
