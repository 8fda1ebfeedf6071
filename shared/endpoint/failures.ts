// Every way this room refuses.

import { Failure } from "../failure.ts";

/**
 * @code field-invalid A field of the request has a value that is not accepted.
 * @remedy Correct the field that the text names; it says what is accepted.
 */
export function fieldInvalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}
