// How questions about tokens are refused. The texts are those that clients of the ACL API match on; the
// words with underscores are stable.

import { Failure } from "@holdfast/shared/failure";

function parameter(message: string): Failure {
  return new Failure("invalid", "invalid_parameter", message);
}

/** Left to the pipeline's words: it alone knows whether the secret has expired. */
export function credentialGone(): Failure {
  return new Failure("denied", "invalid-token", "permission denied: invalid token");
}

export function denied(): Failure {
  return new Failure("denied", "permission_denied", "Permission denied");
}

/**
 * The one refusal that says as of when it is true.
 * @code token_not_found There is no token with this accessor.
 * @remedy Check the accessor; the token may have expired.
 */
export function notFound(headers: Readonly<Record<string, string>>): Failure {
  return new Failure("not-found", "token_not_found", "ACL token not found", { headers });
}

export function cursorMalformed(): Failure {
  return parameter("invalid next_token");
}

export function nothingToCompare(): Failure {
  return parameter("`cas` compares what is stored; a new token has nothing to compare with");
}

/**
 * @code too_many_blocking_queries Too many queries wait for a change.
 * @remedy End some, or ask without index.
 */
export function tooManyParked(whose: string): Failure {
  const message = `too many blocking queries ${whose}; try again when one of them has ended`;
  return new Failure("rate-limited", "too_many_blocking_queries", message);
}

/** The node seals or stops while somebody waits. */
export function sealing(): Failure {
  return new Failure("sealed", "sealed", "service is sealed", { retryAfter: 5 });
}

/** Nobody reads this: it ends the work. */
export function callerGone(): Failure {
  return new Failure("unavailable", "client-gone", "the client is gone");
}
