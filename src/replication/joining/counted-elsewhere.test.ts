import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { CountedElsewhere } from "./counted-elsewhere.ts";

test("what secondaries have sealed is counted once, each for itself, under the newest key alone", async () => {
  const { barrier } = await madeBarrier();
  const own = barrier.keyStatus.encryptions;
  const counted = new CountedElsewhere(barrier);
  const sum = () => barrier.keyStatus.encryptions - own;
  counted.note("berlin", { term: 1, encryptions: 10 });
  counted.note("berlin", { term: 1, encryptions: 10 });
  counted.note("berlin", { term: 1, encryptions: 25 });
  counted.note("paris", { term: 1, encryptions: 7 });
  counted.note("berlin", { term: 1, encryptions: 3 }); // of before
  assert.equal(sum(), 32);
  counted.forget("berlin");
  assert.equal(sum(), 32);
  await barrier.rotate();
  const before = barrier.keyStatus.encryptions;
  counted.note("paris", { term: 1, encryptions: 9 });
  assert.equal(barrier.keyStatus.encryptions, before);
  counted.note("paris", { term: 2, encryptions: 4 });
  assert.equal(barrier.keyStatus.encryptions, before + 4);
});
