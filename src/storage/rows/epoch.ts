// A new epoch of the log: another cluster writes it from here on. It begins with an entry of its own, which has
// nothing but the control record EpochStart, and in the same transaction the timeline gets its row. Byte layouts:
// docs/formats/log-entry.md, docs/formats/head.md.

import { concat, equalBytes, hex, utf8 } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { uuidText } from "@holdfast/shared/text/uuid";
import * as heads from "./head.ts";
import type { ControlRecord, LogEntry } from "./log-entry.ts";
import { ByteReader, MalformedBytes, u16, u8 } from "./row-bytes.ts";

export const EPOCH_START = 2;
const VERSION = 1;
const MAX_CLUSTER_BYTES = 256;
const MAX_EPOCH = 0xffff_ffff;

export function epochStart(cluster: string): ControlRecord {
  const name = utf8(cluster);
  const fits = name.length > 0 && name.length <= MAX_CLUSTER_BYTES && cluster.isWellFormed();
  invariant(fits, "the id of a cluster has 1 to 256 bytes");
  return { type: EPOCH_START, body: concat(u8(VERSION), u16(name.length), name) };
}

/** The id of the cluster in an EpochStart. Strict: throws MalformedBytes for anything else. */
export function decodeEpochStart(body: Uint8Array): string {
  const reader = new ByteReader(body);
  if (reader.u8() !== VERSION) throw new MalformedBytes("start of an epoch of an unknown version");
  const length = reader.u16();
  if (length === 0 || length > MAX_CLUSTER_BYTES) throw new MalformedBytes("no id of a cluster");
  const cluster = reader.text(length);
  reader.end();
  return cluster;
}

/**
 * Whether an entry may come after one of this epoch: it has the same one and starts none, or the next one and
 * starts it. Null when it may not; otherwise who writes from here on, if that changes.
 */
export function epochStep(
  { epoch, control, operations }: Pick<LogEntry, "epoch" | "control" | "operations">,
  before: number,
): { readonly cluster: string | null } | null {
  if (control?.type !== EPOCH_START) return epoch === before ? SAME : null;
  if (epoch !== before + 1 || operations.length > 0) return null;
  try {
    return { cluster: decodeEpochStart(control.body) };
  } catch (error) {
    if (error instanceof MalformedBytes) return null;
    throw error;
  }
}

const SAME = { cluster: null };

export function nextEpoch({ epoch }: heads.Head): number {
  invariant(epoch < MAX_EPOCH, "epochs are counted in four bytes");
  return epoch + 1;
}

/** The timeline with one epoch more, that begins after `before`. */
export function withEpoch(
  timeline: heads.Timeline,
  before: Pick<heads.Head, "epoch" | "index" | "chain">,
  cluster: string,
): heads.Timeline {
  const { index, chain } = before;
  const row = { epoch: before.epoch + 1, first: String(index + 1n), chain: hex(chain), cluster };
  return { ...timeline, epochs: [...timeline.epochs, row] };
}

/** The timeline of a log that is cut back to an index. */
export function timelineUpTo(timeline: heads.Timeline, index: bigint): heads.Timeline {
  const epochs = timeline.epochs.filter(({ first }, i) => i === 0 || BigInt(first) <= index);
  return { ...timeline, epochs };
}

/** The stored timeline, if it is one of the log that ends at the head; otherwise null. */
export function timelineOf(
  bytes: Uint8Array | null,
  head: Pick<heads.Head, "lineage" | "epoch" | "index">,
): heads.Timeline | null {
  if (bytes === null) return null;
  try {
    const timeline = heads.decodeTimeline(bytes);
    return endsAt(timeline, head) ? timeline : null;
  } catch (error) {
    if (error instanceof MalformedBytes) return null;
    throw error;
  }
}

function endsAt(
  { lineage, epochs }: heads.Timeline,
  head: Pick<heads.Head, "lineage" | "epoch" | "index">,
): boolean {
  if (lineage !== uuidText(head.lineage) || epochs.at(-1)?.epoch !== head.epoch) return false;
  const oldest = head.epoch - epochs.length + 1;
  let last = 0n;
  for (const [i, { epoch, first: text }] of epochs.entries()) {
    const first = BigInt(text);
    // The first one may have no entries yet; each later one begins with an entry.
    const end = i === 0 ? head.index + 1n : head.index;
    if (epoch !== oldest + i || first < last || first > end) return false;
    last = first;
  }
  return true;
}

/** Looks at the entries of a log in order: whether each is of the epoch that the timeline says. */
export class TimelineWalk {
  readonly #timeline: heads.Timeline;

  constructor(timeline: heads.Timeline) {
    this.#timeline = timeline;
  }

  /** `chain` is the chain before the entry. */
  fits(entry: LogEntry, chain: Uint8Array): boolean {
    const { epochs } = this.#timeline;
    const at = epochs.findLastIndex(({ first }) => BigInt(first) <= entry.index);
    const row = epochs[at];
    if (row?.epoch !== entry.epoch) return false;
    const begins = at > 0 && BigInt(row.first) === entry.index;
    if (!begins) return epochStep(entry, row.epoch)?.cluster === null;
    const known = equalBytes(Buffer.from(row.chain, "hex"), chain);
    return known && epochStep(entry, row.epoch - 1)?.cluster === row.cluster;
  }
}
