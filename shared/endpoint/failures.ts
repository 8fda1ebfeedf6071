// Every way this room refuses.

import { Failure } from "../failure.ts";

/**
 * @code field-invalid A field of the request has a value that is not accepted.
 * @remedy Correct the field that the text names; it says what is accepted.
 */
export function fieldInvalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}

/**
 * @code field-given-twice A field stands in the body and in the query.
 * @remedy Give it once.
 */
export function fieldTwice(): Failure {
  const message = "a field is given in the body and in the query; give it once";
  return new Failure("invalid", "field-given-twice", message);
}

export function notASwitch(name: string): Failure {
  const message = `${name} must be true or false, or stand in the query without a value`;
  return new Failure("invalid", "field-invalid", message);
}
