// The program of the writer's thread: the only connection that writes. It lives apart so that a slow
// disk never holds up the event loop. It answers each request once, in order; after an error it
// does nothing more.

import { rmSync } from "node:fs";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { CommitConflict, type Batch } from "./engine.ts";
import { equalBytes } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { PackedBatch } from "./sqlite-batch.ts";
import { describeSqlite } from "./sqlite-failure.ts";
import { PageGaps } from "../generations/sqlite-gaps.ts";
import { connect, inspectFormat, pragma, RAISE, SCHEMA } from "./sqlite-format.ts";
import { inOrderOfSlots, latestSums, packSums } from "./sqlite-sums.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Reply, Request, ThreadOptions } from "./sqlite-thread.ts";
import { type Parts, WaitingSums } from "./waiting-sums.ts";

// Applying 64 transactions to a store of 100,000 rows (medians of five runs): 1.8 ms with 2 MiB, 1.5
// with 8, 1.2 with 16, 1.2 with 64.
const CACHE_KIB = 16 * 1024;
// Sums go to their places once for so many: the table has 1,500 pages, and all of them are changed.
const MAX_RECENT = 32_768;
const FORGOTTEN = 256; // rows of `recent` that go with one commit when what they say is in its places
// Many sums that lie close together, ten of 80 on each page, go to their places in one commit for little.
const MIN_CLOSE = 256;
const MAX_SPREAD = 8; // slots for each sum
const BUSY_MS = 5000; // somebody looking at the file with another tool
const SYNCHRONOUS = { NORMAL: 1, FULL: 2 } as const;

class SqliteWriter {
  readonly #db: DatabaseSync;
  readonly #path: string;
  #gaps: PageGaps | null = null;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  readonly #meta: StatementSync;
  readonly #logSize: StatementSync;
  readonly #waiting = new WaitingSums();
  /** On their way: `parts` null when all are in their places, and the rows of `recent` up to `last` may go. */
  #placing: { parts: Parts | null; readonly last: number } | null = null;
  readonly #recent: StatementSync;
  readonly #lastRecent: StatementSync;
  readonly #forgetRecent: StatementSync;
  readonly #forgetSome: StatementSync;
  readonly #oldRecent: StatementSync;
  readonly #put: Record<
    "data" | "leaf" | "freshLeaf" | "sum" | "recent" | "log" | "meta",
    StatementSync
  >;
  readonly #delete: Record<"data" | "leaf" | "logAbove" | "logBelow" | "meta", StatementSync>;

  constructor({ path, synchronous }: ThreadOptions) {
    const db = connect(path, { readOnly: false, busyMs: BUSY_MS, cacheKiB: CACHE_KIB });
    this.#db = db;
    this.#path = path;
    // On macOS a plain sync leaves data in the drive's cache; elsewhere fullfsync changes nothing.
    db.exec(`
      PRAGMA auto_vacuum = NONE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${synchronous};
      PRAGMA fullfsync = ON;
      PRAGMA checkpoint_fullfsync = ON;
    `);
    // A pragma that cannot be obeyed is passed over in silence, so both are read back.
    invariant(pragma(db, "journal_mode") === "wal", "SQLite refused WAL mode");
    invariant(pragma(db, "synchronous") === SYNCHRONOUS[synchronous], "SQLite refused to sync");
    const format = inspectFormat(db, path);
    if (format !== "ours")
      db.exec(`BEGIN IMMEDIATE; ${format === "empty" ? SCHEMA : RAISE[format]} COMMIT`);

    const prepare = (sql: string) => {
      const statement = db.prepare(sql);
      // Every run() reports the connection's last rowid, which is a log index, and throws if that
      // does not fit what it is reported as.
      statement.setReadBigInts(true);
      return statement;
    };
    this.#begin = prepare("BEGIN IMMEDIATE");
    this.#commit = prepare("COMMIT");
    this.#rollback = prepare("ROLLBACK");
    this.#meta = prepare("SELECT value FROM meta WHERE name = ?");
    this.#logSize = prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#recent = prepare("SELECT sums FROM recent ORDER BY id");
    this.#lastRecent = prepare("SELECT coalesce(max(id), 0) AS last FROM recent");
    this.#forgetRecent = prepare("DELETE FROM recent");
    this.#oldRecent = prepare("SELECT id FROM recent WHERE id <= ? LIMIT 1");
    this.#forgetSome = prepare(
      "DELETE FROM recent WHERE id IN (SELECT id FROM recent WHERE id <= ? ORDER BY id LIMIT ?)",
    );
    this.#put = {
      data: prepare("REPLACE INTO data (key, value) VALUES (?, ?)"),
      leaf: prepare("REPLACE INTO leaf (slot, key, hash, scope) VALUES (?, ?, ?, ?)"),
      freshLeaf: prepare("INSERT INTO leaf (slot, key, hash, scope) VALUES (?, ?, ?, ?)"),
      sum: prepare("REPLACE INTO sum (slot, sum, count) VALUES (?, ?, ?)"),
      recent: prepare("INSERT INTO recent (sums) VALUES (?)"),
      log: prepare("REPLACE INTO log (idx, entry) VALUES (?, ?)"),
      meta: prepare("REPLACE INTO meta (name, value) VALUES (?, ?)"),
    };
    this.#delete = {
      data: prepare("DELETE FROM data WHERE key = ?"),
      leaf: prepare("DELETE FROM leaf WHERE slot = ? AND key = ?"),
      logAbove: prepare("DELETE FROM log WHERE idx > ?"),
      logBelow: prepare("DELETE FROM log WHERE idx < ?"),
      meta: prepare("DELETE FROM meta WHERE name = ?"),
    };
  }

  commit(batch: PackedBatch): void {
    this.#begin.run();
    if (!this.#asExpected(batch.expect)) {
      this.#rollback.run();
      throw new CommitConflict();
    }
    this.#apply(batch);
    this.#placeSome();
    this.#commit.run();
  }

  /** Copies the log into the database file. True when a reader kept the log from being reused. */
  checkpoint(mode: "RESTART" | "TRUNCATE"): boolean {
    // Without waiting: who holds a view may hold it for minutes, and commits queue behind this.
    this.#db.exec("PRAGMA busy_timeout = 0");
    const blocked = this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.["busy"] !== 0;
    this.#db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    return blocked;
  }

  /** What was removed lies in no gap of a page: the log was copied, and is empty. */
  wipeGaps(): void {
    this.#gaps ??= new PageGaps(this.#path);
    this.#gaps.wipe();
    this.#db.exec("PRAGMA shrink_memory"); // pages in memory have it still
  }

  /** Writes all sums that changed since the last time to their places. What reads see stays the same. */
  placeSums(): void {
    this.#begin.run();
    const recent = this.#recent.all().map(({ sums }) => sums);
    const latest = latestSums(recent.filter((sums) => sums instanceof Uint8Array));
    for (const { slot, sum, count } of inOrderOfSlots(latest.values())) {
      this.#put.sum.run(slot, sum, count);
    }
    this.#forgetRecent.run();
    this.#commit.run();
    this.#waiting.take();
    this.#placing = null;
  }

  logPages(): number {
    return Number(this.#logSize.get()?.["log"]);
  }

  /** What keys are kept under, and the keys themselves: whoever finds the blocks of the file finds zeros. */
  forgetKeys(): void {
    this.#db.exec(
      "UPDATE data SET value = zeroblob(length(value)) WHERE key >= 'core/' AND key < 'core0'",
    );
  }

  close(): void {
    this.placeSums();
    this.checkpoint("TRUNCATE");
    this.#db.close();
    this.#gaps?.close();
  }

  #asExpected({ name, value }: Batch["expect"]): boolean {
    const found = this.#meta.get(name)?.["value"];
    if (value === null) return found === undefined;
    return found instanceof Uint8Array && equalBytes(found, value);
  }

  #apply(batch: PackedBatch): void {
    const { data, leaf, freshLeaf, log, meta } = this.#put;
    for (const row of batch.data()) {
      if (row.value === null) this.#delete.data.run(row.key);
      else data.run(row.key, row.value);
    }
    for (const row of batch.leaves()) {
      if (row.leaf === null) this.#delete.leaf.run(row.slot, row.key);
      else (row.fresh ? freshLeaf : leaf).run(row.slot, row.key, row.leaf.hash, row.leaf.scope);
    }
    this.#applySums(batch.sums());
    const cutLogAbove = batch.place();
    if (cutLogAbove !== null) this.#delete.logAbove.run(cutLogAbove);
    for (const row of batch.log()) log.run(row.index, row.entry);
    const trimLogBelow = batch.place();
    if (trimLogBelow !== null) this.#delete.logBelow.run(trimLogBelow);
    for (const row of batch.meta()) {
      if (row.value === null) this.#delete.meta.run(row.name);
      else meta.run(row.name, row.value);
    }
  }

  /** A store that is being filled brings them in order: where nothing else waits they go to their places at once. */
  #applySums(sums: Batch["sums"]): void {
    if (sums.length === 0) return;
    if (this.#waiting.count === 0 && this.#placing === null && areClose(sums)) {
      for (const { slot, sum, count } of sums) this.#put.sum.run(slot, sum, count);
      return;
    }
    const packed = packSums(sums);
    this.#put.recent.run(packed);
    this.#waiting.add(packed);
  }

  /** One step: until the last one `recent` says the same, and what comes meanwhile is in later rows of it. */
  #placeSome(): void {
    if (this.#placing === null) {
      if (this.#waiting.count <= MAX_RECENT) return;
      const last = Number(this.#lastRecent.get()?.["last"]);
      this.#placing = { parts: this.#waiting.take(), last };
    }
    const rows = this.#placing.parts?.next() ?? null;
    if (rows !== null) {
      for (const { slot, sum, count } of rows) this.#put.sum.run(slot, sum, count);
      return;
    }
    this.#placing.parts = null;
    const { last } = this.#placing;
    this.#forgetSome.run(last, FORGOTTEN);
    // With the last of them it is over at once: in a table without rows numbers begin anew.
    if (this.#oldRecent.get(last) === undefined) this.#placing = null;
  }
}

function areClose(sums: Batch["sums"]): boolean {
  const [first, last] = [sums[0], sums.at(-1)];
  if (first === undefined || last === undefined || sums.length < MIN_CLOSE) return false;
  const spread = last.slot - first.slot;
  return spread > 0 && spread < MAX_SPREAD * sums.length;
}

/** In this thread, because a large file takes its time to go. The log first: without it nothing is rolled on. */
function removeDatabase(path: string): void {
  for (const file of [`${path}-wal`, `${path}-shm`, path]) rmSync(file, { force: true });
}

function serve(port: MessagePort, options: ThreadOptions): void {
  let writer: SqliteWriter | null = null; // none before it is open, and none after an error
  const answer = (doing: string, work: () => { blocked: boolean }) => {
    try {
      const { blocked } = work();
      reply({ kind: "done", logPages: writer?.logPages() ?? 0, blocked });
    } catch (error) {
      if (error instanceof CommitConflict) return reply({ kind: "conflict" });
      writer = null;
      reply({ kind: "failed", doing, reason: describeSqlite(error) });
    }
  };
  const reply = (message: Reply) => port.postMessage(message);
  const open = () => {
    invariant(writer !== null, "the writer was asked after it had failed");
    return writer;
  };

  answer("open", () => {
    writer = new SqliteWriter(options);
    // After a failed sync the system may show bytes as written that are on no disk, and sync them
    // no more. Copying what the log holds into the database writes every one of them again, before
    // anything is built on them.
    const blocked = writer.checkpoint("TRUNCATE");
    writer.placeSums();
    return { blocked };
  });
  port.on("message", (request: Request) => {
    switch (request.kind) {
      case "commit":
        return answer("commit", () => {
          open().commit(new PackedBatch(request.packed));
          return { blocked: false };
        });
      case "checkpoint":
        return answer("copy its log into the database", () => {
          const blocked = open().checkpoint(request.truncate ? "TRUNCATE" : "RESTART");
          if (request.wipes === true && !blocked) open().wipeGaps();
          return { blocked };
        });
      case "close":
        answer("close", () => {
          if (request.erase) open().forgetKeys();
          open().close();
          writer = null;
          if (request.erase) removeDatabase(options.path);
          return { blocked: false };
        });
        return port.close();
      case "copy":
      case "leave":
        invariant(false, "the writer copies nothing beside itself");
    }
  });
}

invariant(parentPort !== null, "the writer is a program for a worker thread");
serve(parentPort, workerData as ThreadOptions);
