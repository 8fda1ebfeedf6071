// The root that the status tells is that of the rows, also where they change and the index does not.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { bytes, madeStore, TREE_KEY } from "../../../tests/support/made/made-store.ts";
import { rowsAt } from "../../../tests/support/stores/adopted-store.ts";
import { followerOf, sent } from "../../../tests/support/stores/followed-store.ts";
import { HEAD_ROW } from "../../storage/rows/head.ts";
import { Roots } from "./roots.ts";

test("after a tail was given up the root is that of the log that is followed, at the same index too", async () => {
  const old = await madeStore();
  const { store, world } = old;
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  const next = await followerOf(old.engine);
  next.store.unlock(TREE_KEY);
  await next.store.lead();
  const fork = store.index;
  await store.write((tx) => tx.put("shared/a", bytes("lost")));
  await next.store.write((tx) => tx.put("shared/a", bytes("kept")));
  const before = store.index;
  const roots = new Roots({ store, ...world });
  const lost = await roots.now();
  assert.deepEqual(lost, store.trees.compositeRoot());
  await store.follow();
  const surplus = await store.surplus(fork);
  await store.rewind(surplus, rowsAt(next.engine, surplus.keys));
  await store.apply(sent(next.engine, fork + 1n), next.engine.meta(HEAD_ROW));
  assert.equal(store.index, before);
  assert.deepEqual(await roots.now(), lost, "once in a second");
  await world.timers.advance(SECOND);
  const root = await roots.now();
  assert.notDeepEqual(root, lost);
  assert.deepEqual(root, next.store.trees.compositeRoot());
});

test("who hears that rows were taken over is told their root, and not that of a moment ago", async () => {
  const { store, world } = await madeStore();
  const roots = new Roots({ store, ...world });
  const before = await roots.now("merkle-sync");
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  assert.deepEqual(await roots.now("merkle-sync"), before);
  const both = await Promise.all([roots.now("stream-wals"), roots.now("stream-wals")]);
  for (const root of both) assert.deepEqual(root, store.trees.compositeRoot());
});
