// Entries that are given up: kept whole, and nothing of them after that time.

import assert from "node:assert/strict";
import test from "node:test";
import { DAY } from "@holdfast/shared/text/duration";
import { bytesCodec } from "@holdfast/shared/codec";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import type { Store, Surplus } from "../../storage/store.ts";
import { Divergent } from "./divergent.ts";

async function stage(count = 30) {
  const { barrier, store, world } = await madeBarrier();
  const { clock } = world;
  const data = barrier.view("shared/");
  const write = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await data.write((tx) => tx.put(`k${i}`, Buffer.from("v"), bytesCodec));
    }
  };
  await write(count + 10);
  const view = barrier.view("core/replication/dr/divergent/");
  const divergent = new Divergent(view, clock);
  const surplus = await store.surplus(store.index - BigInt(count));
  return { store, clock, view, divergent, surplus, write };
}

/** The log, which can be read a few times before the power fails. */
function failingAfter(reads: number, store: Store): Pick<Store, "logs"> {
  let left = reads;
  return {
    logs: (...at) => {
      if (left-- <= 0) throw new Error("no power");
      return store.logs(...at);
    },
  };
}

test("what a crash has left of a tail goes, and one that is whole stays its time", async () => {
  const { store, clock, view, divergent, surplus } = await stage(400);
  const half = { ...surplus, before: { ...surplus.before, epoch: 7 } };
  await divergent.keep(store, surplus);
  const whole = view.keys("", { limit: 2000 }).length;
  await assert.rejects(divergent.keep(failingAfter(20, store), half), /no power/);
  assert.ok(view.keys("", { limit: 2000 }).length > whole);
  await divergent.tidy();
  assert.equal(view.keys("", { limit: 2000 }).length, whole);
  assert.equal(divergent.count, 400);
  clock.pass(31n * DAY);
  await divergent.tidy();
  assert.deepEqual(view.keys("", { limit: 2000 }), []);
});

test("what is written after the tail was looked at is none of it", async () => {
  const { store, divergent, surplus, write } = await stage();
  await write(5);
  await divergent.keep(store, surplus);
  const [tail] = divergent.tails();
  const kept = [...divergent.entries(tail!.id, { after: 0n, max: 100 })];
  assert.deepEqual([kept.length, divergent.count, kept.at(-1)!.index], [30, 30, tail!.head]);
  assert.ok(store.index > tail!.head);
});

test("many entries lie down together, and a large one in parts: one commit for each would take minutes", async () => {
  const { barrier, store, world } = await madeBarrier();
  const data = barrier.view("shared/");
  const put = (key: string, length: number) =>
    data.write((tx) => tx.put(key, Buffer.alloc(length, 7), bytesCodec));
  const fork = store.index;
  for (let i = 0; i < 600; i++) await put(`k${i}`, 10);
  await put("large", 1_000_000);
  await put("last", 10);
  const divergent = new Divergent(barrier.view("core/replication/dr/divergent/"), world.clock);
  const surplus = await store.surplus(fork);
  let commits = 0;
  const unwatch = store.onCommit(() => commits++);
  await divergent.keep(store, surplus);
  unwatch();
  assert.ok(commits <= 8, `${commits} commits`);
  const [tail] = divergent.tails();
  const kept = [...divergent.entries(tail!.id, { after: 0n, max: 1000 })];
  assert.equal(kept.length, 602);
  assert.deepEqual(
    kept.map(({ index }) => index),
    store.logs(fork + 1n, 602).map(({ index }) => index),
  );
});

test("nothing is removed of one that is being kept", async () => {
  const { store, view, divergent, surplus } = await stage();
  const tidied: Promise<void>[] = [];
  const watched: Pick<Store, "logs"> = {
    logs: (...at) => {
      tidied.push(divergent.tidy());
      return store.logs(...at);
    },
  };
  await divergent.keep(watched, surplus);
  await Promise.all(tidied);
  const [tail] = divergent.tails();
  assert.equal([...divergent.entries(tail!.id, { after: 0n, max: 100 })].length, 30);
  assert.ok(view.keys("", { limit: 2000 }).length > 30);
});

test("how many entries were given up is counted when that changes, and not each time somebody looks", async (t) => {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/divergent/");
  const listing = t.mock.method(view, "list");
  let now = world.clock.now();
  const divergent = new Divergent(view, { now: () => now });
  assert.equal(divergent.count, 0);
  const tail = (fork: bigint, index: bigint) => ({ fork, before: { index, epoch: 1 } }) as Surplus;
  const nothing = { logs: () => [] };
  await divergent.keep(nothing, tail(7n, 10n));
  now += 20n * DAY;
  await divergent.keep(nothing, tail(10n, 15n));
  assert.equal(divergent.count, 8);
  const listings = listing.mock.callCount();
  for (let i = 0; i < 100; i++) assert.equal(divergent.count, 8);
  assert.equal(listing.mock.callCount(), listings);
  now += 11n * DAY;
  await divergent.tidy();
  assert.equal(divergent.count, 5);
});
