import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { PrimaryLease } from "./primary-lease.ts";

const BY = { set: "5f3d2c10-0000-4000-8000-0000000000aa", epoch: 2 };
const LATER = { ...BY, epoch: 3 };
const OTHER = { ...BY, set: "other" };
const LENGTH = 30n * SECOND;

async function stage(length = LENGTH) {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const clock = new FakeClock();
  const made = (by = BY) => {
    const lease = new PrimaryLease({ length, view, clock, log: world.log });
    lease.load(by);
    return lease;
  };
  return { clock, view, made };
}

test("a primary that has reached nobody is not bound; one that has may write for so long, and again when it is reached", async () => {
  const { clock, made } = await stage();
  const lease = made();
  clock.pass(3600n * SECOND);
  assert.equal(lease.isLapsed(BY), false);
  lease.reached(BY);
  clock.pass(LENGTH - 1n);
  assert.equal(lease.isLapsed(BY), false);
  clock.pass(1n);
  assert.equal(lease.isLapsed(BY), true);
  assert.equal(lease.isLapsed(LATER), false, "promoted again it is bound by nothing of before");
  lease.reached(BY);
  assert.equal(lease.isLapsed(BY), false);
  await lease.settled();
});

test("a machine that was suspended, and a clock that was set ahead, have let the time pass too", async () => {
  const { clock, made } = await stage();
  const lease = made();
  lease.reached(BY);
  clock.jump(clock.now() + LENGTH); // the steady clock stood still
  assert.equal(lease.isLapsed(BY), true);
  lease.reached(BY);
  clock.jump(clock.now() - 3600n * SECOND);
  clock.pass(LENGTH - 1n);
  assert.equal(lease.isLapsed(BY), false);
  clock.pass(1n);
  assert.equal(lease.isLapsed(BY), true, "set back, it goes by the steady one");
  await lease.settled();
});

test("a restart grants nothing: what was granted is stored, at most a half older", async () => {
  const { clock, made } = await stage();
  const lease = made();
  for (let i = 0; i < 20; i++) {
    lease.reached(BY);
    await lease.settled();
    clock.pass(5n * SECOND);
  }
  // Five seconds ago it was reached: there are 25 left, or 10 by what is stored.
  const again = made();
  assert.equal(again.isLapsed(BY), false);
  clock.pass(25n * SECOND);
  assert.equal(again.isLapsed(BY), true);
  assert.equal(made().isLapsed(BY), true, "and still after another one");
  clock.jump(clock.now() - 3600n * SECOND);
  const back = made();
  assert.equal(back.isLapsed(BY), false);
  clock.pass(LENGTH);
  assert.equal(back.isLapsed(BY), true, "a clock that was set back grants its length and no more");
});

test("what was stored before the clock was set back is stored anew: no restart grants it again and again", async () => {
  const { clock, made } = await stage();
  const lease = made();
  lease.reached(BY);
  await lease.settled();
  clock.jump(clock.now() - 3600n * SECOND);
  lease.reached(BY);
  await lease.settled();
  clock.pass(LENGTH);
  assert.equal(made().isLapsed(BY), true);
});

test("what was granted counts in its own epoch of its own set, and nothing does where the lease is off", async () => {
  const { clock, made, view } = await stage();
  const lease = made();
  lease.reached(BY);
  await lease.settled();
  clock.pass(LENGTH);
  assert.equal(made().isLapsed(BY), true);
  assert.equal(made(LATER).isLapsed(LATER), false);
  assert.equal(made(OTHER).isLapsed(OTHER), false);
  await lease.release();
  assert.equal(lease.isLapsed(BY), false);
  assert.deepEqual(view.keys("lease", { limit: 1 }), []);
  const off = await stage(0n);
  const unbound = off.made();
  unbound.reached(BY);
  off.clock.pass(3600n * SECOND);
  assert.deepEqual([unbound.isOn, unbound.isLapsed(BY)], [false, false]);
  assert.deepEqual(off.view.keys("lease", { limit: 1 }), []);
});

test("a store is written to once for many words", async () => {
  const { clock, made, view } = await stage();
  const lease = made();
  const writes: number[] = [];
  const write = view.write.bind(view);
  view.write = ((...all: Parameters<typeof view.write>) => {
    writes.push(1);
    return write(...all);
  }) as typeof view.write;
  for (let i = 0; i < 60; i++) {
    lease.reached(BY);
    await lease.settled();
    clock.pass(SECOND);
  }
  assert.ok(writes.length >= 3 && writes.length <= 5, String(writes.length));
});
