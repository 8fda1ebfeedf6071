// Simulated time: it moves only from event to event, in an order that the seed alone decides.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Prng } from "./prng.ts";
import { Life, SECOND, SimClock, SimRandom, SimTimers, SimWorld } from "./world.ts";

async function orderOf(seed: number): Promise<string> {
  const world = new SimWorld(new Prng(seed));
  const order: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) world.after(5, null, () => order.push(name));
  world.after(1, null, () => order.push("first"));
  await world.run(() => false, Infinity);
  return order.join();
}

test("events of one instant come in an order drawn from the seed, those before it before", async () => {
  const orders = new Set<string>();
  for (let seed = 0; seed < 20; seed++) {
    const order = await orderOf(seed);
    assert.ok(order.startsWith("first,"));
    assert.equal(order, await orderOf(seed));
    orders.add(order);
  }
  assert.ok(orders.size > 10);
});

test("promise callbacks of one event all run before the next event, at its time", async () => {
  const world = new SimWorld(new Prng(1));
  const seen: string[] = [];
  world.after(10, null, () => {
    void Promise.resolve()
      .then(() => {})
      .then(() => {})
      .then(() => seen.push(`callback at ${world.now}`));
  });
  world.after(11, null, () => seen.push(`event at ${world.now}`));
  assert.equal(await world.run(() => false, Infinity), false);
  assert.deepEqual(seen, ["callback at 10", "event at 11"]);
});

test("a cancelled timer does not fire, nor one of an ended life; a paused one fires later", async () => {
  const world = new SimWorld(new Prng(1));
  const [dead, paused] = [new Life("dead"), new Life("paused")];
  const fired: string[] = [];
  new SimTimers(world, dead).after(5n, () => fired.push("dead"));
  const timers = new SimTimers(world, paused);
  timers.after(5n, () => fired.push("cancelled")).cancel();
  timers.after(5n, () => fired.push(`paused until ${world.now}`));
  void timers.turn().then(() => fired.push("turn"));
  paused.pause(100);
  dead.end();
  await world.run(() => false, Infinity);
  assert.deepEqual(fired.sort(), ["paused until 100", "turn"]);
});

test("the wall clock can be set; the elapsed time only grows", async () => {
  const world = new SimWorld(new Prng(1));
  const clock = new SimClock(world, new Prng(2));
  const [wall, elapsed] = [clock.now(), clock.elapsed()];
  world.after(SECOND, null, () => clock.jump(-BigInt(5 * SECOND)));
  await world.run(() => false, Infinity);
  assert.equal(clock.now() - wall, -4n * BigInt(SECOND));
  assert.ok(clock.elapsed() - elapsed >= BigInt(SECOND));
});

test("randomness is that of the seed and never repeats itself", () => {
  const [a, b] = [new SimRandom(new Prng(1)), new SimRandom(new Prng(1))];
  const first = a.bytes(12);
  assert.deepEqual(first, b.bytes(12));
  assert.notDeepEqual(first, a.bytes(12));
  assert.match(a.uuid(), /^[0-9a-f-]{36}$/);
});
