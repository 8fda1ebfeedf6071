// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code barrier-sealed The server is sealed and has no keys.
 * @remedy Unseal it.
 */
export function barrierSealed(): Failure {
  return new Failure("sealed", "barrier-sealed", "service is sealed");
}

/**
 * Keys are being forgotten: they cannot be brought back before that is done.
 * @code barrier-sealing The server is being sealed.
 * @remedy Try again when it is unsealed.
 */
export function barrierSealing(): Failure {
  return new Failure("unavailable", "barrier-sealing", "service is being sealed; try again");
}

/**
 * Nothing is sealed that a crash would make us forget to count.
 * @code barrier-count-not-stored The count of encryptions could not be stored, so nothing more is
 *   encrypted for now.
 * @remedy Try again; if it stays, look at disk space and storage errors in the log.
 */
export function countNotStored(): Failure {
  const message = "the count of encryptions could not be stored yet; try again";
  return new Failure("unavailable", "barrier-count-not-stored", message);
}

/**
 * @code barrier-inactive This node reads only: another one of its cluster is active, or nothing has made it so.
 * @remedy Send the request to the active node.
 */
export function barrierInactive(): Failure {
  const message = "this node is not the active one and stores nothing; ask the active node";
  return new Failure("unavailable", "barrier-inactive", message);
}

/**
 * @code barrier-root-key-replaced The root key was replaced while this node was not active.
 * @remedy Seal and unseal this node with the present shares.
 */
export function rootKeyReplaced(): Failure {
  const message = "the root key was replaced since this node was unsealed; seal and unseal it";
  return new Failure("unavailable", "barrier-root-key-replaced", message);
}

/**
 * One text for every cause: wrong tag, another path, an unknown term, cut short.
 * @code barrier-entry-damaged A stored entry does not open: it was changed outside the server.
 * @remedy Find what touched the disk, then restore a backup.
 */
export function entryDamaged(pathDigest: string): Failure {
  const message = `stored entry ${pathDigest} is damaged: it does not open`;
  return new Failure("damaged", "barrier-entry-damaged", message);
}

/**
 * @code barrier-key-missing Another cluster has sealed it under a key that is not here yet.
 * @remedy Nothing needs to be done: the key is asked for.
 */
export function keyMissing(): Failure {
  const message = "it is sealed under a key that is not here yet; the key is asked for";
  return new Failure("unavailable", "barrier-key-missing", message);
}

/**
 * @code barrier-keyring-damaged The stored keyring cannot be read.
 * @remedy Restore a backup.
 */
export function keyringDamaged(): Failure {
  const message = "the stored keyring is damaged; restore it from a snapshot";
  return new Failure("damaged", "barrier-keyring-damaged", message);
}

/**
 * @code rotation-out-of-range The terms for rotating the encryption key are out of range.
 * @remedy Use the range that the text gives.
 */
export function rotationOutOfRange(min: number, max: number): Failure {
  const message = `max_operations must be from ${min} to ${max}, and interval 0 or at least 24h`;
  return new Failure("invalid", "rotation-out-of-range", message);
}

/**
 * @code barrier-keys-behind The keys that another cluster has sent are older than those that are here.
 * @remedy Wait for the next ones; if it stays, look whether an old primary is still answering.
 */
export function keysBehind(): Failure {
  const message = "the keys of the other cluster are older than those that are here";
  return new Failure("conflict", "barrier-keys-behind", message);
}

/**
 * @code barrier-keys-apart Keys were replaced on two clusters independently of each other.
 * @remedy Enable this cluster as a secondary anew, which replaces its data.
 */
export function keysApart(): Failure {
  const message = "the keys of the other cluster are not a continuation of those that are here";
  return new Failure("conflict", "barrier-keys-apart", message);
}
