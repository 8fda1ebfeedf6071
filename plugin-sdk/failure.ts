// What an engine says of work that did not succeed, besides a Failure: that it never will, or that the
// outside system wants to be left alone for a while. Codes, not classes, decide: an engine may run in
// another process.

import { Failure, type FailureOptions } from "@holdfast/shared/failure";

const PERMANENT = "engine-permanent";

/**
 * Never going to work: what is needed for it is missing. It is not tried again by itself.
 * @code engine-permanent Work on an outside system can never succeed, because something it needs
 *   is missing.
 * @remedy Read the text for what is missing, then put it back or give the lease up with
 *   revoke-force.
 */
export class PermanentFailure extends Failure {
  constructor(message: string, options?: FailureOptions) {
    super("upstream", PERMANENT, message, options);
  }
}

/**
 * The provider throttles: no fault of the request, and no attempt at it.
 * @code engine-throttled The outside system asked to be left alone for a while.
 * @remedy Wait for the time that Retry-After says; lower the rate if it recurs.
 */
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

export function fieldInvalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}
