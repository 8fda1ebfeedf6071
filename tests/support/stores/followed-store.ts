// A store that follows another one, each on a storage of its own: how its storage begins, how the log of
// the other one is handed over, and whether both hold the same, byte for byte.

import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import type { StorageEngine, Reads, SumRow } from "../../../src/storage/engines/engine.ts";
import type { CommittedEntry } from "../../../src/storage/following/foreign-entries.ts";
import { decodeTail, HEAD_ROW, TAIL_ROW, TIMELINE_ROW } from "../../../src/storage/rows/head.ts";
import { decodeEntry } from "../../../src/storage/rows/log-entry.ts";
import { leafHash } from "../../../src/storage/rows/merkle.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { type MadeBarrier, sealedBarrier } from "../made/made-barrier.ts";
import { type MadeStore, openedStore, TREE_KEY } from "../made/made-store.ts";
import { tamper, WatchedEngine } from "./watched-engine.ts";

const ALL = { from: "", to: null, limit: Infinity };

/** Everything that lies in one storage, put into an empty one: how a follower begins. */
export function copyRows(from: Reads, to: StorageEngine): Promise<void> {
  return tamper(to, {
    data: from.rows(ALL),
    leaves: from.leaves(null, Infinity).map(({ slot, key, ...leaf }) => ({ slot, key, leaf })),
    sums: from.sums(),
    log: from.logs(0n, Infinity),
    meta: [HEAD_ROW, TAIL_ROW, TIMELINE_ROW].map((name) => ({ name, value: from.meta(name) })),
  });
}

/** A store that has begun to follow from where the other one is now; locked. */
export async function followerOf(leader: Reads, inner?: StorageEngine): Promise<MadeStore> {
  const engine = new WatchedEngine(inner);
  await copyRows(leader, engine.inner);
  const made = openedStore(engine);
  await made.store.follow();
  return made;
}

/** A copy of what a barrier has sealed, on a disk of its own, sealed and following. */
export async function followingBarrier(leader: MadeBarrier): Promise<MadeBarrier> {
  const disk = new MemoryDisk();
  const empty = sealedBarrier(disk);
  await copyRows(leader.engine, empty.engine.inner);
  const follower = sealedBarrier(disk);
  await follower.store.follow();
  return follower;
}

/** Entries as a sender hands them over; with the key of the trees, their leaves as well. */
export function sent(
  log: Reads,
  from: bigint,
  count = Infinity,
  treeKey: KeyObject | null = null,
): CommittedEntry[] {
  return log.logs(from, count).map(({ entry }) => {
    if (treeKey === null) return { entry };
    const puts = decodeEntry(entry).operations.filter(({ value }) => value !== null);
    return { entry, leaves: puts.map((op) => leafHash(treeKey, op.key, op.scope, op.valueDigest)) };
  });
}

/** Everything that the follower lacks, with all that a locked one needs. */
export async function catchUp(follower: MadeStore, leader: Reads): Promise<void> {
  const entries = sent(leader, follower.store.index + 1n, Infinity, TREE_KEY);
  await follower.store.apply(entries, leader.meta(HEAD_ROW));
}

/** A slot that is empty again has a row, one that was never used has none. */
function usedSums(reads: Reads): SumRow[] {
  return reads.sums().filter(({ sum, count }) => count > 0 || sum.some((byte) => byte > 0));
}

/** All rows but those that are each node's own: ignored ones, and where its log begins. */
export function assertSameRows(follower: Reads, leader: Reads): void {
  const shared = (reads: Reads) => reads.rows(ALL).filter(({ key }) => !key.startsWith("core/"));
  assert.deepEqual(shared(follower), shared(leader));
  assert.deepEqual(follower.leaves(null, Infinity), leader.leaves(null, Infinity));
  assert.deepEqual(usedSums(follower), usedSums(leader));
  const first = [follower, leader].map((reads) => decodeTail(reads.meta(TAIL_ROW)!).first);
  const from = first[0]! > first[1]! ? first[0]! : first[1]!;
  assert.deepEqual(follower.logs(from, Infinity), leader.logs(from, Infinity));
  assert.deepEqual(follower.meta(HEAD_ROW), leader.meta(HEAD_ROW));
  assert.deepEqual(follower.meta(TIMELINE_ROW), leader.meta(TIMELINE_ROW));
}
