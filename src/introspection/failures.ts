// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code logger-unknown There is no log of this name.
 * @remedy List the names with `GET sys/loggers`.
 */
export function unknownLogger(): Failure {
  const message = "there is no log of this name; GET sys/loggers names them all";
  return new Failure("not-found", "logger-unknown", message);
}
