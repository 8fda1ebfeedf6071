// The directory of a store: private to us, used by one process at a time, in a format we know. Nothing in an
// existing store is changed before all three are certain. Which generation in it is in use: generations/layout.ts.

import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { EMPTY } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { storageFileMissing, storageNotPrivate } from "../failures.ts";
import { handOver } from "../../base/forbidden.ts";
import type { Fs } from "@holdfast/shared/world";
import { EngineError, StorageLocked } from "./engine.ts";
import { DATABASE, directoryInUse, readLayout } from "../generations/layout.ts";
import { describeSqlite, reasonError } from "./sqlite-failure.ts";
import { connect, inspectFormat, type Use } from "./sqlite-format.ts";

const GROUP_OR_OTHERS = 0o077;
const OWNER = 0o600;
const SQLITE_READONLY_ROLLBACK = 776;
const SQLITE_BUSY = 5; // the low byte of its extended codes

export interface Place {
  readonly directory: string;
  /** Lets another process use the directory; harmless when it is done again. */
  release(): void;
}

/** The directory is ours alone until it is released. */
export function claimPlace(path: string, fs: Fs): Place {
  const directory = resolve(path); // an absolute path is never taken for a file: address
  fs.makeDirectory(directory);
  checkPrivate(fs, directory, "directory", "700");
  const lock = takeLock(fs, directory);
  const release = () => {
    if (lock.isOpen) lock.close();
  };
  return { directory, release };
}

/** The database of a directory that is ours, made if there is none. */
export function databaseIn(directory: string, fs: Fs): string {
  checkPrivate(fs, directory, "directory", "700");
  const database = join(directory, DATABASE);
  prepareDatabase(fs, database);
  return database;
}

/**
 * Whether a store is there. Throws what opening it would, but makes no file: what SQLite makes beside a log
 * that is to be read aside, a store that was looked at is as it was.
 */
export function lookAtPlace(path: string, fs: Fs): "absent" | "empty" | "there" {
  const directory = resolve(path);
  checkPrivate(fs, directory, "directory", "700");
  const lock = join(directory, "lock.db");
  const held = fs.info(lock) === null ? null : takeLock(fs, directory);
  try {
    const inUse = directoryInUse(directory, readLayout(fs, directory));
    checkPrivate(fs, inUse, "directory", "700");
    const database = join(inUse, DATABASE);
    const found = examineDatabase(fs, database, true);
    if (emptyDatabase(directory, fs) !== null) return "empty";
    return found || held !== null ? "there" : "absent";
  } finally {
    held?.close();
  }
}

/** The file of a store that holds none: a start that was interrupted at its very beginning leaves one, and so
 *  does a restore that went wrong. Null where it holds something, or is not there. */
export function emptyDatabase(path: string, fs: Fs): string | null {
  const directory = resolve(path);
  const database = join(directoryInUse(directory, readLayout(fs, directory)), DATABASE);
  return fs.info(database)?.size === 0 ? database : null;
}

function checkPrivate(fs: Fs, path: string, kind: "file" | "directory", mode: string): void {
  const info = fs.info(path);
  if (info === null) return;
  if (info.kind !== kind) {
    throw storageNotPrivate(`${path} is not a ${kind}`);
  }
  if (!info.ours) {
    const message = `${path} belongs to another user; ${handOver(path)} && chmod ${mode} ${path}`;
    throw storageNotPrivate(message);
  }
  if ((info.mode & GROUP_OR_OTHERS) !== 0) {
    const message =
      `${path} can be used by other users (mode ${info.mode.toString(8)}); ` +
      `make it private with: chmod ${mode} ${path}`;
    throw storageNotPrivate(message);
  }
  if ((info.mode & OWNER) !== OWNER) {
    const message = `${path} is closed to its owner (mode ${info.mode.toString(8)}); chmod ${mode} ${path}`;
    throw storageNotPrivate(message);
  }
}

/**
 * An exclusive transaction on a database of its own that is held until the end: the system drops
 * the lock with the process, however it dies, and SQLite knows of other holders in this process too.
 */
function takeLock(fs: Fs, directory: string): DatabaseSync {
  const path = join(directory, "lock.db");
  checkPrivate(fs, path, "file", "600");
  // SQLite creates the file, because creating it must not replace it: a process that came a moment
  // earlier would hold its lock on a file that no longer has the name. SQLite's mode is 0644.
  const umask = process.umask(GROUP_OR_OTHERS);
  let lock: DatabaseSync | null = null;
  try {
    lock = new DatabaseSync(path, { timeout: 0, allowExtension: false });
    // Nothing is ever written, so there is nothing to roll back: no journal beside it.
    lock.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    const reason = describeSqlite(error);
    if (((reason.code ?? 0) & 0xff) === SQLITE_BUSY) throw new StorageLocked(directory);
    throw new EngineError(`the storage failed to lock ${path}`, { cause: reasonError(reason) });
  } finally {
    process.umask(umask);
  }
}

/** Makes the file with its mode before SQLite opens it; SQLite gives its other files the same one. */
function prepareDatabase(fs: Fs, path: string): void {
  if (!examineDatabase(fs, path)) fs.replace(path, EMPTY);
}

/** Whether there is one. Throws when it, or what SQLite keeps beside it, cannot be used. */
function examineDatabase(fs: Fs, path: string, onlyLook = false): boolean {
  const log = `${path}-wal`;
  // Whoever looked into the store with SQLite as another user may have left these two.
  for (const file of [path, log, `${path}-shm`]) checkPrivate(fs, file, "file", "600");
  const info = fs.info(path);
  const size = info?.size ?? 0;
  // SQLite would delete the log of an empty database, and with it perhaps all that is left.
  const logged = fs.info(log)?.size ?? 0;
  if (size === 0 && logged > 0) {
    const message = `${path} is missing or empty, but its log ${log} is not; restore both`;
    throw storageFileMissing(message);
  }
  if (size > 0) inspect(path, onlyLook && logged === 0);
  return info !== null;
}

/** Read-only, so that a store that we refuse stays as it is: its log is not even copied over. */
function inspect(path: string, still: boolean): void {
  try {
    inspectAs(path, { readOnly: true, still });
  } catch (error) {
    if (error instanceof Failure) throw error;
    const reason = describeSqlite(error);
    // A crash while the tables were being made leaves a journal that must be rolled back first. Only
    // making a store writes one: a store in use has a write-ahead log instead.
    if (reason.code === SQLITE_READONLY_ROLLBACK)
      inspectAs(path, { readOnly: false, still: false });
    else
      throw new EngineError(`the storage failed to open ${path}`, { cause: reasonError(reason) });
  }
}

function inspectAs(path: string, how: Pick<Use, "readOnly" | "still">): void {
  const db = connect(path, { ...how, busyMs: 0, cacheKiB: 64 });
  try {
    inspectFormat(db, path);
  } finally {
    db.close();
  }
}
