// The end of a file that no checkpoint covers yet, when a process goes on with it: after a crash up to ten minutes of
// records. They are followed with the key of the chain before anything is signed for them: they may have been
// edited while no server was there.

import { text } from "@holdfast/shared/bytes";
import type { AppendFile, Timers } from "@holdfast/shared/world";
import type { Hmac } from "../../crypto/hmac.ts";
import { parseLine } from "../../signed/audit-line.ts";
import {
  type Checkpoint,
  CHECKPOINT_MARK,
  readCheckpointLine,
} from "../../signed/audit-checkpoint.ts";
import { ChainVerifier } from "../records/verify.ts";

const FIRST_LOOK = 256 * 1024;
const LAST_LOOK = 64 * 1024 * 1024;
const LINES_AT_ONCE = 200;
const NEWLINE = 0x0a;

export interface UncoveredTail {
  /** The last checkpoint in the file; null for none. */
  readonly checkpoint: Checkpoint | null;
  /** From the end of what that covers, or from the beginning of the file, to the file's end. */
  readonly bytes: Buffer;
  /** Number of the first record in it; null where it holds none. */
  readonly first: number | null;
  /** What is wrong with the chain in it; null for nothing. */
  readonly problem: string | null;
}

/** Null where so much is uncovered that it stays so: a file of an older version. */
export async function readUncovered(
  file: Pick<AppendFile, "size" | "read">,
  hmac: Hmac,
  timers: Timers,
): Promise<UncoveredTail | null> {
  for (let window = FIRST_LOOK; ; window *= 4) {
    const from = Math.max(0, file.size - window);
    const bytes = await file.read(from, file.size - from);
    const found = lastCheckpoint(bytes);
    if (found !== null) {
      const { checkpoint, end, mac } = found;
      const rest = bytes.subarray(end);
      const verifier = new ChainVerifier(hmac, { from: { number: checkpoint.last, mac } });
      return { checkpoint, bytes: rest, ...(await followed(rest, verifier, timers)) };
    }
    if (from === 0) {
      const verifier = new ChainVerifier(hmac);
      return { checkpoint: null, bytes, ...(await followed(bytes, verifier, timers)) };
    }
    if (window >= LAST_LOOK) return null;
  }
}

interface Found {
  readonly checkpoint: Checkpoint;
  /** Behind the line of the last record that it covers. */
  readonly end: number;
  /** Of that record. */
  readonly mac: string;
}

function lastCheckpoint(bytes: Buffer): Found | null {
  let at = bytes.lastIndexOf(CHECKPOINT_MARK);
  while (at >= 0) {
    const start = bytes.lastIndexOf(NEWLINE, at) + 1;
    const end = bytes.indexOf(NEWLINE, at);
    const checkpoint = end < 0 ? null : readCheckpointLine(text(bytes.subarray(start, end)));
    if (checkpoint !== null) return placed(bytes, start, checkpoint);
    at = at === 0 ? -1 : bytes.lastIndexOf(CHECKPOINT_MARK, at - 1); // a text of somebody else's
  }
  return null;
}

function placed(bytes: Buffer, before: number, checkpoint: Checkpoint): Found | null {
  const mark = `,"number":${checkpoint.last},"mac":"`;
  const at = bytes.subarray(0, before).lastIndexOf(mark);
  if (at < 0) return null;
  const start = bytes.lastIndexOf(NEWLINE, at) + 1;
  const end = bytes.indexOf(NEWLINE, at);
  const line = parseLine(text(bytes.subarray(start, end)));
  return line === null ? null : { checkpoint, end: end + 1, mac: line.mac };
}

async function followed(
  bytes: Buffer,
  verifier: ChainVerifier,
  timers: Timers,
): Promise<Pick<UncoveredTail, "first" | "problem">> {
  let start = 0;
  let taken = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    if (!verifier.take(text(bytes.subarray(start, end)))) break;
    start = end + 1;
    if (++taken % LINES_AT_ONCE === 0) await timers.turn();
  }
  const { problem, first, head } = verifier.soFar();
  return { first, problem: head === null ? null : (problem?.reason ?? null) };
}
