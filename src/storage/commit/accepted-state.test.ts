import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { bytes, madeStore } from "../../../tests/support/made/made-store.ts";
import type { WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { Failure } from "@holdfast/shared/failure";
import type { Batch } from "../engines/engine.ts";
import { HEAD_ROW } from "../rows/head.ts";
import { slotOf } from "../rows/merkle.ts";

const KEY = "shared/a";
const SLOT = slotOf("shared", KEY)!;

/** Takes a record away below the store: its row and its leaf, but not their trace in the sums. */
function takeAway(engine: WatchedEngine, meta: Batch["meta"] = []): Promise<void> {
  return engine.inner.commit({
    expect: { name: HEAD_ROW, value: engine.inner.meta(HEAD_ROW) },
    data: [{ key: KEY, value: null }],
    leaves: [{ slot: SLOT, key: KEY, leaf: null }],
    sums: [],
    log: [],
    cutLogAbove: null,
    trimLogBelow: null,
    meta,
  });
}

function damaged(error: unknown): boolean {
  return error instanceof Failure && error.code === "storage-entry-missing";
}

test("a key whose row and leaf have both vanished is damage: the tree in memory still counts it", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => tx.put(KEY, bytes("1")));
  assert.equal(store.get("shared/never"), null);
  await takeAway(engine);
  assert.throws(() => store.get(KEY), damaged);
  await assert.rejects(
    store.write((tx) => tx.get(KEY)),
    damaged,
  );
  assert.equal(store.get("shared/never"), null, "other subpages are whole");
  assert.equal(store.damageFound, 2);
});

test("it is found while other commits are on their way, too", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => tx.put(KEY, bytes("1")));
  await takeAway(engine);
  const release = engine.hold();
  const writing = store.write((tx) => tx.put("shared/b", bytes("2")));
  await nextTurn();
  assert.throws(() => store.get(KEY), damaged);
  release();
  await writing;
});

test("where the engine is ahead of the tree a miss is a miss", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => tx.put(KEY, bytes("1")));
  await takeAway(engine, [{ name: HEAD_ROW, value: bytes("a head not announced yet") }]);
  assert.equal(store.get(KEY), null);
});
