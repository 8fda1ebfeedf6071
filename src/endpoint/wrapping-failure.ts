// The one refusal of wrapping tokens: used, expired, unknown or no wrapping token at all. The pipeline
// and the room say it in the same words, or the difference would tell which of them it was.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code wrapping-token-invalid The wrapping token is not valid: used up, expired or never there.
 * @remedy If nobody of yours has unwrapped it, take its content as disclosed and have it made
 *   anew.
 */
export function wrappingInvalid(): Failure {
  const message = "wrapping token is not valid or does not exist";
  return new Failure("invalid", "wrapping-token-invalid", message);
}
