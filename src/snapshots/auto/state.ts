// What is remembered of each configuration: when it is next due, how its last attempts went, and what an upload that
// did not end has left. It stays on this cluster and is in no archive.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { Instant } from "@holdfast/shared/world";
import { USUAL_PLAN } from "../drills/drill-plan.ts";
import type { SnapshotConfig } from "./config.ts";

/** Times are nanoseconds since 1970, in digits. */
export interface SnapshotState {
  readonly next: string;
  /** An attempt has begun and not ended. */
  readonly underWay: boolean;
  /** Of the attempt that is under way, or was the last to begin. */
  readonly start: string | null;
  readonly url: string;
  /** Of the last attempt that has ended. */
  readonly lastStart: string | null;
  readonly lastEnd: string | null;
  readonly lastError: string;
  /** Of the last attempt that succeeded. */
  readonly lastUrl: string;
  readonly lastSize: number;
  readonly lastSha256: string;
  readonly lastIndex: number;
  readonly lastSuccess: string | null;
  readonly consecutiveErrors: number;
  readonly rotationError: string;
  /** As of the last look. */
  readonly storedCount: number;
  readonly storedBytes: number;
  /** Of everything with such names there, whoever wrote it: what an allowance is compared with. */
  readonly takenBytes?: number;
  readonly begun: StoredPut | null;
}

/** A put that has begun, by which its left-overs are found. */
export interface StoredPut {
  readonly name: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
  readonly handle: string | null;
}

/** One attempt, as history tells it. */
export interface EndedAttempt {
  readonly start: string;
  readonly end: string;
  readonly url: string;
  readonly size: number;
  readonly sha256: string;
  readonly index: number;
  readonly error: string;
  readonly rotationError: string;
}

const WITHOUT_DRILL = { drill: USUAL_PLAN };
const configs = jsonCodec<SnapshotConfig>();

/** Those that were written before there were drills have the usual ones. */
export const configCodec: Codec<SnapshotConfig> = {
  encode: (config) => configs.encode(config),
  decode: (bytes) => ({ ...WITHOUT_DRILL, ...configs.decode(bytes) }),
};
export const stateCodec = jsonCodec<SnapshotState>();
export const historyCodec = jsonCodec<readonly EndedAttempt[]>();

export const MAX_HISTORY = 64;

export function freshState(next: Instant): SnapshotState {
  return {
    next: String(next),
    underWay: false,
    start: null,
    url: "",
    lastStart: null,
    lastEnd: null,
    lastError: "",
    lastUrl: "",
    lastSize: 0,
    lastSha256: "",
    lastIndex: 0,
    lastSuccess: null,
    consecutiveErrors: 0,
    rotationError: "",
    storedCount: 0,
    storedBytes: 0,
    begun: null,
  };
}
