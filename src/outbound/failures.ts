// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code endpoint-invalid An address to be called is not allowed.
 * @remedy Read the reason in the text; see docs/operations/outbound.md.
 */
export function endpointInvalid(field: string, why: string): Failure {
  return new Failure("invalid", "endpoint-invalid", `${field}: ${why}`);
}
