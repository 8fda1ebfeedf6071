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
  // Whoever tries again by itself might do it twice.
  return new Failure("unavailable", "primary-lost", message, { retryAfter: Infinity, cause });
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
 * @code primary-refuses The cluster that writes shared data does not take this one any more: the text has its reason. Nothing was done.
 * @remedy Ask for a token at the primary, and name it with that (update-primary); or disable this cluster's role.
 */
export function primaryRefuses(reason: string): Failure {
  const message = `the primary of the shared data does not take this cluster (${reason}); nothing was done`;
  return new Failure("unavailable", "primary-refuses", message, { retryAfter: Infinity });
}

/**
 * @code primary-superseded Another cluster was promoted in the place of the one that this one follows. Nothing was done.
 * @remedy Ask for a token at the cluster that leads, and name it with that (update-primary).
 */
export function primarySuperseded(): Failure {
  const message =
    "another cluster leads in the place of the primary that this one follows; nothing was done: name it with a token (update-primary)";
  return new Failure("unavailable", "primary-superseded", message, { retryAfter: Infinity });
}

/**
 * @code no-primary This cluster leaves shared data to another one, and follows none: it was demoted, or its primary was taken from it. Nothing was done.
 * @remedy Name the primary with a token (update-primary), or promote this cluster.
 */
export function noPrimary(): Failure {
  const message =
    "this cluster is a secondary without a primary, and nothing was done: name one with a token (update-primary), or promote this cluster";
  return new Failure("unavailable", "no-primary", message, { retryAfter: Infinity });
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
 * @code forward-answer-too-large The answer of the primary is too long to come back to the cluster that was asked.
 * @remedy Ask the primary itself.
 */
export function answerTooLarge(max: number): Failure {
  const message = `it was done, and its answer has more than the ${max} bytes that come back from the primary`;
  return new Failure("upstream", "forward-answer-too-large", message);
}

/**
 * @code forward-refused A request that another cluster has sent on is not as one can be.
 * @remedy Run the same version on both clusters.
 */
export function malformed(): Failure {
  return new Failure("invalid", "forward-refused", "the request that was sent on is malformed");
}
