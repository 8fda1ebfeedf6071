// Options that programs give. TypeScript checks them; programs in JavaScript are told here.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code option-invalid An option of the client is not known, or its value is not accepted.
 * @remedy Read in the text what is accepted.
 */
export function optionInvalid(message: string): Failure {
  return new Failure("invalid", "option-invalid", message);
}

/** Refuses an option that would be ignored: a misspelt timeout is none. */
export function checkOptions(options: unknown, known: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw optionInvalid(`options must be an object with ${known.join(", ")}`);
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw optionInvalid(`there is no option ${unknown}; there is ${known.join(", ")}`);
}
