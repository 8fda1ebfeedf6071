// Every way that loading a snapshot is refused, and using one that is loaded, beside what is wrong with an archive.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code snapshot-load-full As many snapshots are loaded, or being loaded, as may be at one time.
 * @remedy Unload one of them; `holdfast snapshot loaded` lists them.
 */
export function tooManyLoaded(max: number): Failure {
  const message = `${max} snapshots are loaded already: unload one with DELETE sys/storage/raft/snapshot-load/:id`;
  return new Failure("conflict", "snapshot-load-full", message);
}

/**
 * @code snapshot-not-loaded No snapshot with that id is loaded.
 * @remedy Load it again: one is unloaded after 72 hours, when the server seals or ends, and when a snapshot is restored.
 */
export function notLoaded(): Failure {
  const message =
    "no snapshot with that id is loaded: LIST sys/storage/raft/snapshot-load shows which are";
  return new Failure("not-found", "snapshot-not-loaded", message);
}

/**
 * @code snapshot-load-no-room The disk has no room for what a loaded snapshot becomes beside the data.
 * @remedy Make room on the disk of the data directory.
 */
export function noRoomToLoad(free: number, needed: number): Failure {
  const message =
    `there is no room to load the snapshot: ${free} bytes are free where the server keeps its files, and about ` +
    `${needed} are needed beside the data`;
  return new Failure("unavailable", "snapshot-load-no-room", message);
}

/**
 * @code snapshot-load-failed What a snapshot becomes when it is loaded could not be kept.
 * @remedy Look after the disk of the data directory; the log has the cause.
 */
export function notKept(cause: unknown): Failure {
  const message =
    "the snapshot could not be loaded: the disk does not take it, and the log says why";
  return new Failure("unavailable", "snapshot-load-failed", message, { cause });
}

/**
 * @code snapshot-other-keys Some data keys of the snapshot are other ones than those of this server, though its root key is the same.
 * @remedy Load it on the server that made it.
 */
export function otherKeys(): Failure {
  const message =
    "the data keys of the snapshot are not those of this server, though the root key is the same: load it on the " +
    "server that made it";
  return new Failure("invalid", "snapshot-other-keys", message);
}

/**
 * @code snapshot-load-not-whole The rows of the snapshot do not add up to what its maker had stored.
 * @remedy Take another copy of it, or another snapshot.
 */
export function notWhole(): Failure {
  const message = "the snapshot is damaged: its rows do not add up to what its maker had stored";
  return new Failure("invalid", "snapshot-load-not-whole", message);
}

/**
 * @code snapshot-namespace-absent The snapshot is from before the namespace was made.
 * @remedy Load a later snapshot.
 */
export function noNamespaceThen(path: string): Failure {
  const message = `the snapshot does not have the namespace ${path}/: it was made later`;
  return new Failure("invalid", "snapshot-namespace-absent", message);
}

/**
 * @code snapshot-load-interrupted The server sealed, or began to restore, while a snapshot was being loaded.
 * @remedy Load it again.
 */
export function loadingInterrupted(): Failure {
  const message = "the server came to rest while the snapshot was being loaded; load it again";
  return new Failure("unavailable", "snapshot-load-interrupted", message);
}

/**
 * @code snapshot-load-withheld A filter of the primary began to withhold something from this cluster while a snapshot was being loaded, which may hold it.
 * @remedy Load one that was taken since, or load it where everything is shared.
 */
export function loadingWithheld(): Failure {
  const message =
    "the primary began to withhold data from this cluster, and the snapshot that was being loaded may hold it; load one that was taken since";
  return new Failure("unavailable", "snapshot-load-withheld", message);
}
