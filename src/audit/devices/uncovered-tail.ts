// The end of a file that no checkpoint covers yet, when a process goes on with it: after a crash up to ten minutes of
// records. They are followed with the key of the chain before anything is signed for them: they may have been
// edited while no server was there.
// What lies there in clear says nothing by itself: a checkpoint counts if its line follows in the own chain, or if a key
// of this store has signed it.

import { EMPTY, text } from "@holdfast/shared/bytes";
import type { AppendFile, Timers } from "@holdfast/shared/world";
import type { Hmac } from "../../crypto/hmac.ts";
import { parseLine, type SealedLine } from "../../signed/audit-line.ts";
import {
  type Checkpoint,
  CHECKPOINT_MARK,
  readCheckpointLine,
} from "../../signed/audit-checkpoint.ts";
import type { OpenEnvelope } from "../../signed/envelope.ts";
import { follows } from "../records/chain.ts";
import { CHANGED, ChainVerifier } from "../records/verify.ts";

const FIRST_LOOK = 256 * 1024;
export const LAST_LOOK = 64 * 1024 * 1024;
const LINES_AT_ONCE = 200;
const CHECKPOINTS_AT_ONCE = 16; // each may take a signature to check
const CHECKPOINT_LINE = 128 * 1024; // bytes: ten times what one has with the ends of all devices in it
const LINE_END = 128; // bytes: with number and MAC of a record
const NEWLINE = 0x0a;

export interface UncoveredTail {
  /** The last checkpoint in the file; null for none. */
  readonly checkpoint: Checkpoint | null;
  /** From the end of what that covers, from where the key of the chain begins, or from the beginning of the file, to the
   *  file's end. */
  readonly bytes: Uint8Array;
  /** Number of the first record in it; null where it holds none. */
  readonly first: number | null;
  /** What is wrong with the chain in it; null for nothing. */
  readonly problem: string | null;
}

export interface TailOptions {
  /** Under the key of the chain. */
  readonly hmac: Hmac;
  /** Whether a key of this store has signed it: also one from before its data was exchanged. */
  readonly hasSigned: (envelope: OpenEnvelope) => boolean;
  readonly timers: Timers;
  /** The chain is one that goes on; otherwise what is there may be of another device or another key, and nothing can be
   *  said of it. */
  readonly isKnown: boolean;
}

/** Null where so much is uncovered that it stays so: a file of an older version. */
export async function readUncovered(
  file: Pick<AppendFile, "size" | "read">,
  options: TailOptions,
): Promise<UncoveredTail | null> {
  for (let window = FIRST_LOOK; ; window *= 4) {
    const from = Math.max(0, file.size - window);
    const bytes = await file.read(from, file.size - from);
    const found = await lastCheckpoint(bytes, options);
    const covered = found === null ? null : coveredBy(bytes, found);
    if (found !== null && covered !== null) return behind(bytes, found, covered, options);
    if (from === 0) {
      const checkpoint = found?.checkpoint ?? null;
      return { checkpoint, ...(await followed(bytes, new ChainVerifier(options.hmac), options)) };
    }
    if (window >= LAST_LOOK) return null;
  }
}

const NOTHING = { bytes: EMPTY, first: null, problem: null };

async function behind(
  bytes: Buffer,
  { checkpoint, isOwn }: Found,
  { end, mac }: Covered,
  options: TailOptions,
): Promise<UncoveredTail> {
  const { hmac, isKnown } = options;
  const rest = bytes.subarray(end);
  const from = { number: checkpoint.last, mac };
  // Behind a checkpoint of another key there may be the beginning of this one, and nothing else of it.
  const verifier = new ChainVerifier(hmac, isOwn ? { from } : { foreign: 1 });
  const own = await followed(rest, verifier, options);
  if (isOwn || own.first !== null || !isKnown) return { checkpoint, ...own };
  return { checkpoint, ...(await followed(rest, new ChainVerifier(hmac, { from }), options)) };
}

// --- the last checkpoint ---

interface Found {
  readonly checkpoint: Checkpoint;
  /** Its line is of the own chain. */
  readonly isOwn: boolean;
}

/** Line by line from the end, however often one line has the mark in it. */
async function lastCheckpoint(bytes: Buffer, options: TailOptions): Promise<Found | null> {
  let looked = 0;
  for (let at = bytes.lastIndexOf(CHECKPOINT_MARK); at >= 0;) {
    const start = bytes.lastIndexOf(NEWLINE, at) + 1;
    const end = bytes.indexOf(NEWLINE, at);
    const found = end < 0 ? null : checkpointAt(bytes, start, end, options);
    if (found !== null) return found;
    at = start === 0 ? -1 : bytes.lastIndexOf(CHECKPOINT_MARK, start - 1);
    if (++looked % CHECKPOINTS_AT_ONCE === 0) await options.timers.turn();
  }
  return null;
}

/** Null for what nobody vouches for, whatever it calls itself. */
function checkpointAt(
  bytes: Buffer,
  start: number,
  end: number,
  { hmac, hasSigned }: TailOptions,
): Found | null {
  if (end - start > CHECKPOINT_LINE) return null;
  const line = text(bytes.subarray(start, end));
  const checkpoint = readCheckpointLine(line);
  const sealed = parseLine(line);
  if (checkpoint === null || sealed === null) return null;
  const before = lineEnd(bytes, start - 1);
  const isOwn = before?.number === sealed.number - 1 && follows(hmac, before.mac, sealed);
  return isOwn || hasSigned(checkpoint.envelope) ? { checkpoint, isOwn } : null;
}

/** Of the line whose end is there. */
function lineEnd(bytes: Buffer, end: number): Pick<SealedLine, "number" | "mac"> | null {
  if (end <= 0) return null;
  const start = Math.max(bytes.lastIndexOf(NEWLINE, end - 1) + 1, end - LINE_END);
  return parseLine(text(bytes.subarray(start, end)));
}

interface Covered {
  /** Behind the line of the last record that a checkpoint covers. */
  readonly end: number;
  /** Of that record. */
  readonly mac: string;
}

/** Null where the record is not among these bytes. */
function coveredBy(bytes: Buffer, { checkpoint }: Found): Covered | null {
  const mark = `,"number":${checkpoint.last},"mac":"`;
  for (let at = bytes.lastIndexOf(mark); at >= 0;) {
    const start = bytes.lastIndexOf(NEWLINE, at) + 1;
    const end = bytes.indexOf(NEWLINE, at);
    const line = end < 0 ? null : lineEnd(bytes, end);
    if (line?.number === checkpoint.last) return { end: end + 1, mac: line.mac };
    at = start === 0 ? -1 : bytes.lastIndexOf(mark, start - 1); // a text of somebody else's
  }
  return null;
}

// --- what is behind it ---

/** From where the key of the chain begins for the last time, if it does. */
async function followed(
  bytes: Buffer,
  verifier: ChainVerifier,
  { timers, isKnown }: TailOptions,
): Promise<Omit<UncoveredTail, "checkpoint">> {
  let start = 0;
  let taken = 0;
  let begins = 0;
  let first: number | null = null;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const { beginnings } = verifier;
    const line = text(bytes.subarray(start, end));
    if (!verifier.take(line)) break;
    if (verifier.beginnings > beginnings) {
      begins = start;
      first = null;
    }
    first ??= verifier.soFar().records > 0 ? (parseLine(line)?.number ?? null) : null;
    start = end + 1;
    if (++taken % LINES_AT_ONCE === 0) await timers.turn();
  }
  const { problem, head } = verifier.soFar();
  if (!isKnown && (head === null || verifier.endsWithOther)) return NOTHING;
  const why = problem?.reason ?? (verifier.endsWithOther ? CHANGED : null);
  return { bytes: bytes.subarray(begins), first, problem: head === null ? null : why };
}
