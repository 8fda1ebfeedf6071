// Why a request that belongs to another cluster was not done there, or nobody knows whether it was.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code primary-unreachable The cluster that writes shared data cannot be reached. Nothing was done.
 * @remedy Wait for the time that Retry-After says, then try again; `sys/replication/performance/status` says how the link is.
 */
export function primaryUnreachable(cause?: unknown): Failure {
  const message = "the primary of the shared data cannot be reached; nothing was done";
  return new Failure("unavailable", "primary-unreachable", message, { retryAfter: 5, cause });
}

/**
 * @code primary-lost The link to the primary was lost before it answered: the request may have been done there.
 * @remedy Look whether it was, and try again if not. It is not done later.
 */
export function primaryLost(cause?: unknown): Failure {
  const message =
    "the primary of the shared data was lost before it answered: look whether it was done before you try again";
  return new Failure("unavailable", "primary-lost", message, { retryAfter: 5, cause });
}

/**
 * @code primary-busy As many requests wait to be sent on to the primary as there may be. Nothing was done.
 * @remedy Wait for the time that Retry-After says, then try again; send fewer at once.
 */
export function primaryBusy(): Failure {
  const message =
    "too many requests wait to be sent on to the primary of the shared data; nothing was done";
  return new Failure("unavailable", "primary-busy", message, { retryAfter: 5 });
}

/**
 * @code too-many-region-queries Too many queries wait in another region for a change, of this caller, its address or all.
 * @remedy End some, ask without index, or ask the region itself.
 */
export function tooManyThere(): Failure {
  const message =
    "too many blocking queries wait in another region; try again when one of them has ended";
  return new Failure("rate-limited", "too-many-region-queries", message);
}

/**
 * @code primary-not-serving The cluster that writes shared data takes no requests now. Nothing was done.
 * @remedy Unseal it, or wait until its role has changed, then try again.
 */
export function primaryNotServing(): Failure {
  const message = "the primary of the shared data takes no requests now; nothing was done";
  return new Failure("unavailable", "primary-not-serving", message, { retryAfter: 5 });
}

/**
 * @code forward-too-large The body is too long to be sent on to the primary.
 * @remedy Send it to the primary itself, or in parts.
 */
export function tooLarge(max: number): Failure {
  const message = `a body that is sent on to the primary may have at most ${max} bytes`;
  return new Failure("too-large", "forward-too-large", message);
}

/**
 * @code forward-refused A request that another cluster has sent on is not as one can be.
 * @remedy Run the same version on both clusters.
 */
export function malformed(): Failure {
  return new Failure("invalid", "forward-refused", "the request that was sent on is malformed");
}
