// How far what was carried has been taken in: one sealed row below core/, there from the transaction that decides about
// evidence until nothing is left to do.

import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { Tx, ViewReads } from "../barrier/view.ts";

const COUNTS = "carried-counts";

/** "whole": as it was signed for. "lost": changed on the way, and left out. "unproven": the process that could vouch for it has
 *  ended; reports are kept to be read. */
export type EvidenceFate = "whole" | "lost" | "unproven";

/** What did not come over. */
export interface Left {
  /** Leases and write-ahead records that nobody ends. */
  readonly count: number;
  /** Whether somebody vouches for that number. */
  readonly isKnown: boolean;
  readonly evidence: EvidenceFate;
}

export interface Counts {
  /** Of the data that they belong to: every exchange begins another one. */
  readonly lineage: string;
  readonly waiting: number;
  readonly left: number;
  readonly isKnown: boolean;
  readonly evidence: EvidenceFate;
  readonly adopted: number;
  /** What is left was noted: the rest is to be removed. */
  readonly noted: boolean;
}

const codec = jsonCodec<Counts>();

/** Null where there are none of this data: what does not open, or is of other data, was put there by somebody else. */
export function readCounts(core: ViewReads, lineage: string): Counts | null {
  try {
    const counts = core.get(COUNTS, codec);
    return counts?.lineage === lineage ? counts : null;
  } catch (error) {
    if (error instanceof Failure && error.kind === "damaged") return null;
    throw error;
  }
}

export function putCounts(core: Tx, counts: Counts): void {
  core.put(COUNTS, counts, codec);
}

/** Whoever has put them there. */
export function discardCounts(core: Tx): void {
  core.discard(COUNTS);
}
