// What the ceremonies have in common beside collecting: whose attempt it is. Pure.

import { sameBytes, utf8 } from "../base/bytes.ts";
import type { Failure } from "../base/failure.ts";
import { cancelDenied, wrongNonce } from "./failures.ts";

export interface Cancelling {
  readonly nonce?: string | undefined;
  /** Whether the caller's token has update and sudo on the path. */
  readonly authorised: boolean;
}

export function refuseNonce(expected: string, given: string): Failure | null {
  return sameBytes(utf8(expected), utf8(given)) ? null : wrongNonce();
}

/** T-F01: nobody spoils another's attempt. A nonce that is sent must match, whoever sends it. */
export function refuseCancel(expected: string, cancelling: Cancelling): Failure | null {
  const { nonce = "", authorised } = cancelling;
  if (nonce !== "") return refuseNonce(expected, nonce);
  return authorised ? null : cancelDenied();
}
