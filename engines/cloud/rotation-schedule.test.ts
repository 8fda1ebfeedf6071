import assert from "node:assert/strict";
import test from "node:test";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { FakeClock, FakeTimers, nextTurn, START } from "../../tests/support/fake-world.ts";
import { RotationSchedule } from "./rotation-schedule.ts";

function scheduled() {
  const clock = new FakeClock();
  const timers = new FakeTimers(clock);
  const begun: string[] = [];
  const held: (() => void)[] = [];
  let waits = false;
  const schedule = new RotationSchedule({
    clock,
    timers,
    run: (name) => {
      begun.push(name);
      if (waits) return new Promise((resolve) => held.push(resolve));
      schedule.set(name, clock.now() + DAY);
      return Promise.resolve();
    },
  });
  return {
    clock,
    timers,
    begun,
    schedule,
    hold: () => (waits = true),
    release: () => held.splice(0).forEach((go) => go()),
  };
}

test("nothing is armed while nothing is known, and one timer for any number of roles", () => {
  const { timers, schedule } = scheduled();
  schedule.open();
  assert.equal(timers.armed, 0);
  for (let i = 0; i < 100; i++) schedule.set(`r${i}`, START + HOUR);
  assert.equal(timers.armed, 1);
  schedule.close();
  assert.equal(timers.armed, 0);
});

test("what is due is begun when it is, not before", async () => {
  const { timers, begun, schedule } = scheduled();
  schedule.set("a", START + 3n * HOUR);
  schedule.open();
  await timers.advance(3n * HOUR - SECOND);
  assert.deepEqual(begun, []);
  await timers.advance(SECOND);
  assert.deepEqual(begun, ["a"]);
});

test("S9, catch-up: what is overdue is begun once each, the oldest first, two in a second at most", async () => {
  const { timers, begun, schedule } = scheduled();
  const names = Array.from({ length: 20 }, (_, i) => `r${i}`);
  for (const [i, name] of names.entries()) schedule.set(name, START - BigInt(20 - i) * MINUTE);
  schedule.open();
  await timers.advance(2n * SECOND);
  assert.equal(begun.length, 5); // one at once, then one each half second
  await timers.advance(MINUTE);
  assert.deepEqual(begun, names);
});

test("four at once at most, and one that takes long holds up no other", async () => {
  const { timers, begun, schedule, hold, release } = scheduled();
  hold();
  for (let i = 0; i < 6; i++) schedule.set(`r${i}`, START - 10n + BigInt(i));
  schedule.open();
  await timers.advance(MINUTE);
  assert.deepEqual(begun, ["r0", "r1", "r2", "r3"]);
  release();
  await nextTurn();
  await timers.advance(MINUTE);
  assert.deepEqual(begun.slice(0, 6), ["r0", "r1", "r2", "r3", "r0", "r1"]);
});

test("a wall clock that is set forward is noticed within ten minutes", async () => {
  const { clock, timers, begun, schedule } = scheduled();
  schedule.set("a", START + 30n * DAY);
  schedule.open();
  clock.jump(START + 31n * DAY);
  await timers.advance(10n * MINUTE);
  assert.deepEqual(begun, ["a"]);
});

test("what was removed, and whatever comes after closing, is not begun", async () => {
  const { timers, begun, schedule } = scheduled();
  schedule.open();
  schedule.set("a", START + HOUR);
  schedule.set("b", START + HOUR);
  schedule.remove("a");
  await timers.advance(HOUR);
  assert.deepEqual(begun, ["b"]);
  schedule.close();
  schedule.set("c", START);
  await timers.advance(DAY);
  assert.deepEqual(begun, ["b"]);
});
