// The one table from what went wrong to HTTP's number for it.

import type { FailureKind } from "@holdfast/shared/failure";

export const STATUS: Readonly<Record<FailureKind, number>> = {
  invalid: 400,
  denied: 403,
  "not-found": 404,
  conflict: 409,
  "too-large": 413,
  sealed: 503,
  uninitialised: 503,
  unavailable: 503,
  damaged: 500,
  unsupported: 405,
  "media-type": 415,
  "headers-too-large": 431,
  misdirected: 421,
  "rate-limited": 429,
  behind: 412,
  late: 408,
  "timed-out": 503,
  looping: 508,
  upstream: 502,
  internal: 500,
};

/** When to come back, in seconds, where the failure itself does not say it. */
export const RETRY_AFTER: ReadonlyMap<number, number> = new Map([
  [412, 1], // a standby catches up within milliseconds
  [429, 1], // the shortest interval of a quota
  [503, 5], // people unseal and elections end in seconds, not at once
]);
