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

/**
 * @code peer-sealed A cluster answers at the address of a peer, and is sealed.
 * @remedy Unseal it there; whoever takes over instead keeps it sealed, or stops it.
 */
export function peerSealed(options?: ErrorOptions): Failure {
  return new Failure("unavailable", "peer-sealed", "the cluster there is sealed", options);
}

/**
 * @code peer-other Something answers at the address of a peer, and does not prove to be one of the set.
 * @remedy Look what runs there: another server, something in front of it, or a cluster that has left the set.
 */
export function peerOther(message: string, options?: ErrorOptions): Failure {
  return new Failure("unavailable", "peer-other", message, options);
}
