// How parameters of the query under /acl/ are refused: in the words that clients of the ACL API match on.

import { Failure } from "@holdfast/shared/failure";

function parameter(message: string): Failure {
  return new Failure("invalid", "invalid_parameter", message);
}

/**
 * @code no_region_path The request names a region that this server does not know.
 * @remedy Leave region out, or use this server's own.
 */
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

export function notANumber(name: string): Failure {
  return parameter(`Expect a number for \`${name}\` query string parameter`);
}

export function notABoolean(name: string): Failure {
  return parameter(`Expect \`true\` or \`false\` for \`${name}\` query string parameter`);
}

export function indexInvalid(): Failure {
  return parameter("Invalid index");
}

export function waitInvalid(): Failure {
  return parameter("Invalid wait time");
}

/** Whoever gives an option is not answered as if it had not been given. */
export function notHere(name: string, instead: string): Failure {
  return parameter(`\`${name}\` is not supported here; ${instead}`);
}
