// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code egp-paths-missing An EGP has no paths.
 * @remedy Give paths.
 */
export function egpPathsMissing(message: string): Failure {
  return new Failure("invalid", "egp-paths-missing", message);
}

/**
 * @code egp-path-invalid A path of an EGP is not valid.
 * @remedy Keep to what the text says.
 */
export function egpPathInvalid(message: string): Failure {
  return new Failure("invalid", "egp-path-invalid", message);
}
