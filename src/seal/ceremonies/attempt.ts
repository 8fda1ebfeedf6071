// What the ceremonies have in common beside collecting: whose attempt it is, and how long it may hold the
// one place there is for its kind. Pure.

import { utf8 } from "@holdfast/shared/bytes";
import { sameBytes } from "../../base/same-bytes.ts";
import type { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { Collection } from "./collection.ts";
import { cancelDenied, wrongCancelNonce, wrongNonce } from "../failures.ts";

/** Without a share for so long, an attempt is over: somebody else may want to start one. */
const IDLE_LIMIT: Nanos = 10n * 60n * 1_000_000_000n;
/** Without a further one. Longer, since holders of shares have to be found; but anybody who may give shares
 *  can give one that fits nothing, and must not hold the place with it for good. */
const STALLED_LIMIT: Nanos = 60n * 60n * 1_000_000_000n;

/** What names an attempt, and what its starter alone knows. */
export interface Nonces {
  /** Every holder of a share sees it. */
  readonly nonce: string;
  /** In the answer to the start and nowhere else. */
  readonly cancelNonce: string;
}

export interface Cancelling {
  /** That of the attempt, which makes sure that it is this one, or the cancel nonce. */
  readonly nonce?: string | undefined;
  readonly cancelNonce?: string | undefined;
  /** Whether the caller's token has update and sudo on the path. */
  readonly authorised: boolean;
}

export function refuseNonce(expected: string, nonce: string): Failure | null {
  return isSame(expected, nonce) ? null : wrongNonce();
}

/**
 * T-F01: nobody spoils another's attempt. The nonce that shares are given with is known to everybody who
 * may look at the attempt, and so gives no right to end it. What is sent must match, whoever sends it.
 */
export function refuseCancel(expected: Nonces, cancelling: Cancelling): Failure | null {
  const { nonce = "", cancelNonce = "", authorised } = cancelling;
  const starter = isSame(expected.cancelNonce, cancelNonce);
  if (cancelNonce !== "" && !starter) return wrongCancelNonce();
  if (starter || isSame(expected.cancelNonce, nonce)) return null;
  const refusal = nonce === "" ? null : refuseNonce(expected.nonce, nonce);
  return refusal ?? (authorised ? null : cancelDenied());
}

/** Whether nobody has given a share in the time that there is for it. `touched`: when the last was given,
 *  or when they began to be collected. `open`: anybody may give shares and nobody needs a token, so that an attempt
 *  which somebody has spoiled must not last. */
export function isForgotten(
  attempt: { readonly touched: Nanos; readonly collection: Collection },
  now: Nanos,
  open = false,
): boolean {
  const limit = open || attempt.collection.shares.length === 0 ? IDLE_LIMIT : STALLED_LIMIT;
  return now - attempt.touched >= limit;
}

/** The new shares of a rekey are out: whoever has them is found within the longer time. */
export function isStalled({ touched }: { readonly touched: Nanos }, now: Nanos): boolean {
  return now - touched >= STALLED_LIMIT;
}

function isSame(expected: string, text: string): boolean {
  return sameBytes(utf8(expected), utf8(text));
}
