// Real timers on a given monotonic clock and Node's mocked timers; none of these tests waits.

import assert from "node:assert/strict";
import test from "node:test";
import type { TestContext } from "node:test";
import { SystemTimers } from "./timers.ts";

const MILLI = 1_000_000n;
const DAY_MS = 86_400_000;

/** Moves both the timers and the monotonic clock, in steps that no single timer exceeds. */
function mockTime(t: TestContext): (ms: number) => void {
  let elapsed = 5_000n;
  t.mock.method(process.hrtime, "bigint", () => elapsed);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return (ms) => {
    elapsed += BigInt(ms) * MILLI;
    t.mock.timers.tick(ms);
  };
}

function counter(): { readonly call: () => void; readonly calls: () => number } {
  let count = 0;
  return { call: () => count++, calls: () => count };
}

test("after() calls once, when the delay has passed and not before", (t) => {
  const pass = mockTime(t);
  const { call, calls } = counter();
  new SystemTimers().after(250n * MILLI, call);
  pass(249);
  assert.equal(calls(), 0);
  pass(1);
  assert.equal(calls(), 1);
  pass(10_000);
  assert.equal(calls(), 1);
});

test("after() rounds up: a part of a millisecond is waited for", (t) => {
  const pass = mockTime(t);
  const { call, calls } = counter();
  new SystemTimers().after(MILLI + 1n, call);
  pass(1);
  assert.equal(calls(), 0);
  pass(1);
  assert.equal(calls(), 1);
});

test("after() honours a delay beyond the 24.8 days of one JavaScript timer", (t) => {
  const pass = mockTime(t);
  const { call, calls } = counter();
  new SystemTimers().after(BigInt(60 * DAY_MS) * MILLI, call);
  pass(1);
  assert.equal(calls(), 0);
  for (let day = 0; day < 59; day++) pass(DAY_MS);
  assert.equal(calls(), 0);
  pass(DAY_MS);
  assert.equal(calls(), 1);
});

test("after() never asks for a timer that JavaScript would fire at once", (t) => {
  const mocked = t.mock.method(globalThis, "setTimeout", () => undefined);
  new SystemTimers().after(BigInt(60 * DAY_MS) * MILLI, () => {});
  new SystemTimers().after(2n ** 63n, () => {});
  assert.deepEqual(
    mocked.mock.calls.map(({ arguments: args }) => (args as unknown[])[1]),
    [2 ** 31 - 1, 2 ** 31 - 1],
  );
});

test("after() does not call inside itself, even when the delay is over already", (t) => {
  const pass = mockTime(t);
  const { call, calls } = counter();
  new SystemTimers().after(0n, call);
  new SystemTimers().after(-5n, call);
  assert.equal(calls(), 0);
  pass(1);
  assert.equal(calls(), 2);
});

test("cancel() keeps the call from happening, in the first stage and in a later one", (t) => {
  const pass = mockTime(t);
  const { call, calls } = counter();
  const timers = new SystemTimers();
  const soon = timers.after(100n * MILLI, call);
  const late = timers.after(BigInt(60 * DAY_MS) * MILLI, call);
  soon.cancel();
  for (let day = 0; day < 50; day++) pass(DAY_MS);
  late.cancel();
  for (let day = 0; day < 50; day++) pass(DAY_MS);
  assert.equal(calls(), 0);
  late.cancel(); // once more does no harm
});

test("turn() lets what is already due go first", async () => {
  const order: string[] = [];
  setImmediate(() => order.push("due"));
  const turned = new SystemTimers().turn().then(() => order.push("turn"));
  order.push("now");
  await turned;
  assert.deepEqual(order, ["now", "due", "turn"]);
});
