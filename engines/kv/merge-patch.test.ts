import assert from "node:assert/strict";
import { test } from "node:test";
import { rawNumber } from "@holdfast/shared/json/json";
import { mergePatch } from "./versioned.ts";

// The examples of RFC 7396, appendix A, as far as target and patch are objects.
const CASES: readonly [before: object, patch: object, after: object][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

for (const [before, patch, after] of CASES) {
  test(`${JSON.stringify(before)} with ${JSON.stringify(patch)} is ${JSON.stringify(after)}`, () => {
    assert.deepEqual(mergePatch(before as never, patch as never), after);
  });
}

test("a number that keeps its spelling is a value, not an object", () => {
  const number = rawNumber("1.50");
  assert.deepEqual(mergePatch({ a: { b: 1 } }, { a: number }), { a: number });
});

test("what an object inherits is not what it holds", () => {
  assert.deepEqual(mergePatch({}, { toString: { a: 1 } }), { toString: { a: 1 } });
});
