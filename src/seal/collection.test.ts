import assert from "node:assert/strict";
import { test } from "node:test";
import { InvariantError } from "../base/invariant.ts";
import { collect, step } from "./collection.ts";

const share = (byte: number) => Buffer.alloc(33, byte);

test("distinct shares are counted until there are enough", () => {
  const first = step(collect(2), { do: "give", share: share(1) });
  assert.equal(first.outcome, "counted");
  assert.deepEqual(first.collection, { required: 2, shares: [share(1)] });
  const second = step(first.collection, { do: "give", share: share(2) });
  assert.equal(second.outcome, "complete");
  assert.deepEqual(second.collection.shares, [share(1), share(2)]);
  assert.deepEqual(second.dropped, []);
});

test("one share is enough where one is required", () => {
  assert.equal(step(collect(1), { do: "give", share: share(1) }).outcome, "complete");
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

test("clearing hands back every share and begins anew", () => {
  const first = share(1);
  const { collection } = step(collect(2), { do: "give", share: first });
  const cleared = step(collection, { do: "clear" });
  assert.deepEqual(cleared.collection, collect(2));
  assert.equal(cleared.dropped[0], first);
});

test("a complete collection takes no more", () => {
  const { collection } = step(collect(1), { do: "give", share: share(1) });
  assert.throws(() => step(collection, { do: "give", share: share(2) }), InvariantError);
});
