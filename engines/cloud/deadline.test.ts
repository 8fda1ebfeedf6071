import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { pause } from "@holdfast/shared/pause";
import { withDeadline } from "./deadline.ts";

test("work is told when its time is over, and leaves no timer behind", async () => {
  const { timers } = fakeWorld();
  const work = withDeadline(timers, 10n * SECOND, async (signal) => {
    await pause(timers, 60n * SECOND, signal);
    return signal.aborted;
  });
  await timers.advance(10n * SECOND);
  assert.equal(await work, true);
  assert.equal(timers.armed, 0);
});

test("a pause is as long as it is said to be, and none for a signal that is over", async () => {
  const { timers, clock } = fakeWorld();
  let over = false;
  const waiting = pause(timers, 5n * SECOND, new AbortController().signal).then(
    () => (over = true),
  );
  await timers.advance(4n * SECOND);
  assert.equal(over, false);
  await timers.advance(SECOND);
  await waiting;
  assert.equal(clock.elapsed(), 5n * SECOND);
  await pause(timers, 5n * SECOND, AbortSignal.abort());
  assert.equal(timers.armed, 0);
});
