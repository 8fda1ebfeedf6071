// The form of a store in SQLite: tables, marks, and the settings that every connection runs under.
// A change here that an older server could not read raises FORMAT.

import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { storageForeign, storageFormatNewer } from "../failures.ts";

export const APPLICATION_ID = 0x484f4c44; // "HOLD"
export const FORMAT = 3;

const RECENT = "CREATE TABLE recent (id INTEGER PRIMARY KEY, sums BLOB NOT NULL) STRICT;";

/** Own tables, not one catch-all: each family keeps its own order and its own short keys. */
export const SCHEMA = `
  CREATE TABLE data (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE leaf (
    slot INTEGER NOT NULL, key TEXT NOT NULL, hash BLOB NOT NULL, scope BLOB NOT NULL,
    PRIMARY KEY (slot, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sum (slot INTEGER PRIMARY KEY, sum BLOB NOT NULL, count INTEGER NOT NULL) STRICT;
  ${RECENT}
  CREATE TABLE log (idx INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/**
 * From format 1, which wrote every sum to its place at once, and from format 2, whose leaves do not cover
 * the scope: those are made again when their key is there, but an older server must not add to them.
 */
export const RAISE = {
  1: `${RECENT} PRAGMA user_version = ${FORMAT};`,
  2: `PRAGMA user_version = ${FORMAT};`,
} as const;

export interface Use {
  readonly readOnly: boolean;
  /** Nobody else has it open and it has no log: SQLite makes no files beside it. Default false. */
  readonly still?: boolean;
  /** How long SQLite tries again when another connection is in the way. */
  readonly busyMs: number;
  readonly cacheKiB: number;
}

/** A connection that trusts neither the schema nor the cells it finds, and maps no memory. */
export function connect(path: string, use: Use): DatabaseSync {
  const db = new DatabaseSync(use.still === true ? immutable(path) : path, {
    readOnly: use.readOnly,
    timeout: use.busyMs,
    allowExtension: false,
    defensive: true,
    enableDoubleQuotedStringLiterals: false,
  });
  // With mmap a failing disk is a signal that kills the process instead of an error. What is
  // deleted is overwritten (secure_delete), but for copies in gaps of pages: generations/sqlite-gaps.ts; sorting never spills to a file (temp_store).
  // Checkpoints are ours to time (wal_autocheckpoint); see sqlite.ts.
  db.exec(`
    PRAGMA mmap_size = 0;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA cache_size = -${use.cacheKiB};
  `);
  return db;
}

function immutable(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return url;
}

export function pragma(db: DatabaseSync, name: string): unknown {
  return db.prepare(`PRAGMA ${name}`, { returnArrays: true }).get()?.[0];
}

/** Whether the store has no tables yet. Refuses what is not ours, and what a later version wrote. */
export function inspectFormat(db: DatabaseSync, path: string): "empty" | 1 | 2 | "ours" {
  const application = pragma(db, "application_id");
  const format = pragma(db, "user_version");
  if (application === APPLICATION_ID && format === FORMAT) return "ours";
  if (application === APPLICATION_ID && (format === 1 || format === 2)) return format;
  if (application === APPLICATION_ID && Number(format) > FORMAT) {
    const message =
      `${path} was written by a newer version of Holdfast (format ${String(format)}; this ` +
      `version reads format ${FORMAT}); start it with that version`;
    throw storageFormatNewer(message);
  }
  // A crash between making the file and making the tables leaves a database without anything.
  const made = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get();
  if (made === undefined && application === 0 && format === 0) return "empty";
  const message = `${path} is not a Holdfast store; choose another directory or move it away`;
  throw storageForeign(message);
}
