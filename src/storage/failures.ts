// Every way this room refuses.

import { Failure } from "../base/failure.ts";
import { hex, utf8 } from "../base/bytes.ts";
import { sha256 } from "./rows/merkle.ts";

export function storeLocked(): Failure {
  return new Failure("sealed", "store-locked", "service is sealed");
}

export function storeUninitialised(): Failure {
  return new Failure("uninitialised", "store-uninitialised", "service is not initialized");
}

export function alreadyInitialised(): Failure {
  return new Failure("invalid", "already-initialised", "service is already initialized");
}

export function storeClosed(): Failure {
  return new Failure("unavailable", "store-closed", "the storage is closed");
}

/** After the first storage error nothing is acknowledged; the cause is for the log, not for callers. */
export function storageFailed(cause: unknown): Failure {
  const message = "the storage failed; this server has stopped taking requests";
  return new Failure("unavailable", "storage-failed", message, { cause });
}

export function storageFull(freeBytes: number, reserveBytes: number): Failure {
  const message =
    `the storage is nearly full: ${freeBytes} bytes are free and ${reserveBytes} are kept in reserve; ` +
    "reads, deletions and revocations still work";
  return new Failure("unavailable", "storage-full", message);
}

export function headDamaged(detail: string): Failure {
  const message = `the head of the stored log is damaged (${detail}); restore a snapshot, or open with repair`;
  return new Failure("damaged", "storage-head-damaged", message);
}

/** The key is named by a digest: names are known to operators, but logs travel further than they do. */
export function entryMissing(key: string): Failure {
  const message = `stored entry ${digestOf(key)} is damaged: its row or its leaf has vanished`;
  return new Failure("damaged", "storage-entry-missing", message);
}

export function digestOf(key: string): string {
  return hex(sha256(utf8(key))).slice(0, 16);
}
