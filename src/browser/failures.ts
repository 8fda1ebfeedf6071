// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code cors-origins-missing CORS was switched on without an origin.
 * @remedy Name the origins, or use DELETE to switch it off.
 */
export function originsMissing(): Failure {
  const message = "allowed_origins must name at least one origin, or be *; DELETE switches it off";
  return new Failure("invalid", "cors-origins-missing", message);
}

/**
 * @code cors-origin-malformed An origin is not written as browsers send it.
 * @remedy Write scheme, host and port without a slash at the end.
 */
export function originMalformed(): Failure {
  const message =
    "allowed_origins must hold * alone, or origins as browsers send them: " +
    "http or https, a host in lower case and a port that is not the default one, no slash at the end";
  return new Failure("invalid", "cors-origin-malformed", message);
}

/**
 * @code cors-credentials-for-all CORS with credentials was to be opened to every origin.
 * @remedy Name the origins.
 */
export function credentialsForAll(): Failure {
  const message = "allow_credentials needs named origins; with * every page could use them";
  return new Failure("invalid", "cors-credentials-for-all", message);
}

/**
 * @code cors-header-malformed The name of a header for CORS is not valid.
 * @remedy Correct allowed_headers.
 */
export function corsHeaderMalformed(): Failure {
  const message = "allowed_headers must hold names of headers of at most 128 characters";
  return new Failure("invalid", "cors-header-malformed", message);
}

/**
 * @code console-header-unknown No such header is set for the console.
 * @remedy List them with `LIST sys/config/ui/headers`.
 */
export function headerUnknown(): Failure {
  return new Failure("not-found", "console-header-unknown", "no such header", { texts: [] });
}

/**
 * @code console-header-name-malformed The name of a header for the console is not valid.
 * @remedy Use the characters that the text lists.
 */
export function headerNameMalformed(): Failure {
  const message =
    "the name of a header must have 1 to 128 letters, digits or characters of !#$&'-.^_`|~";
  return new Failure("invalid", "console-header-name-malformed", message);
}

/**
 * @code console-header-reserved This header is the server's own and cannot be set.
 * @remedy Leave it as it is.
 */
export function headerReserved(): Failure {
  const message =
    "this header is the server's own; names that start with X-Service-, and those that frame an " +
    "answer, describe its body, set cookies or open it to other origins, cannot be set";
  return new Failure("invalid", "console-header-reserved", message);
}

/**
 * @code console-header-value-malformed The value of a header for the console is not valid.
 * @remedy Use printable ASCII without line breaks.
 */
export function headerValueMalformed(): Failure {
  const message =
    "values must hold 1 to 16 texts of printable ASCII, at most 4096 characters in all, " +
    "without line breaks";
  return new Failure("invalid", "console-header-value-malformed", message);
}

/**
 * @code console-headers-too-many There are as many console headers as there may be.
 * @remedy Delete one first.
 */
export function tooManyHeaders(max: number): Failure {
  const message = `there are ${max} console headers already, which is the most; delete one first`;
  return new Failure("invalid", "console-headers-too-many", message);
}
