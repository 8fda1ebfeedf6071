// The end of a file that no checkpoint covers yet, when a process goes on with it: after a crash up to ten minutes of
// records. They are followed with the key of the chain before anything is signed for them: they may have been
// edited while no server was there.

import { EMPTY, text } from "@holdfast/shared/bytes";
import type { AppendFile, Timers } from "@holdfast/shared/world";
import type { Hmac } from "../../crypto/hmac.ts";
import { isBeginning, parseChainLine, parseLine } from "../../signed/audit-line.ts";
import {
  type Checkpoint,
  CHECKPOINT_MARK,
  readCheckpointLine,
} from "../../signed/audit-checkpoint.ts";
import { follows } from "../records/chain.ts";
import { ChainVerifier } from "../records/verify.ts";

const FIRST_LOOK = 256 * 1024;
export const LAST_LOOK = 64 * 1024 * 1024;
const LINES_AT_ONCE = 200;
const NEWLINE = 0x0a;
const CHAIN_MARK = Buffer.from('"type":"chain"');

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

/** Null where so much is uncovered that it stays so: a file of an older version. `isKnown`: the chain is one that goes on;
 *  otherwise what is there may be of another device or another key, and nothing can be said of it. */
export async function readUncovered(
  file: Pick<AppendFile, "size" | "read">,
  hmac: Hmac,
  timers: Timers,
  isKnown: boolean,
): Promise<UncoveredTail | null> {
  for (let window = FIRST_LOOK; ; window *= 4) {
    const from = Math.max(0, file.size - window);
    const bytes = await file.read(from, file.size - from);
    const found = lastCheckpoint(bytes);
    if (found !== null) {
      const { checkpoint, end, mac } = found;
      const rest = bytes.subarray(end);
      const begins = beginningIn(rest, hmac, checkpoint.last);
      if (begins === null && !isKnown) return { checkpoint, ...NOTHING };
      const own = begins === null ? rest : rest.subarray(begins);
      const from = begins === null ? { number: checkpoint.last, mac } : null;
      const verifier = new ChainVerifier(hmac, { from });
      return { checkpoint, bytes: own, ...(await followed(own, verifier, timers)) };
    }
    if (from === 0) {
      const found = await followed(bytes, new ChainVerifier(hmac), timers);
      if (found.first === null && !isKnown) return { checkpoint: null, ...NOTHING };
      return { checkpoint: null, bytes, ...found };
    }
    if (window >= LAST_LOOK) return null;
  }
}

const NOTHING = { bytes: EMPTY, first: null, problem: null };

/** Where the key of this chain begins, behind a checkpoint of another one; null where it does not. */
function beginningIn(bytes: Buffer, hmac: Hmac, after: number): number | null {
  for (let at = bytes.indexOf(CHAIN_MARK); at >= 0; at = bytes.indexOf(CHAIN_MARK, at + 1)) {
    const start = bytes.lastIndexOf(NEWLINE, at) + 1;
    const end = bytes.indexOf(NEWLINE, at);
    const line = end < 0 ? "" : text(bytes.subarray(start, end));
    const sealed = parseLine(line);
    const chained = parseChainLine(line);
    if (sealed === null || chained === null || !isBeginning(chained.event)) continue;
    if (sealed.number !== chained.previous.number + 1) continue;
    if (chained.event === "exchanged" && sealed.number <= after) continue; // it stood before
    if (follows(hmac, chained.previous.mac, sealed)) return start;
  }
  return null;
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
