// What an engine says of work that did not succeed, besides a Failure: that it never will, or that the
// outside system wants to be left alone for a while. Codes, not classes, decide: an engine may run in
// another process.

import { Failure, type FailureOptions } from "../src/base/failure.ts";

const PERMANENT = "engine-permanent";

/** Never going to work: what is needed for it is missing. It is not tried again by itself. */
export class PermanentFailure extends Failure {
  constructor(message: string, options?: FailureOptions) {
    super("upstream", PERMANENT, message, options);
  }
}

/** The provider throttles: no fault of the request, and no attempt at it (D9). */
export class ThrottledFailure extends Failure {
  /** `retryAfter` in seconds, as the provider says; 0 where it does not. */
  constructor(message: string, retryAfter: number, options?: FailureOptions) {
    super("upstream", "engine-throttled", message, { ...options, retryAfter });
  }
}

export function isPermanent(error: unknown): boolean {
  return error instanceof Failure && error.code === PERMANENT;
}

export function isThrottled(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  return error.kind === "rate-limited" || (error.kind === "upstream" && error.retryAfter !== null);
}
