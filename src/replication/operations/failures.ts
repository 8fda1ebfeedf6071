// Every way this folder refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code operation-too-often Too many attempts or shares came from this address.
 * @remedy Wait for the time that Retry-After says.
 */
export function tooOften(retryAfter: number): Failure {
  const message = "too many attempts or shares from this address; try again later";
  return new Failure("rate-limited", "operation-too-often", message, { retryAfter });
}

/**
 * @code operation-pgp-armored A pgp_key for an operation token is armored text.
 * @remedy Send base64 of the binary key: `gpg --export <id> | base64 -w0`.
 */
export function armored(): Failure {
  const message = "pgp_key must be base64 of the binary public key, not armored text";
  return new Failure("invalid", "operation-pgp-armored", message);
}

/**
 * @code operation-unknown A ticket is asked for with no operation, or with one that there is not.
 * @remedy Name one or several of those that the text lists.
 */
export function operationUnknown(known: readonly string[]): Failure {
  const message = `operations must name one or several of ${known.join(", ")}`;
  return new Failure("invalid", "operation-unknown", message);
}

/**
 * @code operation-ticket-spent An operator ticket has done its work already.
 * @remedy Make another one on the primary.
 */
export function ticketSpent(): Failure {
  return new Failure("denied", "operation-ticket-spent", "this operator ticket was used already");
}
