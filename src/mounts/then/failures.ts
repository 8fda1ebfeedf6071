// Why a loaded snapshot has nothing to say about a mount of today.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code snapshot-mount-absent The snapshot is from before the mount was made.
 * @remedy Load a later snapshot.
 */
export function noMountThen(path: string): Failure {
  const message = `the snapshot does not have the mount ${path}: it was made later`;
  return new Failure("invalid", "snapshot-mount-absent", message);
}

/**
 * @code snapshot-mount-replaced At the path of the mount the snapshot has another one, which was disabled since.
 * @remedy Restore the snapshot on another server to get at what that mount held.
 */
export function otherMountThen(path: string): Failure {
  const message =
    `the snapshot has another mount at ${path}, which was disabled since: what it held is not answered for the ` +
    "mount of today; restore the snapshot on another server to get at it";
  return new Failure("invalid", "snapshot-mount-replaced", message);
}

/**
 * @code snapshot-mount-leaving In the snapshot the mount was being moved or disabled.
 * @remedy Load an earlier or a later snapshot.
 */
export function mountLeavingThen(path: string): Failure {
  const message = `in the snapshot the mount ${path} was being moved or disabled; load another one`;
  return new Failure("invalid", "snapshot-mount-leaving", message);
}

/**
 * @code snapshot-mount-changed The options of the mount, such as the version of key/value, are other ones than in the snapshot.
 * @remedy Load a snapshot from after that change.
 */
export function mountChangedSince(path: string): Failure {
  const message =
    `the options of the mount ${path}, such as its version, are not those of the snapshot; load a snapshot from after ` +
    "that change";
  return new Failure("invalid", "snapshot-mount-changed", message);
}

/**
 * @code snapshot-read-only What a snapshot holds cannot be read without changing it.
 * @remedy Load another snapshot: this one was taken while the mount was being changed.
 */
export function snapshotNotWritten(): Failure {
  const message =
    "the snapshot was taken while this mount was being changed, and nothing in a snapshot is written; load another one";
  return new Failure("invalid", "snapshot-read-only", message);
}
