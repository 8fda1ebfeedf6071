// The real clock against the system's, both with real and with given readings.

import assert from "node:assert/strict";
import test from "node:test";
import type { TestContext } from "node:test";
import { SystemClock } from "./clock.ts";

const MILLI = 1_000_000n;

test("now() lies within the wall clock's milliseconds around the call", () => {
  const clock = new SystemClock();
  for (let i = 0; i < 10_000; i++) {
    const before = BigInt(Date.now()) * MILLI;
    const now = clock.now();
    const after = BigInt(Date.now() + 1) * MILLI;
    assert.ok(before <= now && now < after, `${before} ${now} ${after}`);
  }
});

test("elapsed() never goes back and has more than millisecond steps", () => {
  const clock = new SystemClock();
  const readings = Array.from({ length: 1_000 }, () => clock.elapsed());
  assert.ok(readings.every((reading, i) => i === 0 || reading >= readings[i - 1]!));
  assert.ok(new Set(readings.map((reading) => reading % MILLI)).size > 1);
});

/** Sets what the system's two clocks say, for one test. */
function mockTimes(t: TestContext): (wallMs: number, monotonic: bigint) => void {
  let [wall, elapsed] = [0, 0n];
  t.mock.method(Date, "now", () => wall);
  t.mock.method(process.hrtime, "bigint", () => elapsed);
  return (wallMs, monotonic) => {
    [wall, elapsed] = [wallMs, monotonic];
  };
}

test("within one millisecond of the wall, now() counts on with the monotonic clock", (t) => {
  const set = mockTimes(t);
  const clock = new SystemClock();
  set(1_000, 50n);
  assert.equal(clock.now(), 1_000n * MILLI);
  set(1_000, 60n);
  assert.equal(clock.now(), 1_000n * MILLI + 10n);
  set(1_001, 50n + MILLI);
  assert.equal(clock.now(), 1_001n * MILLI);
});

test("now() follows a jump of the wall clock at once, in both directions", (t) => {
  const set = mockTimes(t);
  const clock = new SystemClock();
  set(1_000, 50n);
  clock.now();
  set(3_600_000, 60n);
  assert.equal(clock.now(), 3_600_000n * MILLI);
  set(500, 70n);
  assert.equal(clock.now(), 500n * MILLI);
  set(500, 75n);
  assert.equal(clock.now(), 500n * MILLI + 5n);
});
