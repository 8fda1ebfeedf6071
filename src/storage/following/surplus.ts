// The entries of a log above the last one that it has in common with another cluster's: which keys they have
// changed, and where the log stood before them. Nothing is changed here; see adopting.ts for the rewind.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Slices } from "../commit/slices.ts";
import type { Reads } from "../engines/engine.ts";
import { headDamaged, rewindRefused } from "../failures.ts";
import { compareKeys } from "../key.ts";
import { timelineOf, timelineUpTo } from "../rows/epoch.ts";
import * as heads from "../rows/head.ts";
import { decodeEntry, followsFrom, type LogEntry } from "../rows/log-entry.ts";
import { MalformedBytes } from "../rows/row-bytes.ts";

const PAGE = 16; // an entry may have many megabytes

export interface Surplus {
  /** The last index that stays. */
  readonly fork: bigint;
  /** The keys that the entries above it have changed, in order. The entries themselves are in the log. */
  readonly keys: readonly string[];
  /** The head of the log that they end. */
  readonly before: heads.Head;
  /** The head at the fork, but for the totals. */
  readonly position: heads.Head;
  readonly timeline: heads.Timeline;
}

/** Throws a Failure where the fork is not in the log, or nothing lies above it. */
export async function findSurplus(reads: Reads, fork: bigint, slices: Slices): Promise<Surplus> {
  const before = heads.decodeHead(reads.meta(heads.HEAD_ROW)!);
  const tail = heads.decodeTail(reads.meta(heads.TAIL_ROW)!);
  if (fork < tail.first - 1n || fork >= before.index) {
    const kept = `entries ${tail.first} to ${before.index}`;
    throw rewindRefused(`${fork} is not the one before any of ${kept}`);
  }
  const whole = timelineOf(reads.meta(heads.TIMELINE_ROW), before);
  if (whole === null) throw headDamaged("its timeline is not that of the log");
  const timeline = timelineUpTo(whole, fork);
  const chainAt = fork < tail.first ? tail.chainBefore : entryAt(reads, fork).chain;
  const keys = new Set<string>();
  let { logBytes } = before;
  let chain: Uint8Array = chainAt;
  for (let next = fork + 1n; next <= before.index;) {
    const rows = reads.logs(next, PAGE);
    if (rows.length === 0) throw headDamaged("its log is not whole");
    for (const row of rows) {
      const entry = decoded(row.entry, next);
      if (!followsFrom(entry, chain)) throw headDamaged("its log is not whole");
      for (const { key } of entry.operations) keys.add(key);
      logBytes -= BigInt(row.entry.length);
      chain = entry.chain;
      next++;
      await slices.pause();
    }
  }
  if (!equalBytes(chain, before.chain)) throw headDamaged("the last log entry is another one");
  const position = {
    ...before,
    epoch: timeline.epochs.at(-1)!.epoch,
    index: fork,
    chain: chainAt,
    lastDr: fork,
    lastPerf:
      before.lastPerf <= fork ? before.lastPerf : await lastShared(reads, tail, fork, slices),
    logBytes,
  };
  return { fork, keys: [...keys].toSorted(compareKeys), before, position, timeline };
}

/** The last index up to the fork with anything shared; where no entry says, that before the first one. */
async function lastShared(
  reads: Reads,
  tail: heads.Tail,
  fork: bigint,
  slices: Slices,
): Promise<bigint> {
  for (let index = fork; index >= tail.first; index--) {
    const { control, operations } = entryAt(reads, index);
    if (control !== null || operations.some((op) => op.class === "shared")) return index;
    await slices.pause();
  }
  return tail.first - 1n;
}

function entryAt(reads: Reads, index: bigint): LogEntry {
  const [row] = reads.logs(index, 1);
  if (row === undefined) throw headDamaged("its log is not whole");
  return decoded(row.entry, index);
}

function decoded(bytes: Uint8Array, index: bigint): LogEntry {
  try {
    const entry = decodeEntry(bytes);
    if (entry.index === index) return entry;
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error;
  }
  throw headDamaged("its log is not whole");
}
