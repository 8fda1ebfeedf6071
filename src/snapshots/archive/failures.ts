// Every way an archive is refused. The texts say what is wrong and where, and quote nothing but names.

import { Failure } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";

/** It is the file that is wrong, not what somebody wants of it. */
export class ArchiveFailure extends Failure {
  constructor(code: string, message: string) {
    super("invalid", code, message);
    this.name = "ArchiveFailure";
  }
}

/** What is to be done with an archive, which says what can be done with one that does not open here. */
export type ArchiveUse = "restored" | "loaded";

const WAYS_OUT: Readonly<Record<ArchiveUse, string>> = {
  restored: "sys/storage/raft/snapshot-force restores it, to be unsealed with",
  loaded: "it cannot be loaded here, but on a server of its own into which it was restored with",
};

/**
 * @code snapshot-foreign The file is not a snapshot of Holdfast, or another program has packed it anew.
 * @remedy Give the file as it was downloaded.
 */
export function archiveForeign(what: string): ArchiveFailure {
  return new ArchiveFailure("snapshot-foreign", `this is not a snapshot of Holdfast: ${what}`);
}

/**
 * @code snapshot-truncated The snapshot ends before its end.
 * @remedy Download or copy it again; a whole one ends with SHA256SUMS.sealed.
 */
export function archiveTruncated(bytes: number, where: string): ArchiveFailure {
  const message = `the snapshot ends early: it has ${bytes} bytes and breaks off in ${where}`;
  return new ArchiveFailure("snapshot-truncated", message);
}

/**
 * @code snapshot-damaged Bytes of the snapshot are not those that were written.
 * @remedy Take another copy of it, or another snapshot.
 */
export function archiveDamaged(what: string): ArchiveFailure {
  return new ArchiveFailure("snapshot-damaged", `the snapshot is damaged: ${what}`);
}

/**
 * @code snapshot-members The archive does not have exactly the four files of a snapshot, in their order.
 * @remedy Give the file as it was downloaded.
 */
export function archiveMembers(what: string): ArchiveFailure {
  const message =
    `${what}; a snapshot has meta.json, state.bin, SHA256SUMS and SHA256SUMS.sealed, ` +
    "in this order and nothing else";
  return new ArchiveFailure("snapshot-members", message);
}

/**
 * @code snapshot-too-new A newer version of Holdfast has made the snapshot.
 * @remedy Use that version, or a later one.
 */
export function archiveTooNew(what: string, software: string): ArchiveFailure {
  const message =
    `the snapshot is of a later form than this version reads: ${what}` +
    (software === "" ? "" : `; Holdfast ${software} made it`);
  return new ArchiveFailure("snapshot-too-new", message);
}

/**
 * @code snapshot-changed The sums in the snapshot are not those that were sealed with it.
 * @remedy Take another copy of it, or another snapshot.
 */
export function sealedSumsDiffer(): ArchiveFailure {
  const message =
    "the snapshot was changed after it was made: the sums in it are not those that were sealed with it";
  return new ArchiveFailure("snapshot-changed", message);
}

/**
 * @code snapshot-before-rekey The root key was replaced after the snapshot was made, so its seal cannot be
 *   checked here.
 * @remedy Restore it with `holdfast snapshot restore -force`, here or on an empty machine, and unseal with the shares
 *   of its day; a newer snapshot needs neither.
 */
export function archiveBeforeRekey(
  created: Instant,
  replaced: Instant,
  use: ArchiveUse,
): ArchiveFailure {
  const message =
    `the snapshot of ${showTime(created)} does not open with today's root key, which dates from ` +
    `${showTime(replaced)}; ${WAYS_OUT[use]} the shares of its day`;
  return new ArchiveFailure("snapshot-before-rekey", message);
}

/**
 * @code snapshot-other-cluster The snapshot is of another cluster, whose root key is another one.
 * @remedy Restore it on an empty machine, or here with `holdfast snapshot restore -force` in the place of everything,
 *   and unseal with the shares of that cluster.
 */
export function archiveOfOtherCluster(
  cluster: string,
  created: Instant,
  use: ArchiveUse,
): ArchiveFailure {
  const message =
    `the snapshot of ${showTime(created)} is of another cluster (${cluster}) and does not open with this ` +
    `one's root key; ${WAYS_OUT[use]} that cluster's shares`;
  return new ArchiveFailure("snapshot-other-cluster", message);
}

/**
 * @code snapshot-not-opened The seal of the snapshot does not open, though it should with today's root key.
 * @remedy Take another copy of it, or another snapshot.
 */
export function archiveNotOpened(created: Instant): ArchiveFailure {
  const message =
    `the seal of the snapshot of ${showTime(created)} does not open with this cluster's root key: ` +
    "it was changed after it was made";
  return new ArchiveFailure("snapshot-not-opened", message);
}
