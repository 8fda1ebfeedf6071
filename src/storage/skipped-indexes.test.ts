// Indexes that are passed over, for what was counted by those of another cluster: the next entry comes behind them, and the log begins
// there.

import assert from "node:assert/strict";
import test from "node:test";
import { bytes, madeStore, openedStore, TREE_KEY } from "../../tests/support/made/made-store.ts";
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { MemoryDisk, MemoryEngine } from "./engines/memory.ts";
import { trimLog } from "./trimming.ts";

test("the next entry comes behind the index that is passed over to, and the log of before is given up", async () => {
  const disk = new MemoryDisk();
  const { store } = await madeStore(new MemoryEngine(disk));
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  const { chain, shared } = store.head!;
  await store.skipTo(100n);
  assert.equal(store.index, 100n);
  assert.deepEqual(store.logs(1n, 10), []);
  assert.equal(store.tail!.first, 101n);
  assert.deepEqual([store.tail!.chainBefore, store.head!.chain], [chain, chain]);
  assert.deepEqual(store.head!.shared, shared, "nothing that is stored has changed");
  const index = await store.write((tx) => {
    tx.put("shared/b", bytes("2"));
    return tx.index;
  });
  assert.equal(index, 101n);
  assert.deepEqual(
    store.logs(1n, 10).map((row) => row.index),
    [101n],
  );
  await store.close();
  const again = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  again.store.unlock(TREE_KEY);
  assert.equal(again.store.index, 101n);
  assert.equal(Buffer.from(again.store.get("shared/a")!).toString(), "1");
});

test("who trims, or scrubs, before that is durable takes nothing of it back", async () => {
  const { store, engine, world } = await madeStore();
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  const release = engine.hold();
  const skipped = store.skipTo(100n);
  const others = Promise.all([trimLog(store, world, { minEntries: 0n }), store.scrub()]);
  release();
  await Promise.all([skipped, others]);
  assert.equal(store.index, 100n);
  assert.equal(store.tail!.first, 101n);
  assert.ok((await store.check()).ok);
});

test("an index that is behind already changes nothing", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  engine.batches.length = 0;
  await store.skipTo(store.index);
  await store.skipTo(0n);
  assert.equal(engine.batches.length, 0);
  assert.equal(store.logs(1n, 10).length, 1);
});
