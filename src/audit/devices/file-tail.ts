// Where the chain of a file ended when the process before this one stopped writing.

import { text } from "@holdfast/shared/bytes";
import type { AppendFile } from "@holdfast/shared/world";
import { type ChainHead, parseChainLine, parseLine } from "../../signed/audit-line.ts";
import { follows } from "../records/chain.ts";
import type { Hmac } from "../../crypto/hmac.ts";

const TAIL = 4 * 1024 * 1024; // bytes: two records of the usual limit, and room

export interface TailFound {
  /** The last record, if it is ours and whole. */
  readonly head: ChainHead | null;
  /** The last line has no end. */
  readonly openLine: boolean;
  /** Something that is no record of ours comes after it. */
  readonly broken: boolean;
}

/** The end of the file. A record counts if its MAC follows from the record before it. */
export async function readTail(file: AppendFile, hmac: Hmac): Promise<TailFound> {
  const from = Math.max(0, file.size - TAIL);
  const end = text(await file.read(from, file.size - from));
  if (end === "") return { head: null, openLine: false, broken: false };
  const lines = end.split("\n");
  const openLine = lines.pop() !== "";
  for (let i = lines.length - 1; i >= 0; i--) {
    const last = parseLine(lines[i]!);
    if (last === null) continue;
    const previous = parseChainLine(lines[i]!)?.previous ?? parseLine(lines[i - 1] ?? "");
    const good = previous !== null && previous.number + 1 === last.number;
    if (!good || !follows(hmac, previous.mac, last)) break;
    const { number, mac } = last;
    return { head: { number, mac }, openLine, broken: openLine || i < lines.length - 1 };
  }
  return { head: null, openLine, broken: true };
}
