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

test("what one of them says is bounded: keys are not changed all the time, and the count can be stored and read", async () => {
  const { barrier } = await madeBarrier();
  const own = barrier.keyStatus.encryptions;
  const counted = new CountedElsewhere(barrier);
  counted.note("berlin", { term: 1, encryptions: 2 ** 48 });
  assert.equal(barrier.keyStatus.encryptions - own, 10_000_000);
  counted.note("berlin", { term: 1, encryptions: 2 ** 48 });
  assert.equal(barrier.keyStatus.encryptions - own, 20_000_000); // the rest comes with the next times
  for (let i = 0; i < 3; i++) barrier.countElsewhere(1, 2 ** 63);
  assert.ok(Number.isSafeInteger(barrier.keyStatus.encryptions));
});
