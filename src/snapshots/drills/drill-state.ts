// What is remembered of the drills of a configuration. It stays on this cluster and is in no archive: a restore must
// not bring back that something was proven.

import { jsonCodec } from "@holdfast/shared/codec";

/**
 * How a drill ended. `proven`: every entry opens and everything adds up. `failed`: the snapshot is not what it should
 * be. `not-made`: the store did not give it, so nothing was found out. `interrupted`: the server stopped or was sealed.
 */
export const DRILL_RESULTS = ["proven", "failed", "not-made", "interrupted"] as const;
export type DrillResult = (typeof DRILL_RESULTS)[number];

/** Times are nanoseconds since 1970, in digits. */
export interface DrillState {
  /** Null: with a snapshot that is to come, or never. */
  readonly next: string | null;
  /** Since when there is this plan. */
  readonly since: string;
  /** Snapshots that came since a drill last began. */
  readonly waited: number;
  /** Start of the one that is under way; null when none is. */
  readonly underWay: string | null;
  /** Of the last that has ended. */
  readonly lastStart: string | null;
  readonly lastResult: DrillResult | null;
  /** Id of its report; null where nothing was signed. */
  readonly lastReport: string | null;
  readonly lastProven: string | null;
  /** In a row. */
  readonly failures: number;
}

/** What a snapshot says of itself that could be read. */
export interface DrilledArchive {
  readonly id: string;
  readonly index: number;
  readonly created: string;
  readonly sha256: string;
  readonly entries: number;
  /** Entries that were opened. */
  readonly opened: number;
  readonly dataKeys: number;
}

/** One drill, as history tells it. */
export interface EndedDrill {
  readonly start: string;
  readonly end: string;
  readonly result: DrillResult;
  /** Of the snapshot; empty where none was found. */
  readonly url: string;
  readonly size: number;
  /** Null where it could not be read to its end. */
  readonly archive: DrilledArchive | null;
  /** What is wrong, in words; nothing where it was proven. */
  readonly problems: readonly string[];
  /** Id of the signed report; null where nothing was found out. */
  readonly report: string | null;
}

export const drillStateCodec = jsonCodec<DrillState>();
export const drillHistoryCodec = jsonCodec<readonly EndedDrill[]>();
export const provenCodec = jsonCodec<string>();

export const MAX_DRILLS = 64;

export function freshDrillState(since: string): DrillState {
  return {
    next: null,
    since,
    waited: 0,
    underWay: null,
    lastStart: null,
    lastResult: null,
    lastReport: null,
    lastProven: null,
    failures: 0,
  };
}
