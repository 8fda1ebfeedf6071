// The program of the copier's thread: it copies SQLite's log into the database file while the writer goes on
// committing. It changes nothing that is read. After an error it does nothing more.

import { fsyncSync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "@holdfast/shared/invariant";
import { describeSqlite } from "./sqlite-failure.ts";
import { connect } from "./sqlite-format.ts";
import type { Reply, Request, ThreadOptions } from "./sqlite-thread.ts";

const CACHE_KIB = 64; // it reads no rows
const BUSY_MS = 0; // who reads is never waited for: what they still need is copied another time

function opened({ path, synchronous }: ThreadOptions): DatabaseSync {
  const db = connect(path, { readOnly: false, busyMs: BUSY_MS, cacheKiB: CACHE_KIB });
  db.exec(`
    PRAGMA synchronous = ${synchronous};
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
  `);
  return db;
}

const port = parentPort;
const options = workerData as ThreadOptions;
invariant(port !== null, "the copier is a program for a worker thread");
let db: DatabaseSync | null = null; // none before it is open, and none after an error
// Open until the thread ends: with the first file that is closed a process loses all locks that it has on it.
let file: number | null = null;
let before = 0; // pages copied of this log

function answer(doing: string, work: () => { logPages: number; copied: number }): void {
  let reply: Reply;
  try {
    reply = { kind: "done", ...work(), blocked: false };
  } catch (error) {
    db = null;
    reply = { kind: "failed", doing, reason: describeSqlite(error) };
  }
  port!.postMessage(reply);
}

answer("open", () => {
  db = opened(options);
  file = openSync(options.path, "r+");
  return { logPages: 0, copied: 0 };
});
port.on("message", ({ kind }: Request) => {
  answer("copy its log into the database", () => {
    invariant(db !== null, "the copier was asked after it had failed");
    if (kind === "leave") {
      db.close();
      return { logPages: 0, copied: 0 };
    }
    invariant(kind === "copy", "the copier copies and leaves, nothing else");
    const found = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
    const copied = Number(found?.["checkpointed"]);
    // Where something was committed meanwhile SQLite leaves it to whoever begins the log anew, and commits wait for that.
    if (copied !== before && options.synchronous === "FULL") fsyncSync(file!);
    before = copied;
    return { logPages: Number(found?.["log"]), copied };
  });
});
