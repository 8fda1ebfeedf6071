// Where two logs part, as their epochs tell; and how one goes on that has rows of a log beside one of its own.

import assert from "node:assert/strict";
import test from "node:test";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import type { Timeline } from "../../storage/rows/head.ts";
import { trimLog } from "../../storage/trimming.ts";
import { chainAt, decideShared, factsOf, forkOf, STORAGE_FORMAT } from "./decision.ts";

type Begun = Timeline["epochs"][number];

const FIRST: Begun = { epoch: 1, first: "1", chain: "00", cluster: "a" };
const SECOND: Begun = { epoch: 2, first: "10", chain: "4a", cluster: "b" };
const LINEAGE = "5f3d2c10-0000-4000-8000-0000000000aa";

const log = (index: bigint, ...epochs: Begun[]) => ({
  timeline: { lineage: LINEAGE, epochs },
  index,
});

test("two logs of the same epochs have in common what the shorter one has", () => {
  assert.equal(forkOf(log(30n, FIRST, SECOND), log(20n, FIRST, SECOND)), 20n);
  assert.equal(forkOf(log(5n, FIRST), log(20n, FIRST, SECOND)), 5n);
  assert.equal(
    forkOf(log(15n, FIRST), log(20n, FIRST, SECOND)),
    9n,
    "the other went on without it",
  );
});

test("an epoch is the same where all of it is: one that was begun twice, after another log, is two", () => {
  for (const other of [
    { ...SECOND, epoch: 3 },
    { ...SECOND, first: "12" },
    { ...SECOND, chain: "4b" },
    { ...SECOND, cluster: "c" },
  ]) {
    assert.equal(forkOf(log(30n, FIRST, SECOND), log(20n, FIRST, other)), 9n, other.chain);
    assert.equal(forkOf(log(20n, FIRST, other), log(30n, FIRST, SECOND)), 9n);
  }
  const foreign = { ...FIRST, chain: "01" };
  assert.equal(forkOf(log(30n, FIRST), log(20n, foreign)), null, "they begin apart");
});

test("one that applies a log goes on after its place where index and chain are of that log; whatever else is true, it compares", async () => {
  const { store, world } = await madeStore();
  for (let i = 0; i < 8; i++) await store.write((tx) => tx.put(`shared/${i}`, Buffer.from("1")));
  const { lineage } = store.head!;
  const place = (index: bigint) => ({ lineage, epoch: 1, index, chain: chainAt(store, index)! });
  const fifth = place(5n);
  const said = {
    cursor: fifth,
    timeline: new Uint8Array(0),
    storageFormat: STORAGE_FORMAT,
    limits: { operations: 100, bytes: 2n ** 26n },
    half: null,
    isEmpty: false,
  };
  const kind = (more: Partial<typeof said>, isCopy: boolean | null = null) => {
    const half = isCopy === null ? null : { isCopy, head: new Uint8Array(0) };
    return decideShared({ ...said, half, ...more }, factsOf(store)).kind;
  };
  const other = { ...fifth, lineage: Buffer.alloc(16, 9) };
  const forged = { ...fifth, chain: Buffer.alloc(32, 9) };
  assert.equal(kind({}), "resume");
  assert.equal(kind({ cursor: place(8n) }), "resume");
  assert.equal(kind({ cursor: other }), "diff");
  assert.equal(kind({ cursor: other, isEmpty: true }), "copy");
  assert.equal(kind({ cursor: forged }), "diff");
  assert.equal(kind({ cursor: { ...fifth, index: 6n } }), "diff", "the chain of another index");
  assert.equal(kind({ cursor: { ...fifth, index: 90n } }), "diff", "further than the log");
  assert.equal(kind({}, true), "copy", "a copy goes on");
  assert.equal(kind({}, false), "diff");
  assert.equal(kind({ cursor: other }, true), "diff", "a copy of another log");
  assert.equal(kind({ storageFormat: STORAGE_FORMAT - 1 }), "refuse");
  assert.equal(kind({ limits: { operations: 1, bytes: 1n } }), "refuse");
  await trimLog(store, world, { minEntries: 0n });
  assert.equal(kind({}), "diff", "it is not kept any more");
  assert.equal(kind({}, true), "diff");
});
