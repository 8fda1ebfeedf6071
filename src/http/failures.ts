// Refusals of the HTTP front: what was wrong with a request before anybody looked at its path. None
// repeats a header's value; it may be a secret in the wrong place.

import { showDuration } from "../base/duration.ts";
import { Failure } from "../base/failure.ts";
import type { Nanos } from "../base/world.ts";

export function malformed(message: string): Failure {
  return new Failure("invalid", "request-malformed", message);
}

export function notHttp(): Failure {
  return malformed("this is not a well-formed HTTP/1.1 request");
}

/** To a listener with TLS. */
export function spokePlainHttp(): Failure {
  const message =
    "this port speaks HTTPS, and the request came in plain HTTP; use an address that begins with https://";
  return new Failure("invalid", "plain-http", message);
}

export function pipelined(): Failure {
  return malformed("a request must wait for the answer to the one before it");
}

/** Answered with 408, which says that the client is late and not we. */
export function tooSlow(part: "head" | "body", limit: Nanos): Failure {
  const message = `the ${part} of a request must be complete within ${showDuration(limit)}`;
  return new Failure("timed-out", "client-too-slow", message);
}

export function headTooLong(limit: number): Failure {
  const message = `the head of a request may have at most ${limit} bytes`;
  return new Failure("headers-too-large", "headers-too-large", message);
}

export function chunkExtensionTooLong(): Failure {
  const message = "the extensions of a chunk are too long; none are needed";
  return new Failure("too-large", "chunk-extension-too-long", message);
}

export function chunksTooSmall(least: number): Failure {
  const message = `the body comes in too many small chunks; send ${least} bytes or more in each`;
  return new Failure("too-large", "chunks-too-small", message);
}

export function repeatedHeader(name: string): Failure {
  return new Failure("invalid", "header-repeated", `the header ${name} may be given only once`);
}

export function contradiction(name: string): Failure {
  const message = `${name} is given twice, with different values; give it once`;
  return new Failure("invalid", "header-contradiction", message);
}

export function badHeader(name: string, accepted: string): Failure {
  return new Failure("invalid", "header-invalid", `the header ${name} must be ${accepted}`);
}

/** The beginning is what clients match on. The name is one of ours: it was looked up. */
export function overrideInvalid(name: string): Failure {
  const message = `failed to parse ${name} header: it must be true, false, 1, 0, t or f`;
  return new Failure("invalid", "header-invalid", message);
}

export function tooManyHeaders(limit: number): Failure {
  const message = `a request may have at most ${limit} headers`;
  return new Failure("headers-too-large", "headers-too-many", message);
}

export function tokenTooLong(limit: number): Failure {
  const message = `a token may have at most ${limit} bytes`;
  return new Failure("headers-too-large", "token-too-long", message);
}

export function bodyTooLarge(limit: number): Failure {
  const message = `the body may have at most ${limit} bytes`;
  return new Failure("too-large", "body-too-large", message);
}

export function bodyIncomplete(): Failure {
  return new Failure("invalid", "body-incomplete", "the connection ended before the body did");
}

export function bodyNotExpected(verb: string): Failure {
  return new Failure("invalid", "body-not-expected", `${verb} takes no body`);
}

export function bodyEncoded(): Failure {
  const message = "a body must be sent as it is, without Content-Encoding";
  return new Failure("media-type", "body-encoded", message);
}

export function wrongMediaType(accepted: string): Failure {
  return new Failure("media-type", "media-type-unsupported", `the body must be ${accepted}`);
}

/** Of what is not the API: there are only pages. */
export function unsupportedVerb(): Failure {
  const headers = { Allow: "GET, HEAD" };
  return new Failure("unsupported", "verb-unsupported", "unsupported operation", { headers });
}

export function wrongHost(): Failure {
  const message =
    "the request names a host that is not this server's; allowed_hosts of the listener lists further ones";
  return new Failure("misdirected", "host-unknown", message);
}

export function foreignOrigin(): Failure {
  const message = "requests from pages of this origin are not allowed; see sys/config/cors";
  return new Failure("denied", "origin-not-allowed", message);
}

export function requestHeaderMissing(): Failure {
  const message = "this listener demands the header X-Service-Request: true";
  return new Failure("denied", "request-header-missing", message);
}

export function nothingHere(): Failure {
  return new Failure("not-found", "path-unknown", "unsupported path");
}

export function timedOut(): Failure {
  return new Failure("timed-out", "request-timed-out", "request timed out");
}

export function internal(): Failure {
  return new Failure("internal", "internal-error", "internal error");
}
