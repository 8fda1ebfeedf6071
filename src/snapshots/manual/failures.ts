// Every way that taking and checking a snapshot is refused, beside what is wrong with an archive.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code snapshot-busy As many snapshots are being downloaded, or checked, as may be at one time.
 * @remedy Try again when one of them is done.
 */
export function snapshotsBusy(max: number, what: "downloaded" | "checked"): Failure {
  const message = `${max} snapshots are being ${what} already; try again when one is done`;
  return new Failure("unavailable", "snapshot-busy", message, { retryAfter: 30 });
}

/**
 * @code snapshot-no-room The disk has no room for a snapshot beside the data.
 * @remedy Make room on the disk of the data directory, or take the snapshot before it is that full.
 */
export function noRoomForSnapshot(free: number, kept: number): Failure {
  const message =
    `there is no room for a snapshot: ${free} bytes are free where the server keeps its files, and ` +
    `${kept} stay free for the data`;
  return new Failure("unavailable", "snapshot-no-room", message);
}

/**
 * @code snapshot-body-missing A snapshot is to be sent as the body, and none was.
 * @remedy Send the file as it was downloaded, with Content-Type application/gzip.
 */
export function archiveMissing(): Failure {
  const message = "send the snapshot as the body of the request, as it was downloaded";
  return new Failure("invalid", "snapshot-body-missing", message);
}
