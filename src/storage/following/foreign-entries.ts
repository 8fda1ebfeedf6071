// Log entries that somebody else has made: whether they continue the log here, byte for byte, and what
// they change. Pure but for looks at the log that is there. Nothing here needs a key: digests and chain
// show that an entry is whole and the next one; that its trees are right is seen in tip.ts.

import type { KeyObject } from "node:crypto";
import { concat, equalBytes } from "@holdfast/shared/bytes";
import { EngineError, type Reads } from "../engines/engine.ts";
import * as failures from "../failures.ts";
import { isLegalKey } from "../key.ts";
import { decodeHead, encodeHead, type Head, sameTotal, type Timeline } from "../rows/head.ts";
import { epochStep, withEpoch } from "../rows/epoch.ts";
import { decodeEntry, followsFrom, type LogEntry } from "../rows/log-entry.ts";
import { HASH_BYTES } from "../rows/merkle.ts";
import { MalformedBytes } from "../rows/row-bytes.ts";
import { ENTRY_BYTES, sizeOf, type StoredChange } from "../transaction.ts";

/** An entry of the log as whoever leads has stored it. */
export interface CommittedEntry {
  readonly entry: Uint8Array;
  /**
   * The leaf hashes of its puts, in order. A store that has the key of the trees makes them itself and
   * compares; one that is locked needs them.
   */
  readonly leaves?: readonly Uint8Array[] | undefined;
}

export interface ReadEntry {
  readonly entry: LogEntry;
  readonly bytes: Uint8Array;
  readonly leaves: readonly Uint8Array[] | null;
}

/** Reads a group that must continue the log after `head`; throws a Failure that says why it does not. */
export function readGroup(
  group: readonly CommittedEntry[],
  head: Head,
  log: Pick<Reads, "logs">,
): ReadEntry[] {
  const read: ReadEntry[] = [];
  let { chain, epoch, index } = head;
  for (const sent of group) {
    const next = index + 1n;
    const bytes = concat(sent.entry); // what was read points into it, until it is on the disk
    const entry = decoded(bytes, next);
    if (entry.index <= index) throw knownEntry(entry, bytes, next, log);
    if (entry.index > next) throw failures.entryGap(entry.index, next);
    if (epochStep(entry, epoch) === null || !followsFrom(entry, chain)) {
      throw failures.entryForked(next);
    }
    read.push({ entry, bytes, leaves: leavesOf(entry, sent) });
    ({ chain, epoch, index } = entry);
  }
  return read;
}

function decoded(bytes: Uint8Array, next: bigint): LogEntry {
  try {
    const entry = decodeEntry(bytes);
    if (entry.operations.every(({ key }) => isLegalKey(key))) return entry;
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error;
  }
  throw failures.entryMalformed(next);
}

/** One that is here already, or another one in its place. */
function knownEntry(
  { index }: LogEntry,
  bytes: Uint8Array,
  next: bigint,
  log: Pick<Reads, "logs">,
): Error {
  const [row] = log.logs(index, 1);
  const differs = row?.index === index && !equalBytes(row.entry, bytes);
  return differs ? failures.entryForked(index) : failures.entryReplayed(index, next);
}

function leavesOf({ index, operations }: LogEntry, sent: CommittedEntry): ReadEntry["leaves"] {
  if (sent.leaves === undefined) return null;
  const puts = operations.filter(({ value }) => value !== null).length;
  const fit =
    sent.leaves.length === puts && sent.leaves.every(({ length }) => length === HASH_BYTES);
  if (!fit) throw failures.entryMalformed(index);
  return sent.leaves.map((leaf) => concat(leaf));
}

/** What a group changes: of each key the last state, and what that costs. */
export function changesOf(entries: readonly ReadEntry[]): {
  readonly changes: Map<string, StoredChange>;
  readonly bytes: number;
} {
  const changes = new Map<string, StoredChange>();
  let bytes = 0;
  for (const { entry } of entries) {
    bytes += ENTRY_BYTES + (entry.control?.body.length ?? 0);
    for (const { key, value, scope } of entry.operations) {
      bytes += sizeOf(key, { value });
      changes.delete(key); // so that it moves to the end
      changes.set(key, { value, scope, plain: null, fresh: false });
    }
  }
  return { changes, bytes };
}

/** The timeline after a group that follows from the head: null where it stays as it is. */
export function timelineAfter(
  entries: readonly ReadEntry[],
  head: Head,
  timelineNow: () => Timeline,
): Timeline | null {
  let timeline: Timeline | null = null;
  let before: Pick<Head, "epoch" | "index" | "chain"> = head;
  for (const { entry } of entries) {
    if (entry.epoch !== before.epoch) {
      const { cluster } = epochStep(entry, before.epoch)!;
      timeline = withEpoch(timeline ?? timelineNow(), before, cluster!);
    }
    before = entry;
  }
  return timeline;
}

/**
 * The head that was made here against the one that was sent, in the bytes that are to be stored. Without
 * the key its MAC cannot be checked: that is done when the store is unlocked.
 */
export function agreedHead(
  made: Head,
  sent: Uint8Array | null,
  treeKey: KeyObject | null,
): Uint8Array | null {
  if (sent === null) {
    if (treeKey === null) throw failures.proofMissing(made.index);
    return null;
  }
  const same = treeKey === null ? isHead(sent, made) : equalBytes(sent, encodeHead(made, treeKey));
  if (!same) throw failures.treesDiffer(made.index);
  return concat(sent);
}

function isHead(bytes: Uint8Array, made: Head): boolean {
  try {
    const head = decodeHead(bytes);
    return (
      equalBytes(head.lineage, made.lineage) &&
      head.epoch === made.epoch &&
      head.index === made.index &&
      equalBytes(head.chain, made.chain) &&
      head.lastDr === made.lastDr &&
      head.lastPerf === made.lastPerf &&
      head.logBytes === made.logBytes &&
      sameTotal(head.shared, made.shared) &&
      sameTotal(head.local, made.local)
    );
  } catch (error) {
    if (error instanceof MalformedBytes) return false;
    throw error;
  }
}

/**
 * What another user of the same storage has appended between two heads. It is in the storage already:
 * where it does not continue what was here, the storage can no longer be trusted.
 */
export function* entriesBetween(engine: Reads, from: Head, to: Head): Generator<LogEntry> {
  if (!equalBytes(from.lineage, to.lineage) || to.index < from.index) {
    throw new EngineError(
      "another writer has put another log in place of the one that was followed",
    );
  }
  let { chain, epoch, index } = from;
  while (index < to.index) {
    const rows = engine.logs(index + 1n, 16); // few at a time: an entry may have many megabytes
    for (const { entry: bytes } of rows) {
      const entry = decodeEntry(bytes);
      const next = entry.index === index + 1n && epochStep(entry, epoch) !== null;
      if (!next || !followsFrom(entry, chain)) {
        throw new EngineError("the log that is followed does not continue where it was");
      }
      yield entry;
      ({ chain, epoch, index } = entry);
    }
    if (rows.length === 0) throw new EngineError("the log that is followed ends before its head");
  }
  if (!equalBytes(chain, to.chain) || epoch !== to.epoch)
    throw new EngineError("the followed log is not that of its head");
}
