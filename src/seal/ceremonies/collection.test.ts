import assert from "node:assert/strict";
import { test } from "node:test";
import { InvariantError } from "@holdfast/shared/invariant";
import { type Collection, collect, progressOf, sets, step } from "./collection.ts";

const share = (byte: number) => Buffer.alloc(33, byte);

test("distinct shares are counted until there are enough", () => {
  const first = step(collect(2), { do: "give", share: share(1) });
  assert.equal(first.outcome, "counted");
  assert.deepEqual(first.collection, { required: 2, shares: [share(1)] });
  const second = step(first.collection, { do: "give", share: share(2) });
  assert.equal(second.outcome, "enough");
  assert.deepEqual(second.collection.shares, [share(1), share(2)]);
  assert.deepEqual(second.dropped, []);
});

test("one share is enough where one is required", () => {
  assert.equal(step(collect(1), { do: "give", share: share(1) }).outcome, "enough");
});

test("a repeated share changes nothing and is handed back to be wiped", () => {
  const { collection } = step(collect(3), { do: "give", share: share(1) });
  const again = share(1);
  const repeated = step(collection, { do: "give", share: again });
  assert.equal(repeated.outcome, "repeated");
  assert.equal(repeated.collection, collection);
  assert.deepEqual(repeated.dropped, [again]);
  assert.equal(repeated.dropped[0], again); // that very Buffer, not the one that is kept
});

test("shares that differ in the x byte alone, or in length, are distinct", () => {
  const other = share(1);
  other[32] = 9;
  const { collection } = step(collect(4), { do: "give", share: share(1) });
  assert.equal(step(collection, { do: "give", share: other }).outcome, "counted");
  assert.equal(step(collection, { do: "give", share: Buffer.alloc(32, 1) }).outcome, "counted");
});

const withShares = (required: number, count: number): Collection => {
  let collection = collect(required);
  for (let i = 1; i <= count; i++) {
    collection = step(collection, { do: "give", share: share(i) }).collection;
  }
  return collection;
};
const fail = (collection: Collection) => step(collection, { do: "fail" });
const tried = (collection: Collection) =>
  Array.from(sets(collection), (set) => set.map((one) => one[0]));

test("shares that failed are kept for the next one", () => {
  const failed = fail(withShares(2, 2));
  assert.equal(failed.outcome, "kept");
  assert.deepEqual(failed.dropped, []);
  assert.equal(progressOf(failed.collection), 1, "one more may be enough");
  assert.equal(step(failed.collection, { do: "give", share: share(3) }).outcome, "enough");
});

const limits: readonly [required: number, max: number][] = [
  [1, 3],
  [2, 6],
  [3, 9],
  [5, 15],
  [6, 16],
  [15, 16],
  [16, 16],
  [20, 20],
];
for (const [required, max] of limits) {
  test(`where ${required} are required, ${max} that failed are handed back to be wiped`, () => {
    if (max > required) assert.equal(fail(withShares(required, max - 1)).outcome, "kept");
    const full = withShares(required, max);
    const spent = fail(full);
    assert.equal(spent.outcome, "spent");
    assert.deepEqual(spent.collection, collect(required));
    assert.deepEqual(spent.dropped, full.shares);
    assert.throws(() => step(full, { do: "give", share: share(99) }), InvariantError);
  });
}

test("every set with the newest share is tried, and none of those that were tried before", () => {
  assert.deepEqual(tried(withShares(3, 2)), []);
  assert.deepEqual(tried(withShares(3, 3)), [[1, 2, 3]]);
  assert.deepEqual(tried(withShares(3, 4)), [
    [1, 2, 4],
    [1, 3, 4],
    [2, 3, 4],
  ]);
  assert.deepEqual(tried(withShares(1, 2)), [[2]]);
});

test("no try has more than 6435 sets, whatever the threshold", () => {
  const counts = limits.map(([required, max]) => tried(withShares(required, max)).length);
  assert.deepEqual(counts, [1, 5, 28, 1001, 3003, 15, 1, 1]);
  assert.equal(tried(withShares(8, 16)).length, 6435);
});
