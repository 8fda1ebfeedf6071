// Whatever sequence of transactions is made, the rows of the engine are those of a naive model.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  assertSameRows,
  catchUp,
  followerOf,
  sent,
} from "../../tests/support/stores/followed-store.ts";
import {
  bytes,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../tests/support/made/made-store.ts";
import { type ModelChange, StoreModel } from "../../tests/support/stores/store-model.ts";
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { hex, text } from "@holdfast/shared/bytes";
import { HEAD_ROW } from "./rows/head.ts";
import type { StoreTx } from "./transaction.ts";

const key = fc.constantFrom(
  "shared/a",
  "shared/b",
  "shared/c/d",
  "local/a",
  "local/b/c",
  "core/a",
  "core/b",
);
const change: fc.Arbitrary<ModelChange> = fc.record({
  key,
  value: fc.option(fc.string({ maxLength: 3 }), { freq: 3 }),
  scope: fc.integer({ min: 0, max: 2 }),
});
const step = fc.record({
  changes: fc.array(change, { maxLength: 5 }),
  throws: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  /** Lets one commit land, so that the next ones share another group; or all of them. */
  land: fc.constantFrom("none" as const, "none" as const, "one" as const, "all" as const),
  reopen: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
});

function perform(tx: StoreTx, model: StoreModel, changes: readonly ModelChange[]): void {
  const there = new Set(model.rows.keys());
  for (const { key: each, value, scope } of changes) {
    if (value === null) {
      tx.delete(each);
      there.delete(each);
      continue;
    }
    // What was deleted a moment ago is not there either.
    if (there.has(each)) tx.put(each, bytes(value), Buffer.alloc(16, scope));
    else tx.add(each, bytes(value), Buffer.alloc(16, scope));
    there.add(each);
  }
  const after = new Map([...model.rows].map(([each, row]) => [each, row.value]));
  for (const { key: each, value } of changes) {
    if (value === null) after.delete(each);
    else after.set(each, value);
  }
  const rows = tx.rows("", { limit: 100 });
  assert.deepEqual(new Map(rows.map((row) => [row.key, text(row.value)])), after);
  const keys = rows.map((row) => row.key);
  assert.deepEqual(keys, keys.toSorted());
}

test("after any history the engine's data, leaves, sums, log and head are those of the model", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const model = new StoreModel();
      let { store, engine } = await madeStore();
      let open = engine.hold();
      let waiting: Promise<unknown>[] = [];
      for (const { changes, throws, land, reopen } of steps) {
        const write = store.write((tx) => {
          assert.equal(tx.index, model.index + 1n);
          perform(tx, model, changes);
          if (throws) throw new Error("own");
          model.apply(changes);
        });
        waiting.push(throws ? assert.rejects(write, /own/) : write);
        if (land === "one") {
          const next = open;
          open = engine.hold();
          next();
          await nextTurn();
        }
        if (land !== "all" && !reopen) continue;
        open();
        await Promise.all(waiting);
        waiting = [];
        model.compare(engine);
        if (reopen) {
          ({ store, engine } = openedStore(new WatchedEngine(engine.inner)));
          store.unlock(TREE_KEY);
        }
        open = engine.hold();
        await nextTurn();
      }
      open();
      await Promise.all(waiting);
      model.compare(engine);
      assert.equal(store.index, model.index);
      assert.equal(hex(store.trees.shared.total().sum), hex(store.head!.shared.sum));
      assert.ok((await store.check()).ok);
    }),
    { numRuns: 60 },
  );
});

const followed = fc.record({
  changes: fc.array(change, { maxLength: 5 }),
  /** How many entries are sent at most, with their leaves and head or without. */
  sends: fc.constantFrom(0, 0, 1, 2, 5, 100),
  proven: fc.boolean(),
  /** What becomes of the follower before that. */
  does: fc.constantFrom("nothing", "nothing", "own row", "lock", "unlock", "reopen", "replay"),
});

test("a store that follows any history, in any portions, holds what its leader held then", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(followed, { maxLength: 30 }), async (steps) => {
      const model = new StoreModel();
      const leader = await madeStore();
      let follower = await followerOf(leader.engine);
      for (const [i, { changes, sends, proven, does }] of steps.entries()) {
        await leader.store.write((tx) => {
          perform(tx, model, changes);
          model.apply(changes);
        });
        const { store } = follower;
        if (does === "own row") await store.write((tx) => tx.put("core/own", bytes(String(i))));
        if (does === "lock") await store.lock();
        if (does === "unlock" && store.locked) store.unlock(TREE_KEY);
        if (does === "reopen") {
          follower = openedStore(new WatchedEngine(follower.engine.inner));
          await follower.store.follow();
        }
        if (does === "replay" && store.index > 0n) {
          await assert.rejects(store.apply(sent(leader.engine, store.index, 1, TREE_KEY)));
        }
        await send(follower, leader, sends, proven);
        if (follower.store.index === leader.store.index) {
          assertSameRows(follower.engine, leader.engine);
        }
      }
      await catchUp(follower, leader.engine);
      model.compare(leader.engine);
      assertSameRows(follower.engine, leader.engine);
      if (follower.store.locked) follower.store.unlock(TREE_KEY);
      assert.ok((await follower.store.check()).ok);
    }),
    { numRuns: 60 },
  );
});

/** Some of what is missing; a locked store needs the head after it, which is stored for the last only. */
async function send(
  { store }: MadeStore,
  leader: MadeStore,
  max: number,
  proven: boolean,
): Promise<void> {
  const from = store.index + 1n;
  const left = Number(leader.store.index - store.index);
  const count = store.locked && max > 0 ? left : Math.min(max, left);
  if (count === 0) return;
  const key = proven || store.locked ? TREE_KEY : null;
  const head = key !== null && count === left ? leader.engine.meta(HEAD_ROW) : null;
  await store.apply(sent(leader.engine, from, count, key), head);
}
