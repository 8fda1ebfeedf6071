// How questions about tokens are refused. The texts are those that clients of spec 1 match on; the
// words with underscores are the stable ones of D5.

import { Failure } from "../base/failure.ts";

function parameter(message: string): Failure {
  return new Failure("invalid", "invalid_parameter", message);
}

/** Left to the pipeline's words: it alone knows whether the secret has expired (D9). */
export function credentialGone(): Failure {
  return new Failure("denied", "invalid-token", "permission denied: invalid token");
}

export function denied(): Failure {
  return new Failure("denied", "permission_denied", "Permission denied");
}

/** The one refusal that says as of when it is true. */
export function notFound(headers: Readonly<Record<string, string>>): Failure {
  return new Failure("not-found", "token_not_found", "ACL token not found", { headers });
}

export function noPathToRegion(): Failure {
  return new Failure("not-found", "no_region_path", "No path to region");
}

export function prefixOdd(): Failure {
  const text = "acl token lookup failed: index error: Input (without hyphens) must be even length";
  return parameter(text);
}

export function prefixMalformed(): Failure {
  const text =
    "acl token lookup failed: index error: Invalid UUID: `prefix` takes hexadecimal digits, " +
    "at most 36 characters with at most 4 hyphens";
  return parameter(text);
}

export function cursorMalformed(): Failure {
  return parameter("invalid next_token");
}

export function notANumber(name: string): Failure {
  return parameter(`Expect a number for \`${name}\` query string parameter`);
}

export function notABoolean(name: string): Failure {
  return parameter(`Expect \`true\` or \`false\` for \`${name}\` query string parameter`);
}

export function nothingToCompare(): Failure {
  return parameter("`cas` compares what is stored; a new token has nothing to compare with");
}

export function indexInvalid(): Failure {
  return parameter("Invalid index");
}

export function waitInvalid(): Failure {
  return parameter("Invalid wait time");
}

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
