// Whatever sequence of transactions is made, the rows of the engine are those of a naive model.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { bytes, madeStore, openedStore, TREE_KEY } from "../../tests/support/made-store.ts";
import { type ModelChange, StoreModel } from "../../tests/support/store-model.ts";
import { WatchedEngine } from "../../tests/support/watched-engine.ts";
import { hex, text } from "../base/bytes.ts";
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
