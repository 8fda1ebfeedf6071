// A store whose leaves have the first form, which did not cover the scope, is brought into today's.

import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY, hex } from "@holdfast/shared/bytes";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import {
  bytes,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { tamper, WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import type { Batch, StorageEngine } from "../engines/engine.ts";
import { CORE_SCOPE } from "../rows/log-entry.ts";
import type { Store } from "../store.ts";
import { decodeHead, encodeHead, HEAD_ROW, LEAF_FORM_ROW } from "../rows/head.ts";
import { Forest, leafHash, sha256, slotOf } from "../rows/merkle.ts";
import { raiseLeaves } from "./raise.ts";

const SCOPE = Buffer.alloc(16, 9);
const { log, clock, timers } = fakeWorld();
const SAID = new Uint8Array(16).fill(5);

/** Of "shared/k/1" the key says something else than what was stored. */
const scopeOfKey = (key: string) => (key === "shared/k/1" ? SAID : CORE_SCOPE);
const raise = (store: Store) => raiseLeaves(store, { clock, timers, scopeOfKey }, log);

async function filled(): Promise<MadeStore> {
  const made = await madeStore();
  for (let at = 0; at < 1000; at += 250) {
    await made.store.write((tx) => {
      for (let i = at; i < at + 250; i++) {
        tx.put(`shared/k/${i}`, bytes(`s${i}`), i % 2 === 0 ? SCOPE : undefined);
        tx.put(`local/k/${i}`, bytes(`l${i}`));
      }
    });
  }
  return made;
}

/** Fails after so many commits. */
class CutOff extends WatchedEngine {
  readonly #commits: number;

  constructor(inner: StorageEngine, commits: number) {
    super(inner);
    this.#commits = commits;
  }

  override async commit(batch: Batch): Promise<void> {
    if (this.landed.size === this.#commits) this.failCommit = new Error("cut off");
    await super.commit(batch);
  }
}

/** As a server of that time would have left it. */
async function inFirstForm(engine: StorageEngine): Promise<void> {
  const forest = new Forest();
  const leaves = engine.leaves(null, 100_000).map(({ slot, key, scope }) => {
    const hash = leafHash(TREE_KEY, key, EMPTY, sha256(engine.get(key)!));
    forest.of(slot).replace(slot, null, hash);
    return { slot, key, leaf: { hash, scope } };
  });
  const slots = new Set(leaves.map(({ slot }) => slot));
  const sums = Array.from(slots, (slot) => forest.of(slot).row(slot));
  const totals = { shared: forest.shared.total(), local: forest.local.total() };
  const head = { ...decodeHead(engine.meta(HEAD_ROW)!), ...totals };
  const meta = [
    { name: HEAD_ROW, value: encodeHead(head, TREE_KEY) },
    { name: LEAF_FORM_ROW, value: null },
  ];
  await tamper(engine, { leaves, sums, meta });
}

test("leaves of the first form become those that a store of today has; then nothing is written", async () => {
  const { engine } = await filled();
  const right = engine.leaves(null, 100_000).map(({ key, hash }) => [key, hex(hash)]);
  await inFirstForm(engine.inner);
  const { store } = openedStore(new WatchedEngine(engine.inner));
  store.unlock(TREE_KEY);
  assert.equal(store.leafForm, 1);
  assert.equal((await store.check()).ok, false);
  await raise(store);
  assert.equal(store.leafForm, 2);
  const raised = engine.leaves(null, 100_000).map(({ key, hash }) => [key, hex(hash)]);
  const other = (pairs: string[][]) => pairs.filter(([key]) => key !== "shared/k/1");
  assert.deepEqual(other(raised), other(right));
  assert.deepEqual(engine.leaf(slotOf("shared", "shared/k/1")!, "shared/k/1")?.scope, SAID);
  assert.ok((await store.check()).ok);
  const again = openedStore(new WatchedEngine(engine.inner));
  again.store.unlock(TREE_KEY);
  await raise(again.store);
  assert.equal(again.engine.batches.length, 0);
});

test("cut off after any step it is gone on with, and writes in between stay right", async () => {
  for (const commits of [1, 3, 8]) {
    const { engine } = await filled();
    await inFirstForm(engine.inner);
    const first = openedStore(new CutOff(engine.inner, commits));
    first.store.unlock(TREE_KEY);
    await assert.rejects(raise(first.store));
    const second = openedStore(new WatchedEngine(engine.inner));
    second.store.unlock(TREE_KEY);
    assert.equal(second.store.leafForm, 1);
    await second.store.write((tx) => tx.put("shared/k/999", bytes("changed"), SCOPE));
    await raise(second.store);
    assert.equal(second.store.leafForm, 2);
    assert.ok((await second.store.check()).ok);
  }
});

test("a leaf that fits neither form is left for a check to find", async () => {
  const { engine } = await filled();
  await inFirstForm(engine.inner);
  await tamper(engine.inner, { data: [{ key: "shared/k/7", value: bytes("forged") }] });
  const { store } = openedStore(new WatchedEngine(engine.inner));
  store.unlock(TREE_KEY);
  await raise(store);
  const report = await store.check();
  assert.deepEqual(report.different, ["shared/k/7"]);
});
