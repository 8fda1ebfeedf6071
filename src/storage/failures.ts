// Every way this room refuses.

import { Failure } from "../base/failure.ts";
import { hex, utf8 } from "../base/bytes.ts";
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
 * @remedy Run `holdfast operator init` once.
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
