// Every way this room refuses.

import { Failure } from "./failure.ts";

/**
 * @code query-malformed The query of the request cannot be read.
 * @remedy Encode names and values as in a form; the text says what is wrong.
 */
export function queryMalformed(message: string): Failure {
  return new Failure("invalid", "query-malformed", message);
}

/**
 * @code file-not-regular A file is a link, pipe, directory or device where a regular file is
 *   needed.
 * @remedy Name a regular file.
 */
export function fileNotRegular(message: string): Failure {
  return new Failure("invalid", "file-not-regular", message);
}

/**
 * @code file-too-large A file is larger than is read.
 * @remedy Make it smaller, or name the right file.
 */
export function fileTooLarge(message: string): Failure {
  return new Failure("too-large", "file-too-large", message);
}

/**
 * @code file-changing A file grew while it was read.
 * @remedy Try again when nobody writes to it.
 */
export function fileChanging(message: string): Failure {
  return new Failure("unavailable", "file-changing", message);
}

/**
 * @code file-failed The system refused an operation on a file.
 * @remedy Read the reason in the text; look at permissions, disk space and mounts.
 */
export function fileFailed(message: string, options?: ErrorOptions): Failure {
  return new Failure("unavailable", "file-failed", message, options);
}

/**
 * @code time-invalid A time cannot be read.
 * @remedy Use RFC 3339, such as 2026-03-01T10:00:00Z.
 */
export function timeInvalid(message: string): Failure {
  return new Failure("invalid", "time-invalid", message);
}

/**
 * @code body-malformed The body of the request is not valid JSON, or exceeds a limit of depth or
 *   size.
 * @remedy Correct the place that the text names by its byte.
 */
export function bodyMalformed(message: string): Failure {
  return new Failure("invalid", "body-malformed", message);
}

/**
 * @code target-too-long The address of the request is longer than the server reads.
 * @remedy Shorten path and query, or send the fields in the body.
 */
export function targetTooLong(message: string): Failure {
  return new Failure("invalid", "target-too-long", message);
}

/**
 * @code path-malformed The path of the request has a second spelling or holds what no path may.
 * @remedy Send the path in its plain form, as the text says.
 */
export function pathMalformed(message: string): Failure {
  return new Failure("invalid", "path-malformed", message);
}

/**
 * @code log-failed The server cannot write its log.
 * @remedy Look at disk space and permissions of the log file.
 */
export function logFailed(message: string): Failure {
  return new Failure("unavailable", "log-failed", message);
}

/**
 * @code duration-invalid A duration cannot be read.
 * @remedy Use seconds, or a number with a unit such as 90s, 15m or 24h.
 */
export function durationInvalid(message: string): Failure {
  return new Failure("invalid", "duration-invalid", message);
}

/**
 * @code address-in-use Another process listens on the address.
 * @remedy End it, or choose another port.
 */
export function addressInUse(message: string): Failure {
  return new Failure("unavailable", "address-in-use", message);
}

/**
 * @code network-failed The system could not connect or listen.
 * @remedy Read the reason in the text.
 */
export function networkFailed(message: string): Failure {
  return new Failure("unavailable", "network-failed", message);
}

export const FORBIDDEN = "file-forbidden";

/**
 * @code file-forbidden The system does not let the server's user use a file, directory, socket or port.
 * @remedy Run the command that the text names, as root.
 */
export function forbidden(message: string): Failure {
  return new Failure("unavailable", FORBIDDEN, message);
}
