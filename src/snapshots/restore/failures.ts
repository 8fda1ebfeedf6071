// Every way that a restore is refused, beside what is wrong with an archive.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code restore-running A snapshot is being restored already.
 * @remedy Wait until that is over; sys/storage/raft/restore-status tells how far it is.
 */
export function restoreRunning(): Failure {
  const message =
    "a snapshot is being restored already; sys/storage/raft/restore-status tells how far it is";
  return new Failure("conflict", "restore-running", message);
}

/**
 * @code restore-made-way Who has no token makes way for who has one.
 * @remedy Restore with a token, by sys/storage/raft/snapshot or sys/storage/raft/snapshot-force.
 */
export function makesWay(): Failure {
  const message = "somebody with a token restores a snapshot: what came without one has made way";
  return new Failure("conflict", "restore-made-way", message);
}

/**
 * @code restore-no-room The disk has no room for the snapshot and the data that is made of it, beside the data there is.
 * @remedy Make room on the disk of the data directory.
 */
export function noRoomToRestore(free: number, needed: number): Failure {
  const message =
    `there is no room to restore: ${free} bytes are free where the server keeps its data, and about ` +
    `${needed} are needed beside the data there is`;
  return new Failure("unavailable", "restore-no-room", message);
}

/**
 * @code restore-other-keys Some data keys of the snapshot are other ones than those of this server, though its root key is the same.
 * @remedy Restore it with sys/storage/raft/snapshot-force and unseal with the shares of its day.
 */
export function otherDataKeys(): Failure {
  const message =
    "the data keys of the snapshot are not those of this server, though the root key is the same; " +
    "sys/storage/raft/snapshot-force restores it, to be unsealed with the shares of its day";
  return new Failure("invalid", "restore-other-keys", message);
}

/**
 * @code restore-initialised Only a server that is not initialised takes a snapshot from who has no token.
 * @remedy Use sys/storage/raft/snapshot, or sys/storage/raft/snapshot-force, with a token.
 */
export function alreadyInitialised(): Failure {
  const message =
    "the server is initialised: use sys/storage/raft/snapshot or snapshot-force with a token";
  return new Failure("invalid", "restore-initialised", message);
}

/**
 * @code restore-not-allowed Who restores into a server that is not initialised is on its machine, or sends the secret that it keeps.
 * @remedy Call it on its own machine, or send the content of <data_dir>/server/restore-secret in X-Service-Restore-Secret.
 */
export function notAllowed(): Failure {
  const message =
    "restoring into a server that is not initialised is for callers on its machine, or with the content of " +
    "restore-secret, in the directory server below its data_dir, in the header X-Service-Restore-Secret";
  return new Failure("denied", "restore-not-allowed", message);
}

/**
 * @code restore-not-whole The rows of the snapshot do not add up to what its maker had stored.
 * @remedy Take another copy of it, or another snapshot.
 */
export function notWhole(): Failure {
  const message = "the snapshot is damaged: its rows do not add up to what its maker had stored";
  return new Failure("invalid", "restore-not-whole", message);
}

/**
 * @code restore-changed What was received is not what is read back from the disk.
 * @remedy Look after the disk, and restore again.
 */
export function spoolChanged(): Failure {
  const message = "what is read back from the disk is not what was received";
  return new Failure("damaged", "restore-changed", message);
}

/**
 * @code restore-secondary Nothing is restored on a secondary: the data there, or what is shared of it, is its primary's.
 * @remedy Restore on the primary, and the secondaries follow; or promote or disable this one first.
 */
export function notOnSecondary(): Failure {
  const message =
    "this cluster leaves its data, or what is shared of it, to another one: restore on the primary, or promote or disable " +
    "this one first";
  return new Failure("invalid", "restore-secondary", message);
}
