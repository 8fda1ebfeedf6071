// Every way this folder refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code cluster-key-weak The public key of a secondary is not of the kind that is signed.
 * @remedy Let the secondary make its key; it is on the curve P-521.
 */
export function weakKey(): Failure {
  return new Failure(
    "invalid",
    "cluster-key-weak",
    "the public key must be one of the curve P-521",
  );
}

/**
 * @code peer-refused A peer of the cluster port is not who it should be, or does not answer as one.
 * @remedy Look at the address, and whether both sides belong to the same replication set.
 */
export function peerRefused(message: string, options?: ErrorOptions): Failure {
  return new Failure("unavailable", "peer-refused", message, options);
}
