// The head of the log (how far we are, and a MAC over everything), its tail (where it begins) and
// the timeline (which clusters wrote it). Byte layouts: docs/formats/head.md.

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { concat, equalBytes, text, utf8 } from "@holdfast/shared/bytes";
import { uuidText } from "@holdfast/shared/text/uuid";
import { ByteReader, MalformedBytes, u32, u64, u8 } from "./row-bytes.ts";

export const HEAD_ROW = "repl/head";
export const TAIL_ROW = "repl/tail";
export const TIMELINE_ROW = "repl/timeline";
/** Which form the leaves have: one byte. Stores that never had it have the first. */
export const LEAF_FORM_ROW = "repl/leaf-form";
/** The second covers the scope. */
export const LEAF_FORM = 2;

const VERSION = 1;
const MAC_BYTES = 32;
const TAG = utf8("holdfast head 1");

export interface TreeTotal {
  readonly sum: Uint8Array;
  readonly count: number;
}

export function sameTotal(a: TreeTotal, b: TreeTotal): boolean {
  return a.count === b.count && equalBytes(a.sum, b.sum);
}

export interface Head {
  readonly lineage: Uint8Array; // 16 bytes: the uuid of one continuous log
  readonly epoch: number;
  readonly index: bigint;
  readonly chain: Uint8Array;
  readonly lastDr: bigint; // last index with anything for a DR secondary
  readonly lastPerf: bigint; // last index with anything shared
  /** Bytes of all entries ever appended; with the tail's count, the size of what is retained. */
  readonly logBytes: bigint;
  readonly shared: TreeTotal;
  readonly local: TreeTotal;
}

export type HeadPart = "lineage" | "epoch" | "index" | "chain" | "shared" | "local";

/**
 * In what two stores of one log differ. What was last shared is left out: it says what was sent, not what is
 * there. Chains and totals are compared at the same index only.
 */
export function differingParts(a: Head, b: Head): HeadPart[] {
  const parts: HeadPart[] = [];
  if (!equalBytes(a.lineage, b.lineage)) parts.push("lineage");
  if (a.epoch !== b.epoch) parts.push("epoch");
  if (a.index !== b.index) return [...parts, "index"];
  if (!equalBytes(a.chain, b.chain)) parts.push("chain");
  for (const tree of ["shared", "local"] as const) {
    if (!sameTotal(a[tree], b[tree])) parts.push(tree);
  }
  return parts;
}

/**
 * The MAC under the tree's key covers log position and the totals of both trees. It is renewed in
 * every commit, so that a row that is dropped or put back from an older day no longer adds up.
 */
export function encodeHead(head: Head, treeKey: KeyObject): Buffer {
  const body = concat(
    u8(VERSION),
    head.lineage,
    u32(head.epoch),
    u64(head.index),
    head.chain,
    u64(head.lastDr),
    u64(head.lastPerf),
    u64(head.logBytes),
    head.shared.sum,
    u64(BigInt(head.shared.count)),
    head.local.sum,
    u64(BigInt(head.local.count)),
  );
  return concat(body, macOf(body, treeKey));
}

/** Reads without checking: for what may be told before the keys are there. */
export function decodeHead(bytes: Uint8Array): Head {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== VERSION) throw new MalformedBytes("head of an unknown version");
  const head = {
    lineage: reader.bytes(16),
    epoch: reader.u32(),
    index: reader.u64(),
    chain: reader.bytes(32),
    lastDr: reader.u64(),
    lastPerf: reader.u64(),
    logBytes: reader.u64(),
    shared: { sum: reader.bytes(32), count: Number(reader.u64()) },
    local: { sum: reader.bytes(32), count: Number(reader.u64()) },
  };
  reader.bytes(MAC_BYTES);
  reader.end();
  return head;
}

export function headIsAuthentic(bytes: Uint8Array, treeKey: KeyObject): boolean {
  if (bytes.length <= MAC_BYTES) return false;
  const split = bytes.length - MAC_BYTES;
  return timingSafeEqual(macOf(bytes.subarray(0, split), treeKey), bytes.subarray(split));
}

function macOf(body: Uint8Array, treeKey: KeyObject): Buffer {
  return createHmac("sha256", treeKey).update(TAG).update(body).digest();
}

export interface Tail {
  readonly first: bigint; // first retained index
  readonly chainBefore: Uint8Array;
  readonly logBytesBefore: bigint;
}

export function encodeTail(tail: Tail): Buffer {
  return concat(u8(VERSION), u64(tail.first), tail.chainBefore, u64(tail.logBytesBefore));
}

export function decodeTail(bytes: Uint8Array): Tail {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== VERSION) throw new MalformedBytes("tail of an unknown version");
  const tail = {
    first: reader.u64(),
    chainBefore: reader.bytes(32),
    logBytesBefore: reader.u64(),
  };
  reader.end();
  return tail;
}

/** Which physical clusters have written this lineage, oldest first. */
export interface Timeline {
  readonly lineage: string;
  readonly epochs: readonly {
    readonly epoch: number;
    readonly first: string; // decimal: an index may outgrow a JSON number
    readonly chain: string; // hex, before the first index
    readonly cluster: string;
  }[];
  /** Where its first rows come from, if it did not begin empty: a lineage that another one was filled from. */
  readonly origin?: Origin;
}

/** An archive that was restored, and the log that was here before: both end where this one begins. */
export interface Origin {
  readonly restored: LogPlace;
  readonly replaced: ReplacedLog | null;
}

/** A log that ended here, and who had written it: others go by that to find where theirs parted from it. */
export interface ReplacedLog extends LogPlace {
  /** Earlier versions did not keep them. */
  readonly epochs?: Timeline["epochs"];
}

export interface LogPlace {
  readonly lineage: string;
  readonly epoch: number;
  readonly index: string; // decimal
}

export function firstTimeline(
  head: Pick<Head, "lineage" | "epoch" | "index" | "chain">,
  cluster: string,
): Timeline {
  const chain = Buffer.from(head.chain).toString("hex");
  return {
    lineage: uuidText(head.lineage),
    epochs: [{ epoch: head.epoch, first: String(head.index + 1n), chain, cluster }],
  };
}

export function encodeTimeline(timeline: Timeline): Buffer {
  return utf8(JSON.stringify(timeline));
}

export function decodeTimeline(bytes: Uint8Array): Timeline {
  let value: Partial<Timeline> | null;
  try {
    value = JSON.parse(text(bytes)) as Partial<Timeline> | null;
  } catch {
    throw new MalformedBytes("timeline is not JSON"); // without the parser's words: they quote it
  }
  const { lineage, epochs } = value ?? {};
  if (typeof lineage !== "string" || !Array.isArray(epochs) || !epochs.every(isEpoch)) {
    throw new MalformedBytes("timeline of another form");
  }
  return value as Timeline;
}

/** The log that was replaced where this one begins, with its last index; null where there was none, or nobody kept who wrote it. It may
 *  come from another cluster. */
export function replacedLog({
  origin,
}: Timeline): { readonly timeline: Timeline; readonly index: bigint } | null {
  const { lineage, index, epochs } = (origin?.replaced ?? {}) as Partial<ReplacedLog>;
  const isWhole =
    typeof lineage === "string" &&
    typeof index === "string" &&
    /^[0-9]{1,20}$/.test(index) &&
    Array.isArray(epochs) &&
    epochs.every(isEpoch);
  return isWhole ? { timeline: { lineage, epochs }, index: BigInt(index) } : null;
}

function isEpoch(row: unknown): boolean {
  const { epoch, first, chain, cluster } = (row ?? {}) as Partial<Timeline["epochs"][number]>;
  return (
    Number.isSafeInteger(epoch) &&
    typeof first === "string" &&
    /^[0-9]{1,20}$/.test(first) &&
    typeof chain === "string" &&
    /^[0-9a-f]{64}$/.test(chain) &&
    typeof cluster === "string"
  );
}
