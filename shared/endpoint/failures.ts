// Every way this room refuses.

import { Failure, type FailureOptions } from "../failure.ts";

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

const ELSEWHERE = "engine-writes-elsewhere";

/**
 * It would write what another cluster writes, and has changed nothing: the request is sent there.
 * @code engine-writes-elsewhere A request would write what another region writes, and it could not be sent there.
 * @remedy Ask the region that writes it.
 */
export class WrittenElsewhere extends Failure {
  constructor(options?: FailureOptions) {
    super(
      "unavailable",
      ELSEWHERE,
      "another region writes what this request would change",
      options,
    );
  }
}

export function isWrittenElsewhere(error: unknown): boolean {
  return error instanceof Failure && error.code === ELSEWHERE;
}
