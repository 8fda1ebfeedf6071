// Reindex makes leaves and sums follow the data again, while writes go on.

import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld, FakeTimers, FakeClock, nextTurn } from "../../../tests/support/fake-world.ts";
import { bytes, madeStore, openedStore, TREE_KEY } from "../../../tests/support/made/made-store.ts";
import {
  filledStore,
  leafOf,
  tamperings,
  VICTIM,
} from "../../../tests/support/stores/tampering.ts";
import { tamper, WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { hex, text } from "@holdfast/shared/bytes";
import type { Clock } from "@holdfast/shared/world";
import { HEAD_ROW } from "../rows/head.ts";
import { CORE_SCOPE, LOST_SCOPE } from "../rows/log-entry.ts";
import { slotOf } from "../rows/merkle.ts";
import { reindexStore } from "./reindex.ts";

const NOTHING = { mended: { count: 0, keys: [] }, removed: { count: 0, keys: [] }, sums: 0 };

/** Every look at it uses up a slice. */
function hurrying(): { clock: Clock; timers: FakeTimers } {
  let elapsed = 0n;
  const clock = { now: () => 0n, elapsed: () => (elapsed += 6_000_000n) };
  return { clock, timers: new FakeTimers(new FakeClock()) };
}

test("nothing to mend: nothing is written", async () => {
  const { store, engine, world } = await filledStore();
  engine.batches.length = 0;
  assert.deepEqual(await reindexStore(store, world), NOTHING);
  assert.equal(engine.batches.length, 0);
});

for (const { name, act, mended } of tamperings) {
  if (mended === null) continue;
  test(`reindex mends ${name}, names it, and has nothing to do afterwards`, async () => {
    const { store, engine, world, old } = await filledStore();
    await act(engine.inner, old);
    const report = await reindexStore(store, world);
    assert.deepEqual(report.mended, {
      count: mended.mended?.length ?? 0,
      keys: mended.mended ?? [],
    });
    assert.deepEqual(report.removed, {
      count: mended.removed?.length ?? 0,
      keys: mended.removed ?? [],
    });
    assert.ok((await store.check()).ok);
    assert.deepEqual(await reindexStore(store, world), NOTHING);
    // What is written later, and a store that is opened anew, build on it.
    await store.write((tx) => tx.put(VICTIM, bytes("after")));
    assert.ok((await store.check()).ok);
    const again = openedStore(new WatchedEngine(engine.inner));
    again.store.unlock(TREE_KEY);
    assert.equal(again.engine.batches.length, 0);
  });
}

test("no index is taken: a repair is not a change", async () => {
  const { store, engine, world } = await filledStore();
  await tamper(engine.inner, { data: [{ key: VICTIM, value: bytes("forged") }] });
  const head = engine.meta(HEAD_ROW)!;
  await reindexStore(store, world);
  assert.equal(store.index, 10n);
  assert.equal(engine.lastLog(), 10n);
  assert.notEqual(hex(engine.meta(HEAD_ROW)!), hex(head), "but the totals under the MAC moved");
});

test("a scope that no leaf vouches for is lost: the record is withheld from all who are sent a part", async () => {
  const { store, engine, world } = await madeStore();
  const scope = Buffer.alloc(16, 9);
  await store.write((tx) => {
    tx.put("shared/a", bytes("1"), scope);
    tx.put("shared/b", bytes("1"), scope);
    tx.put("shared/c", bytes("1"), scope);
    tx.put("shared/d", bytes("1"), scope);
  });
  const slot = (key: string) => slotOf("shared", key)!;
  const { hash } = engine.leaf(slot("shared/c"), "shared/c")!;
  await tamper(engine.inner, {
    data: [{ key: "shared/a", value: bytes("2") }],
    leaves: [
      { slot: slot("shared/b"), key: "shared/b", leaf: null },
      { slot: slot("shared/c"), key: "shared/c", leaf: { hash, scope: CORE_SCOPE } },
    ],
  });
  assert.deepEqual((await store.check()).different.toSorted(), ["shared/a", "shared/c"]);
  await reindexStore(store, world);
  const scopeOf = (key: string) => hex(engine.leaf(slot(key), key)!.scope);
  for (const key of ["shared/a", "shared/b", "shared/c"])
    assert.equal(scopeOf(key), hex(LOST_SCOPE));
  assert.equal(scopeOf("shared/d"), hex(scope));
  assert.ok((await store.check()).ok);
});

test("all of it at once: every leaf and sum lost, thousands of keys", async () => {
  const { store, engine, world } = await madeStore();
  const keys = Array.from({ length: 3000 }, (_, i) => `${i % 2 ? "shared" : "local"}/k/${i}`);
  for (let at = 0; at < keys.length; at += 1000) {
    await store.write((tx) => {
      for (const key of keys.slice(at, at + 1000)) tx.put(key, bytes(key));
    });
  }
  const leaves = engine.leaves(null, 10_000).map(({ slot, key }) => ({ slot, key, leaf: null }));
  assert.equal(leaves.length, 3000);
  const sums = engine.sums().map(({ slot }) => ({ slot, sum: new Uint8Array(32), count: 0 }));
  await tamper(engine.inner, { leaves, sums });
  const report = await reindexStore(store, world);
  assert.equal(report.mended.count, 3000);
  assert.equal(report.mended.keys.length, 1000);
  assert.ok((await store.check()).ok);
});

test("a slot with more leaves than one read gives is walked whole", async () => {
  const { store, engine, world } = await madeStore();
  // Keys of one slot are hard to find by hashing; leaves in a foreign place are as good.
  const leaf = leafOf("shared/x", bytes("x"));
  const strays = Array.from({ length: 700 }, (_, i) => ({ slot: 5, key: `shared/${i}`, leaf }));
  await tamper(engine.inner, { leaves: strays });
  const report = await reindexStore(store, world);
  assert.equal(report.removed.count, 700);
  assert.equal(engine.leaves(null, 10).length, 0);
  assert.ok((await store.check()).ok);
});

test("writes that go on meanwhile are not lost, whichever side of the walk they are on", async () => {
  const { store, engine } = await filledStore();
  await tamper(engine.inner, {
    data: [
      { key: VICTIM, value: bytes("forged") },
      { key: "shared/kv/3", value: null },
      { key: "local/kv/9", value: bytes("forged") },
    ],
    leaves: [
      { slot: slotOf("local", "local/kv/4")!, key: "local/kv/4", leaf: null },
      // In a foreign place: what becomes of it says nothing about its key.
      { slot: 3, key: "shared/kv/5", leaf: leafOf("shared/kv/5", bytes("x")) },
    ],
  });
  engine.turns = 2;
  const world = hurrying();
  const state = { done: false };
  const reindexing = reindexStore(store, world).finally(() => void (state.done = true));
  const model = new Map<string, string | null>();
  const waiting: Promise<unknown>[] = [];
  let round = 0;
  while (!state.done) {
    const often = [VICTIM, "shared/kv/3", "local/kv/4", "shared/kv/5", "local/new"];
    for (const key of [...often, `shared/kv/${round % 30}`]) {
      const value = (round + key.length) % 4 === 0 ? null : `round ${round}`;
      waiting.push(
        store.write((tx) => (value === null ? tx.delete(key) : tx.put(key, bytes(value)))),
      );
      model.set(key, value);
    }
    round++;
    await nextTurn();
  }
  await reindexing;
  await Promise.all(waiting);
  assert.ok(round > 20, `${round} rounds of writes`);
  for (const [key, value] of model) {
    const stored = store.get(key);
    assert.equal(stored === null ? null : text(stored), value, key);
  }
  assert.ok((await store.check()).ok);
  assert.deepEqual(await reindexStore(store, fakeWorld()), NOTHING);
});

const STRAY = { slot: 131_071, key: VICTIM, leaf: leafOf(VICTIM, bytes("x")) };
for (const [what, batch] of [
  ["its mended leaf", { data: [{ key: VICTIM, value: bytes("forged") }] }],
  ["the removal of its stray leaf", { leaves: [STRAY] }],
] as const) {
  for (const value of ["written", null]) {
    test(`a key that is ${value ?? "deleted"} while ${what} is on its way adds up`, async () => {
      const { store, engine, world } = await filledStore();
      await tamper(engine.inner, batch);
      engine.batches.length = 0;
      const open = engine.hold();
      const reindexing = reindexStore(store, world);
      while (!engine.batches.some(({ leaves }) => leaves.some(({ key }) => key === VICTIM))) {
        await nextTurn();
      }
      const writes = [1, 2].map((i) =>
        store.write((tx) => (value === null ? tx.delete(VICTIM) : tx.put(VICTIM, bytes(`${i}`)))),
      );
      open();
      await Promise.all([reindexing, ...writes]);
      assert.ok((await store.check()).ok);
      assert.equal(store.get(VICTIM) === null, value === null);
    });
  }
}

test("a signal ends it between two steps, and what was done so far stands", async () => {
  const { store, engine } = await filledStore();
  await tamper(engine.inner, { data: [{ key: VICTIM, value: null }] });
  const stop = new AbortController();
  const world = hurrying();
  const reindexing = reindexStore(store, world, { signal: stop.signal });
  await nextTurn();
  stop.abort();
  await assert.rejects(reindexing, { name: "AbortError" });
  await reindexStore(store, fakeWorld());
  assert.ok((await store.check()).ok);
});

test("it needs the store unlocked", async () => {
  const { store, world } = await filledStore();
  await store.lock();
  await assert.rejects(reindexStore(store, world), { code: "store-locked" });
});

test("a storage failure in the middle stops the store and the reindex", async () => {
  const { store, engine, world } = await filledStore();
  await tamper(engine.inner, { data: [{ key: VICTIM, value: bytes("forged") }] });
  engine.failCommit = new Error("gone");
  await assert.rejects(reindexStore(store, world), { code: "storage-failed" });
});
