// Every way this room refuses.

import { Failure } from "../base/failure.ts";

export function originsMissing(): Failure {
  const message = "allowed_origins must name at least one origin, or be *; DELETE switches it off";
  return new Failure("invalid", "cors-origins-missing", message);
}

export function originMalformed(): Failure {
  const message =
    "allowed_origins must hold * alone, or origins as browsers send them: " +
    "http or https, a host in lower case and a port that is not the default one, no slash at the end";
  return new Failure("invalid", "cors-origin-malformed", message);
}

export function credentialsForAll(): Failure {
  const message = "allow_credentials needs named origins; with * every page could use them";
  return new Failure("invalid", "cors-credentials-for-all", message);
}

export function corsHeaderMalformed(): Failure {
  const message = "allowed_headers must hold names of headers of at most 128 characters";
  return new Failure("invalid", "cors-header-malformed", message);
}

export function headerUnknown(): Failure {
  return new Failure("not-found", "console-header-unknown", "no such header", { texts: [] });
}

export function headerNameMalformed(): Failure {
  const message =
    "the name of a header must have 1 to 128 letters, digits or characters of !#$&'-.^_`|~";
  return new Failure("invalid", "console-header-name-malformed", message);
}

export function headerReserved(): Failure {
  const message =
    "this header is the server's own; names that start with X-Service-, and those that frame an " +
    "answer, describe its body, set cookies or open it to other origins, cannot be set";
  return new Failure("invalid", "console-header-reserved", message);
}

export function headerValueMalformed(): Failure {
  const message =
    "values must hold 1 to 16 texts of printable ASCII, at most 4096 characters in all, " +
    "without line breaks";
  return new Failure("invalid", "console-header-value-malformed", message);
}

export function tooManyHeaders(most: number): Failure {
  const message = `there are ${most} console headers already, which is the most; delete one first`;
  return new Failure("invalid", "console-headers-too-many", message);
}
