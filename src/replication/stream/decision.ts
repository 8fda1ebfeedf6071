// How a secondary goes on, from what it says of its log and what the log here is. Pure but for looks at the log.
// Chains decide, never indexes alone: two logs may have the same length and nothing else in common.

import { equalBytes } from "@holdfast/shared/bytes";
import { uuidText } from "@holdfast/shared/text/uuid";
import type { Hello, SentDecision } from "../../cluster/hello.ts";
import { plainText } from "@holdfast/shared/grpc/status";
import {
  decodeHead,
  decodeTimeline,
  type Head,
  type Tail,
  type Timeline,
} from "../../storage/rows/head.ts";
import { decodeEntryHeader } from "../../storage/rows/log-entry.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import type { Store } from "../../storage/store.ts";

/** Which form stored rows and entries have; whoever is sent them must know it. */
export const STORAGE_FORMAT = 1;
/** What one transaction of a secondary must be able to hold. */
const MIN_TRANSACTION = 1024n * 1024n;

/** What a primary keeps to; null where that is not said. One that takes less than is needed is refused, and counts for nothing. */
export function transactionBytesOf(limits: Hello["limits"]): number | null {
  return limits === null || limits.bytes < MIN_TRANSACTION ? null : Number(limits.bytes);
}

export type Decision =
  | { readonly kind: "resume" | "diff" | "copy" }
  | { readonly kind: "rewind"; readonly fork: bigint; readonly chain: Uint8Array }
  | { readonly kind: "refuse"; readonly reason: string };

/** The log of whoever decides. */
export interface LogFacts {
  readonly head: Head;
  readonly tail: Tail;
  readonly timeline: Timeline;
  /** The chain up to an index; null where that is not kept. */
  chainAt(index: bigint): Uint8Array | null;
}

export function factsOf(store: Store): LogFacts {
  const { head, tail, timeline } = store;
  return {
    head: head!,
    tail: tail!,
    timeline: timeline!,
    chainAt: (index) => chainAt(store, index),
  };
}

/** The chain of a log up to an index; null where it is not kept, or not there yet. */
export function chainAt(store: Store, index: bigint): Uint8Array | null {
  const { head, tail } = store;
  if (head === null || tail === null) return null;
  if (index === head.index) return head.chain;
  if (index === tail.first - 1n) return tail.chainBefore;
  if (index < tail.first || index > head.index) return null;
  const [row] = store.logs(index, 1);
  return row?.index === index ? decodeEntryHeader(row.entry).chain : null;
}

type MemberLog = Pick<
  Hello,
  "cursor" | "timeline" | "storageFormat" | "limits" | "half" | "isEmpty"
>;

export function decide(theirs: MemberLog, own: LogFacts): Decision {
  const reason = notTaken(theirs);
  if (reason !== null) return refuse(reason);
  const cursor = theirs.cursor!;
  if (theirs.half !== null) {
    const goesOn = theirs.half.isCopy && isOurs(theirs.half.head, own);
    return { kind: goesOn ? "copy" : "diff" };
  }
  const rows = { kind: theirs.isEmpty ? "copy" : "diff" } as const;
  if (!equalBytes(cursor.lineage, own.head.lineage)) return rows;
  const timeline = timelineIn(theirs.timeline, cursor.lineage);
  if (timeline === null) return refuse("its timeline is not that of its log");
  const fork = forkOf({ timeline, index: cursor.index }, { ...own, index: own.head.index });
  if (fork === null) return refuse(UNRELATED);
  const chain = own.chainAt(cursor.index <= fork ? cursor.index : fork);
  if (chain === null) return rows;
  if (cursor.index > fork) return { kind: "rewind", fork, chain };
  if (!equalBytes(chain, cursor.chain)) return refuse(UNRELATED);
  return { kind: "resume" };
}

/** The same for one that has rows of this log beside a log of its own: its cursor is the place up to which it has applied this one, or
 *  that which it takes over rows from. It has nothing that could be gone back to, so whatever does not go on is compared. */
export function decideShared(theirs: MemberLog, own: LogFacts): Decision {
  const reason = notTaken(theirs);
  if (reason !== null) return refuse(reason);
  const { lineage, index, chain } = theirs.cursor!;
  const here = equalBytes(lineage, own.head.lineage) ? own.chainAt(index) : null;
  const goesOn = here !== null && equalBytes(here, chain);
  if (theirs.half !== null) return { kind: goesOn && theirs.half.isCopy ? "copy" : "diff" };
  if (goesOn) return { kind: "resume" };
  return { kind: theirs.isEmpty ? "copy" : "diff" };
}

function notTaken({ cursor, limits, storageFormat }: MemberLog): string | null {
  if (cursor === null || limits === null) return "it does not say where its log is";
  if (storageFormat < STORAGE_FORMAT) return "the primary is newer than this secondary";
  if (limits.bytes >= MIN_TRANSACTION) return null;
  return `its storage takes ${limits.bytes} bytes at once, and a megabyte is needed`;
}

const UNRELATED = "the two logs have nothing in common; enable it anew";

function refuse(reason: string): Decision {
  return { kind: "refuse", reason };
}

/** Whether the log goes on from a head that a copy began with. */
function isOurs(bytes: Uint8Array, own: LogFacts): boolean {
  try {
    const { lineage, index, chain } = decodeHead(bytes);
    const here = own.chainAt(index);
    return equalBytes(lineage, own.head.lineage) && here !== null && equalBytes(here, chain);
  } catch (error) {
    if (error instanceof MalformedBytes) return false;
    throw error;
  }
}

function timelineIn(bytes: Uint8Array, lineage: Uint8Array): Timeline | null {
  try {
    const timeline = decodeTimeline(bytes);
    return lineage.length === 16 && timeline.lineage === uuidText(lineage) ? timeline : null;
  } catch (error) {
    if (error instanceof MalformedBytes) return null;
    throw error;
  }
}

interface Extent {
  readonly timeline: Timeline;
  readonly index: bigint;
}

/** The last index that two logs of one lineage can have in common; null where they begin apart. */
export function forkOf(a: Extent, b: Extent): bigint | null {
  let same = 0;
  for (const [i, row] of a.timeline.epochs.entries()) {
    const other = b.timeline.epochs[i];
    if (other === undefined || JSON.stringify(rowOf(other)) !== JSON.stringify(rowOf(row))) break;
    same = i + 1;
  }
  if (same === 0) return null;
  const end = ({ timeline, index }: Extent) => {
    const next = timeline.epochs[same];
    return next === undefined ? index : BigInt(next.first) - 1n;
  };
  const ends = [end(a), end(b), a.index, b.index];
  return ends.reduce((least, one) => (one < least ? one : least));
}

function rowOf({ epoch, first, chain, cluster }: Timeline["epochs"][number]) {
  return [epoch, first, chain, cluster];
}

export function sentDecision(decision: Decision): SentDecision {
  return {
    kind: decision.kind,
    fork: decision.kind === "rewind" ? decision.fork : 0n,
    chain: decision.kind === "rewind" ? decision.chain : new Uint8Array(0),
    reason: decision.kind === "refuse" ? decision.reason : "",
  };
}

/** Null where it is none that we know. */
export function readDecision(sent: SentDecision | null): Decision | null {
  if (sent === null) return null;
  switch (sent.kind) {
    case "resume":
    case "diff":
    case "copy":
      return { kind: sent.kind };
    case "rewind":
      return { kind: "rewind", fork: sent.fork, chain: sent.chain };
    case "refuse":
      return { kind: "refuse", reason: plainText(sent.reason.slice(0, 256)) };
    default:
      return null;
  }
}
