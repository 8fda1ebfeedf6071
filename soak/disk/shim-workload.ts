// The program that shim-selftest.ts runs under the preload library: plain SQLite, no product code. A
// worker thread commits rows; the main thread, at most two rows behind, acknowledges each in ack.log
// and from time to time replaces a small file. It stops at the first error with status 3 and the message.
// Argument: a `Workload` as JSON.

import * as fs from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

export interface Workload {
  readonly directory: string;
  readonly commits: number;
  /** NORMAL does not sync the WAL at commit: the planted bug. */
  readonly synchronous: "FULL" | "NORMAL";
  /** Sync the directory after a rename; without it: the other planted bug. */
  readonly syncDirectory: boolean;
}

/** Rows between two replacements of the file "head". */
const HEAD_EVERY = 10;

interface Shared {
  readonly workload: Workload;
  readonly acknowledged: Int32Array; // [0] = the last row acknowledged
}

function commitRows({ workload, acknowledged }: Shared, done: (id: number) => void): void {
  const { directory, commits, synchronous } = workload;
  const database = new DatabaseSync(join(directory, "data.db"));
  // Checkpoints by our own hand: SQLite drops the errors of automatic ones.
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    PRAGMA wal_autocheckpoint = 0;
    CREATE TABLE row (id INTEGER PRIMARY KEY, body BLOB);
    CREATE TABLE twin (id INTEGER PRIMARY KEY)`);
  const row = database.prepare("INSERT INTO row VALUES (?, ?)");
  const twin = database.prepare("INSERT INTO twin VALUES (?)");
  for (let id = 1; id <= commits; id++) {
    database.exec("BEGIN IMMEDIATE");
    row.run(id, Buffer.alloc((id * 397) % 5000, id));
    twin.run(id);
    database.exec("COMMIT");
    done(id);
    // Otherwise a fast worker could be done before anything is acknowledged.
    for (let seen = 0; seen < id - 2; seen = Atomics.load(acknowledged, 0)) {
      Atomics.wait(acknowledged, 0, seen, 1000);
    }
    // Often, so that the WAL is reset and overwritten many times.
    if (id % 8 === 0) database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    if (id === commits >> 1) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  database.close();
}

function stop(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : "unknown error"}\n`);
  process.exit(3);
}

function acknowledge(workload: Workload): void {
  const { directory } = workload;
  const ack = fs.openSync(join(directory, "ack.log"), "a");
  const lock = new DatabaseSync(join(directory, "lock.db"));
  lock.exec("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE lock (id INTEGER)");

  const acknowledged = new Int32Array(new SharedArrayBuffer(4));
  const shared: Shared = { workload, acknowledged };
  const worker = new Worker(new URL(import.meta.url), { workerData: shared });
  worker.on("error", stop);
  worker.on("exit", () => lock.close());
  worker.on("message", (id: number) => {
    fs.writeSync(ack, `row ${id}\n`);
    Atomics.store(acknowledged, 0, id);
    Atomics.notify(acknowledged, 0);
    if (id % HEAD_EVERY !== 0) return;
    try {
      replaceHead(workload, id);
    } catch (error) {
      stop(error);
    }
    fs.writeSync(ack, `head ${id}\n`);
  });
}

function replaceHead({ directory, syncDirectory }: Workload, id: number): void {
  const temporary = join(directory, "head.new");
  const file = fs.openSync(temporary, "w", 0o600);
  fs.writeSync(file, `${id} `.repeat(500));
  fs.fsyncSync(file);
  fs.closeSync(file);
  fs.renameSync(temporary, join(directory, "head"));
  if (!syncDirectory) return;
  const folder = fs.openSync(directory, "r");
  fs.fsyncSync(folder);
  fs.closeSync(folder);
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  commitRows(workerData, (id) => port.postMessage(id));
} else {
  try {
    acknowledge(JSON.parse(process.argv[2] ?? ""));
  } catch (error) {
    stop(error);
  }
}
