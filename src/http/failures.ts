// Refusals of the HTTP front: what was wrong with a request before anybody looked at its path. None
// repeats a header's value; it may be a secret in the wrong place.

import { showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { CLIENT_ENDED } from "@holdfast/shared/endpoint/request";
import type { Nanos } from "@holdfast/shared/world";

/**
 * @code request-malformed The request is not valid HTTP.
 * @remedy Look at the client or the proxy before the server; the text says what is wrong.
 */
export function malformed(message: string): Failure {
  return new Failure("invalid", "request-malformed", message);
}

export function notHttp(): Failure {
  return malformed("this is not a well-formed HTTP/1.1 request");
}

/**
 * To a listener with TLS.
 * @code plain-http A request in plain HTTP came to a port that speaks HTTPS.
 * @remedy Use an address that begins with https://.
 */
export function spokePlainHttp(): Failure {
  const message =
    "this port speaks HTTPS, and the request came in plain HTTP; use an address that begins with https://";
  return new Failure("invalid", "plain-http", message);
}

export function pipelined(): Failure {
  return malformed("a request must wait for the answer to the one before it");
}

/**
 * It says that the client is late and not we.
 * @code client-too-slow Head or body of the request did not arrive within the time.
 * @remedy Look at the client's network; raise the listener's limits if such clients are yours.
 */
export function tooSlow(part: "head" | "body", limit: Nanos): Failure {
  const message = `the ${part} of a request must be complete within ${showDuration(limit)}`;
  return new Failure("late", "client-too-slow", message);
}

/** Of a body that is handed on while it comes: it may take as long as it gets on. */
export function tooSlowStream(rate: number, limit: Nanos): Failure {
  const message =
    `the body comes too slowly: it needs ${rate} bytes a second, or has caught up with that again before it has kept ` +
    `the server waiting for ${showDuration(limit)} in all`;
  return new Failure("late", "client-too-slow", message);
}

/**
 * @code headers-too-large The head of the request is larger than is read.
 * @remedy Look for cookies or tokens that do not belong there.
 */
export function headTooLong(limit: number): Failure {
  const message = `the head of a request may have at most ${limit} bytes`;
  return new Failure("headers-too-large", "headers-too-large", message);
}

/**
 * @code chunk-extension-too-long The chunks of a body carry extensions, and they are too long.
 * @remedy Leave them out.
 */
export function chunkExtensionTooLong(): Failure {
  const message = "the extensions of a chunk are too long; none are needed";
  return new Failure("too-large", "chunk-extension-too-long", message);
}

/**
 * @code chunks-too-small The body comes in many very small chunks.
 * @remedy Let the client send larger ones.
 */
export function chunksTooSmall(min: number): Failure {
  const message = `the body comes in too many small chunks; send ${min} bytes or more in each`;
  return new Failure("too-large", "chunks-too-small", message);
}

/**
 * @code header-repeated A header that may be given once is given twice.
 * @remedy Send it once; look whether a proxy adds it.
 */
export function repeatedHeader(name: string): Failure {
  return new Failure("invalid", "header-repeated", `the header ${name} may be given only once`);
}

/**
 * @code header-contradiction A header is given twice with different values.
 * @remedy Send it once; look whether a proxy adds it.
 */
export function contradiction(name: string): Failure {
  const message = `${name} is given twice, with different values; give it once`;
  return new Failure("invalid", "header-contradiction", message);
}

/**
 * @code header-invalid A header has a value that is not accepted.
 * @remedy Send what the text names.
 */
export function badHeader(name: string, accepted: string): Failure {
  return new Failure("invalid", "header-invalid", `the header ${name} must be ${accepted}`);
}

/** The beginning is what clients match on. The name is one of ours: it was looked up. */
export function overrideInvalid(name: string): Failure {
  const message = `failed to parse ${name} header: it must be true, false, 1, 0, t or f`;
  return new Failure("invalid", "header-invalid", message);
}

/**
 * @code headers-too-many The request has more headers than are read.
 * @remedy Look whether a proxy adds them.
 */
export function tooManyHeaders(limit: number): Failure {
  const message = `a request may have at most ${limit} headers`;
  return new Failure("headers-too-large", "headers-too-many", message);
}

/**
 * @code token-too-long The token of the request is longer than any token.
 * @remedy Check what is sent as the token.
 */
export function tokenTooLong(limit: number): Failure {
  const message = `a token may have at most ${limit} bytes`;
  return new Failure("headers-too-large", "token-too-long", message);
}

/**
 * @code body-too-large The body is larger than the listener takes, or 64 KiB without a token.
 * @remedy Send less at a time, or raise max_request_size of the listener.
 */
export function bodyTooLarge(limit: number): Failure {
  const message = `the body may have at most ${limit} bytes`;
  return new Failure("too-large", "body-too-large", message);
}

/**
 * @code memory-full Large bodies and unread answers fill the memory that there is for them.
 * @remedy Read the answers that are waiting, then try again; ask for fewer at a time.
 */
export function memoryFull(): Failure {
  const message =
    "too many large bodies and unread answers are waiting; read the answers and try again";
  return new Failure("unavailable", "memory-full", message, { retryAfter: 1 });
}

/**
 * @code too-many-abandoned Many requests of this address were given up and are still worked on.
 * @remedy Wait for the answers to what was sent before, and try again.
 */
export function tooManyAbandoned(): Failure {
  const message =
    "many requests of this address were given up and are still worked on; wait for answers, and try again";
  return new Failure("rate-limited", "too-many-abandoned", message, { retryAfter: 1 });
}

/**
 * @code too-many-streams Too many streams of HTTP/2 are open, of this address or in all.
 * @remedy Try again, with fewer requests at a time; nothing was done.
 */
export function tooManyStreams(): Failure {
  const message = "too many streams are open; try again with fewer at a time";
  return new Failure("unavailable", "too-many-streams", message, { retryAfter: 1 });
}

/**
 * @code body-incomplete The connection ended before the body did.
 * @remedy Send the request again.
 */
export function bodyIncomplete(): Failure {
  return new Failure("invalid", "body-incomplete", "the connection ended before the body did");
}

/**
 * @code body-not-expected The method takes no body.
 * @remedy Send the fields in the query, or use POST.
 */
export function bodyNotExpected(verb: string): Failure {
  return new Failure("invalid", "body-not-expected", `${verb} takes no body`);
}

/**
 * @code body-encoded The body is compressed or otherwise encoded.
 * @remedy Send it without Content-Encoding.
 */
export function bodyEncoded(): Failure {
  const message = "a body must be sent as it is, without Content-Encoding";
  return new Failure("media-type", "body-encoded", message);
}

/**
 * @code media-type-unsupported The body is of a type that the path does not take.
 * @remedy Send the Content-Type that the text names.
 */
export function wrongMediaType(accepted: string): Failure {
  return new Failure("media-type", "media-type-unsupported", `the body must be ${accepted}`);
}

/**
 * Of what is not the API: there are only pages.
 * @code verb-unsupported The path is there, but not for this method.
 * @remedy Use one of the methods in the header Allow.
 */
export function unsupportedVerb(): Failure {
  const headers = { Allow: "GET, HEAD" };
  return new Failure("unsupported", "verb-unsupported", "unsupported operation", { headers });
}

/**
 * @code host-unknown The request names a host that is not this server's.
 * @remedy Add the name to allowed_hosts of the listener, or correct the address.
 */
export function wrongHost(): Failure {
  const message =
    "the request names a host that is not this server's; allowed_hosts of the listener lists further ones";
  return new Failure("misdirected", "host-unknown", message);
}

/**
 * @code origin-not-allowed A page of an origin that is not allowed sent the request.
 * @remedy Add the origin with sys/config/cors, if it is yours.
 */
export function foreignOrigin(): Failure {
  const message = "requests from pages of this origin are not allowed; see sys/config/cors";
  return new Failure("denied", "origin-not-allowed", message);
}

/**
 * @code request-header-missing The listener demands the header X-Service-Request and it is
 *   missing.
 * @remedy Send X-Service-Request: true.
 */
export function requestHeaderMissing(): Failure {
  const message = "this listener demands the header X-Service-Request: true";
  return new Failure("denied", "request-header-missing", message);
}

/**
 * @code path-unknown There is nothing at this path.
 * @remedy Begin paths with /v1/.
 */
export function nothingHere(): Failure {
  return new Failure("not-found", "path-unknown", "unsupported path");
}

/**
 * @code request-timed-out The request took longer than the listener allows.
 * @remedy Try again; look at the log for what is slow.
 */
export function timedOut(): Failure {
  return new Failure("timed-out", "request-timed-out", "request timed out");
}

export function internal(): Failure {
  return new Failure("internal", "internal-error", "internal error");
}

/**
 * @code listen-failed A listener could not be opened.
 * @remedy Look whether another process has the address, and whether the server may use it.
 */
export function listenFailed(message: string): Failure {
  return new Failure("unavailable", "listen-failed", message);
}

/**
 * @code status-not-final The caller chose a status below 200 for an answer.
 * @remedy Choose one from 200 on.
 */
export function statusNotFinal(message: string): Failure {
  return new Failure("invalid", "status-not-final", message);
}

/**
 * @code listener-invalid The settings of a listener do not go together.
 * @remedy Correct what the text names.
 */
export function listenerInvalid(message: string): Failure {
  return new Failure("invalid", "listener-invalid", message);
}

/**
 * @code client-ended The client has ended its side of the connection while its request waited.
 * @remedy Nothing.
 */
export function clientEnded(): Failure {
  return new Failure("unavailable", CLIENT_ENDED, "the client has ended its side");
}

/**
 * @code client-gone The client closed the connection; nobody reads this.
 * @remedy Nothing.
 */
export function clientGone(message: string): Failure {
  return new Failure("unavailable", "client-gone", message);
}

/**
 * As for anything that is absent: no text.
 * @code nothing-there There is nothing to show: a list is empty, or the version is deleted or destroyed.
 * @remedy Check the path; of a deleted version the answer says when that was.
 */
export function nothingThere(): Failure {
  return new Failure("not-found", "nothing-there", "nothing is there", { texts: [] });
}

/**
 * @code tls-file-missing A certificate or key is not there.
 * @remedy Correct the path in the configuration, or put the file there.
 */
export function tlsFileMissing(message: string): Failure {
  return new Failure("invalid", "tls-file-missing", message);
}

/**
 * @code tls-file-invalid Certificate and key cannot be used together.
 * @remedy Check that both are PEM and belong together.
 */
export function tlsFileInvalid(message: string): Failure {
  return new Failure("invalid", "tls-file-invalid", message);
}
