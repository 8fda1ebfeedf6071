// Refusals of cubbyholes.

import { Failure } from "@holdfast/shared/failure";

export function absent(): Failure {
  return new Failure("not-found", "not-found", "there is nothing here", { texts: [] });
}

/**
 * @code options-unknown A cubbyhole takes no options.
 * @remedy Leave them out.
 */
export function noOptions(): Failure {
  return new Failure("invalid", "options-unknown", "a cubbyhole takes no options");
}
