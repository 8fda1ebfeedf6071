// Checks and repairs by hand: what they find, what they refuse, and what they say of it.

import assert from "node:assert/strict";
import test from "node:test";
import { bytes, madeStore } from "../../tests/support/made/made-store.ts";
import { Failure } from "@holdfast/shared/failure";
import { EMPTY_BATCH } from "../storage/generations/gathered-leaves.ts";
import { slotOf } from "../storage/rows/merkle.ts";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { TreeWork } from "./tree-work.ts";

async function stage(hasReplicas = false) {
  const { store, engine, world } = await madeStore();
  await store.write((tx) => {
    for (let i = 0; i < 50; i++) tx.put(`shared/${i}`, bytes(`v${i}`));
  });
  const trees = new TreeWork({
    store,
    ...world,
    hasReplicas: () => hasReplicas,
    replicas: () => [],
    follows: () => false,
    refetch: () => false,
  });
  return { store, engine, trees };
}

const NO_ROWS = {
  ...EMPTY_BATCH,
  expect: { name: "nothing", value: null }, // somebody else has done it
};

test("a whole store is told to be whole, by tree", async () => {
  const { trees } = await stage();
  const { report } = await trees.check(true);
  assert.equal(report["corrupted_root"], false);
  assert.equal(report["corrupted_keys_count"], 0);
  const map = report["corrupted_tree_map"] as Record<string, Record<string, unknown>>;
  assert.deepEqual(
    ["1", "2"].map((number) => [
      map[number]?.["tree_type"],
      map[number]?.["corrupted_subtree_root"],
      map[number]?.["corrupted_index_tuples_map"],
    ]),
    [
      ["replicated", false, null],
      ["local", false, null],
    ],
  );
  assert.notEqual(trees.checkedAt, null);
  assert.equal(trees.corrupted, false);
});

test("a wrong sum is named by page and subpage, and mended by a reindex", async () => {
  const { trees, engine, store } = await stage();
  const slot = slotOf("shared", "shared/7")!;
  const [row] = engine.sums().filter((sum) => sum.slot === slot);
  const wrong = { ...row!, sum: Buffer.alloc(32, 1) };
  await engine.commit({ ...NO_ROWS, sums: [wrong] });
  const { report } = await trees.check(false);
  assert.equal(report["corrupted_root"], true);
  const map = report["corrupted_tree_map"] as Record<string, Record<string, unknown>>;
  const page = String((slot >> 8) & 255);
  assert.deepEqual(map["1"]?.["corrupted_index_tuples_map"], {
    [page]: { corrupted: false, subpages: [slot & 255] },
  });
  assert.equal(trees.corrupted, true);
  await trees.reindex({ force: false, diff: false });
  await assert.rejects(trees.reindex({ force: false, diff: false }), /already/);
  await trees.close();
  assert.equal(trees.corrupted, false);
  assert.notEqual(trees.reindexedAt, null);
  assert.equal((await store.check()).ok, true);
});

test("keys that have vanished are not dropped while another cluster may have them, unless somebody insists", async () => {
  for (const hasReplicas of [true, false]) {
    const { trees, engine, store } = await stage(hasReplicas);
    await engine.commit({ ...NO_ROWS, data: [{ key: "shared/7", value: null }] });
    const reindexed = trees.reindex({ force: false, diff: true });
    if (hasReplicas) {
      await assert.rejects(reindexed, (error) => {
        assert.ok(error instanceof Failure);
        return error.code === "replication-reindex-drops" && error.kind === "conflict";
      });
      assert.equal((await store.check()).missing.length, 1);
      await trees.reindex({ force: true, diff: false });
    } else await reindexed;
    await trees.close();
    assert.equal((await store.check()).ok, true);
  }
});

test("none begins once the cluster is at rest, however long it was looked at before", async () => {
  const { trees } = await stage(true);
  const begun = trees.reindex({ force: false, diff: false });
  await trees.close();
  await assert.rejects(begun, (error) => error instanceof Failure && error.kind === "unavailable");
  assert.equal(trees.reindexing, null);
  await assert.rejects(trees.reindex({ force: true, diff: false }), /changes at this moment/);
  trees.open();
  await trees.reindex({ force: true, diff: false });
  await trees.close();
  assert.notEqual(trees.reindexedAt, null);
});

test("what was found outlives a start: when it was checked and made anew, and that something is damaged", async () => {
  const { barrier, store, engine, world } = await madeBarrier();
  await store.write((tx) => tx.put("shared/7", bytes("v")));
  const made = () => {
    const trees = new TreeWork({
      store,
      view: barrier.view("core/replication/dr/"),
      ...world,
      hasReplicas: () => false,
      replicas: () => [],
      follows: () => false,
      refetch: () => false,
    });
    trees.open();
    return trees;
  };
  const facts = ({ checkedAt, reindexedAt, corrupted }: TreeWork) => [
    checkedAt,
    reindexedAt,
    corrupted,
  ];
  assert.deepEqual(facts(made()), [null, null, false]);
  const [row] = engine.sums().filter(({ slot }) => slot === slotOf("shared", "shared/7"));
  await engine.commit({ ...NO_ROWS, sums: [{ ...row!, sum: Buffer.alloc(32, 1) }] });
  const first = made();
  await first.check(false);
  const checked = world.clock.now();
  assert.deepEqual(facts(first), [checked, null, true]);
  assert.deepEqual(facts(made()), [checked, null, true]);
  world.clock.pass(1_000_000_000n);
  await first.reindex({ force: false, diff: false });
  await first.close();
  assert.deepEqual(facts(made()), [checked, world.clock.now(), false]);
});
