// Every way in which storage that is reached over the wire refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code plugin-write-contended What a plugin changes was changed by others again and again.
 * @remedy Try again; if it recurs, find out who writes the same without end.
 */
export function neverCommitted(): Failure {
  const message = "what the request changes is changed by others without end; try again";
  return new Failure("unavailable", "plugin-write-contended", message, { retryAfter: 1 });
}

/**
 * @code plugin-transaction-too-large A transaction of a plugin reads more than one may.
 * @remedy Ask for less at once; if that does not help, the plugin must part its work.
 */
export function tooManyReads(): Failure {
  const message = "a transaction of the plugin reads more than one may; ask for less at once";
  return new Failure("unavailable", "plugin-transaction-too-large", message);
}
