import assert from "node:assert/strict";
import test from "node:test";
import { TightHeap } from "./tight-heap.ts";

const [TIGHT, USUAL] = ["--heap-growing-percent=50", "--heap-growing-percent=0"];

test("old objects grow less while anything runs, and as usual afterwards, also where it throws", async () => {
  const flags: string[] = [];
  const heap = new TightHeap((flag) => flags.push(flag));
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const copies = [heap.during(() => first.promise), heap.during(() => second.promise)];
  assert.deepEqual(flags, [TIGHT]);
  first.resolve(1);
  assert.equal(await copies[0], 1);
  assert.deepEqual(flags, [TIGHT], "the other one still runs");
  second.reject(new Error("cut"));
  await assert.rejects(copies[1]!, /cut/);
  assert.deepEqual(flags, [TIGHT, USUAL]);
  await heap.during(async () => {});
  assert.deepEqual(flags, [TIGHT, USUAL, TIGHT, USUAL]);
});
