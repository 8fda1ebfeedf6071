// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";
import { hex, utf8 } from "@holdfast/shared/bytes";
import { sha256 } from "./rows/merkle.ts";

/**
 * @code store-locked The server is sealed.
 * @remedy Unseal it.
 */
export function storeLocked(): Failure {
  return new Failure("sealed", "store-locked", "service is sealed");
}

/**
 * @code store-uninitialised The server is not initialised.
 * @remedy Run `holdfast operator init` once if it is new; if not, mount its disk.
 */
export function storeUninitialised(): Failure {
  return new Failure("uninitialised", "store-uninitialised", "service is not initialized");
}

/**
 * @code already-initialised The server is initialised already.
 * @remedy Unseal it with the shares of that time.
 */
export function alreadyInitialised(): Failure {
  return new Failure("invalid", "already-initialised", "service is already initialized");
}

/**
 * @code store-closed The store is closed, because the server stops.
 * @remedy Try again when it is up.
 */
export function storeClosed(): Failure {
  return new Failure("unavailable", "store-closed", "the storage is closed");
}

/**
 * @code store-following This node follows another one and takes no writes of its own.
 * @remedy Send the request to the node that leads.
 */
export function storeFollowing(): Failure {
  const message =
    "this node follows another one: of its own it takes only rows that stay with it; " +
    "write on the node that leads";
  return new Failure("unavailable", "store-following", message);
}

/**
 * @code shared-write-refused The server was about to write shared data that only the primary of its performance set writes. Nothing was changed.
 * @remedy Send the request to the primary, and report this: the server should have forwarded it.
 */
export function sharedElsewhere(): Failure {
  const message =
    "shared data is written by the primary of the performance set alone, and nothing was changed; " +
    "write it there";
  return new Failure("internal", "shared-write-refused", message);
}

/**
 * @code store-leading Log entries of another node were sent to one that leads.
 * @remedy Let this node follow first.
 */
export function storeLeading(): Failure {
  const message = "this node leads: it takes no log entries of another one until it follows";
  return new Failure("conflict", "store-leading", message);
}

// --- what was committed elsewhere and does not fit here: nothing of its group is applied ---

/**
 * @code log-entry-malformed What was sent as a log entry is none.
 * @remedy Send it again; if that does not help, compare the versions of both nodes.
 */
export function entryMalformed(index: bigint): Failure {
  const message = `what was sent as log entry ${index} is no log entry`;
  return new Failure("invalid", "log-entry-malformed", message);
}

/**
 * @code log-gap Log entries between the last one here and the one sent are missing.
 * @remedy Send from the next one on, which the message names.
 */
export function entryGap(found: bigint, next: bigint): Failure {
  const message = `log entry ${found} does not follow: the next one here is ${next}`;
  return new Failure("behind", "log-gap", message);
}

/**
 * @code log-replayed The log entry that was sent is here already.
 * @remedy Go on with the next one, which the message names.
 */
export function entryReplayed(found: bigint, next: bigint): Failure {
  const message = `log entry ${found} is here already: the next one is ${next}`;
  return new Failure("conflict", "log-replayed", message);
}

/**
 * @code log-forked The log entry that was sent belongs to another log than the one here.
 * @remedy Find out which of the two nodes is to be kept, and copy the other anew.
 */
export function entryForked(index: bigint): Failure {
  const message = `log entry ${index} belongs to another log: it does not continue the one here`;
  return new Failure("conflict", "log-forked", message);
}

/**
 * @code log-trees-differ After the same log entries the hash trees of both nodes differ: one of them has damaged rows.
 * @remedy Check the storage of both nodes.
 */
export function treesDiffer(index: bigint): Failure {
  const message = `after log entry ${index} the hash trees here are not those of the sender`;
  return new Failure("conflict", "log-trees-differ", message);
}

/**
 * @code log-proof-missing A sealed node was sent log entries without their leaves or the head after them.
 * @remedy Send both, or unseal the node.
 */
export function proofMissing(index: bigint): Failure {
  const message =
    `log entry ${index} came without its leaves or without the head after it: ` +
    "a sealed node cannot make them and needs both";
  return new Failure("invalid", "log-proof-missing", message);
}

/**
 * @code log-group-too-large More log entries or rows were sent together than the storage takes at once.
 * @remedy Send fewer at once.
 */
export function groupTooLarge(operations: number, bytes: number): Failure {
  const message = `what others have written is taken over up to ${operations} operations and ${bytes} bytes at once; send less`;
  return new Failure("too-large", "log-group-too-large", message);
}

/**
 * @code log-control-unknown A log entry holds a control record that this version does not know.
 * @remedy Upgrade this node.
 */
export function controlUnknown(index: bigint, type: number): Failure {
  const message = `log entry ${index} has a control record of type ${type}, which this version does not know`;
  return new Failure("unsupported", "log-control-unknown", message);
}

/**
 * @code log-control-unreadable A control record does not open with the keys of this node.
 * @remedy Give this node the present keys of the one it follows.
 */
export function controlUnreadable(index: bigint): Failure {
  const message = `the control record of log entry ${index} cannot be read with the keys of this node`;
  return new Failure("conflict", "log-control-unreadable", message);
}

// --- taking over another cluster's state ---

/**
 * @code store-half-adopted This node has taken over only a part of another cluster's data.
 * @remedy Connect it to its primary again, and let it fetch the rest.
 */
export function storeHalfAdopted(): Failure {
  const message =
    "this node has taken over only a part of another cluster's data; " +
    "it goes on when it has fetched the rest from there";
  return new Failure("unavailable", "store-half-adopted", message);
}

/**
 * @code adoption-not-begun Rows of another cluster were sent to a node that does not take any over.
 * @remedy Begin with the head of that cluster.
 */
export function adoptionNotBegun(): Failure {
  const message = "no state of another cluster is being taken over here: begin with its head";
  return new Failure("conflict", "adoption-not-begun", message);
}

/**
 * @code adoption-anchor-refused What was sent as the head of another cluster's log was not made with the keys of this one.
 * @remedy Give this node the present keys of the cluster that it follows.
 */
export function anchorRefused(detail: string): Failure {
  const message = `the head of the other cluster's log cannot be taken over: ${detail}`;
  return new Failure("conflict", "adoption-anchor-refused", message);
}

/**
 * @code adoption-row-refused A row that was sent is none that may be taken over.
 * @remedy Compare the versions of both clusters.
 */
export function adoptedRowRefused(detail: string): Failure {
  const message = `a row of the other cluster cannot be taken over: ${detail}`;
  return new Failure("invalid", "adoption-row-refused", message);
}

/**
 * @code log-rewind-refused The log cannot be cut back to where it was to be.
 * @remedy Let this node compare its data with that of its primary.
 */
export function rewindRefused(detail: string): Failure {
  return new Failure("conflict", "log-rewind-refused", `the log cannot be cut back: ${detail}`);
}

/**
 * After the first storage error nothing is acknowledged; the cause is for the log, not for callers.
 * @code storage-failed The storage failed, and the server has stopped taking requests.
 * @remedy Look at disk and file system; the server exits and is to be started again.
 */
export function storageFailed(cause: unknown): Failure {
  const message = "the storage failed; this server has stopped taking requests";
  return new Failure("unavailable", "storage-failed", message, { cause });
}

/**
 * @code storage-full The disk is nearly full, so nothing new is written.
 * @remedy Make room; reads, deletions and revocations still work.
 */
export function storageFull(freeBytes: number, reserveBytes: number): Failure {
  const message =
    `the storage is nearly full: ${freeBytes} bytes are free and ${reserveBytes} are kept in reserve; ` +
    "reads, deletions and revocations still work";
  return new Failure("unavailable", "storage-full", message);
}

/**
 * @code storage-head-damaged The end of the stored log is damaged.
 * @remedy Restore a backup.
 */
export function headDamaged(detail: string): Failure {
  const message = `the head of the stored log is damaged (${detail}); restore a snapshot, or open with repair`;
  return new Failure("damaged", "storage-head-damaged", message);
}

/**
 * The key is named by a digest: names are known to operators, but logs travel further than they do.
 * @code storage-entry-missing A stored entry has vanished.
 * @remedy Find what touched the disk, then restore a backup.
 */
export function entryMissing(key: string): Failure {
  const message = `stored entry ${digestOf(key)} is damaged: its row or its leaf has vanished`;
  return new Failure("damaged", "storage-entry-missing", message);
}

export function digestOf(key: string): string {
  return hex(sha256(utf8(key))).slice(0, 16);
}

/**
 * @code storage-format-newer The store was written by a newer version.
 * @remedy Start it with that version.
 */
export function storageFormatNewer(message: string): Failure {
  return new Failure("invalid", "storage-format-newer", message);
}

/**
 * @code storage-foreign The file is no store of this server.
 * @remedy Choose another directory, or move the file away.
 */
export function storageForeign(message: string): Failure {
  return new Failure("invalid", "storage-foreign", message);
}

/**
 * @code storage-not-private A file or directory of the store can be used by others, or is of the
 *   wrong kind.
 * @remedy Set owner and mode as the text says.
 */
export function storageNotPrivate(message: string): Failure {
  return new Failure("invalid", "storage-not-private", message);
}

/**
 * @code storage-file-missing The database is missing while its log is there.
 * @remedy Restore both from a backup.
 */
export function storageFileMissing(message: string): Failure {
  return new Failure("damaged", "storage-file-missing", message);
}

/**
 * @code storage-generation-unclear It is not clear which generation of the store is in use.
 * @remedy Do as the text says: keep the one that is meant, and move the others away.
 */
export function generationUnclear(message: string): Failure {
  return new Failure("damaged", "storage-generation-unclear", message);
}

/**
 * @code storage-copy-changed What was restored is not what the snapshot was made of: somebody has changed it, before or since.
 * @remedy Restore another copy of the snapshot, or another snapshot.
 */
export function copyChanged(): Failure {
  const message = "what was restored does not add up to what the snapshot was made of";
  return new Failure("damaged", "storage-copy-changed", message);
}

/**
 * @code storage-key-too-long A name is too long to be stored.
 * @remedy Use a shorter path.
 */
export function storageKeyTooLong(message: string): Failure {
  return new Failure("too-large", "storage-key-too-long", message);
}

/**
 * @code storage-entry-too-large A value is too large to be stored.
 * @remedy Divide it.
 */
export function storageEntryTooLarge(message: string): Failure {
  return new Failure("too-large", "storage-entry-too-large", message);
}

/**
 * @code storage-transaction-too-large One change touches more than can be stored at once.
 * @remedy Divide the request.
 */
export function storageTransactionTooLarge(message: string): Failure {
  return new Failure("too-large", "storage-transaction-too-large", message);
}
