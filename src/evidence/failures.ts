// What this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code evidence-unknown There is no evidence of this id or number in the namespace.
 * @remedy See `holdfast evidence list`.
 */
export function evidenceUnknown(): Failure {
  return new Failure("not-found", "evidence-unknown", "there is no evidence of this id here");
}

/**
 * @code evidence-dropped The evidence was dropped: it is kept for 400 days, and 64 MiB of it.
 * @remedy Look for a copy; the digest in the answer tells whether it is the right one.
 */
export function evidenceDropped(number: number, digest: string): Failure {
  const text = `evidence ${number} was dropped for its age or for room; its SHA-256 was ${digest}`;
  return new Failure("not-found", "evidence-dropped", text);
}

/**
 * @code evidence-after The list cannot go on after this: it is no id of evidence that is kept.
 * @remedy Give the number or the id that the last answer named.
 */
export function afterUnknown(): Failure {
  const text = "after: give the number or the id of evidence that is kept";
  return new Failure("invalid", "evidence-after", text);
}

/**
 * @code receipt-unknown No lease of this id has ended in the namespace, or so long ago that its receipt is gone.
 * @remedy Give the id as the answer with the secret told it.
 */
export function receiptUnknown(): Failure {
  const text = "there is no receipt of a lease of this id here";
  return new Failure("not-found", "receipt-unknown", text);
}
