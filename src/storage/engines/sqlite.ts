// The sqlite engine: the default, for one node. Commits run in a thread of their own; reads run here,
// on a connection that is pinned at the state of the last announced commit. It decides when that
// pin moves and when SQLite's log is copied into the database; see sqlite-readers.ts and -writer.ts.

import type { Fs } from "@holdfast/shared/world";
import { invariant } from "@holdfast/shared/invariant";
import type { Batch, StorageEngine, Limits, Reads, ReadView } from "./engine.ts";
import { CommitConflict, EngineError } from "./engine.ts";
import { tidied } from "../generations/sqlite-removal.ts";
import { HeldView, ReadsBehind } from "./reads-behind.ts";
import { packBatch } from "./sqlite-batch.ts";
import { WriterFailure } from "./sqlite-failure.ts";
import { claimPlace, databaseIn, type Place } from "./sqlite-place.ts";
import { SqliteReaders } from "./sqlite-readers.ts";
import { WriterThread } from "./sqlite-thread.ts";

const PAGE = 4096;
// Commits of 8 random transactions, medians on a busy machine: 4 MiB hold up one commit in 35 for
// 13 ms, 16 MiB one in 139 for 33 ms, 64 MiB one in 550 for 70 ms; shared out over all commits that
// is 0.5, 0.3 and 0.14 ms.
const CHECKPOINT_BYTES = 64 * 1024 * 1024;

export interface SqliteOptions {
  readonly directory: string;
  readonly fs: Fs;
  /**
   * Default FULL: a commit is synced before it resolves. NORMAL is not a choice but the planted bug
   * of the power-loss experiment, which must find that it loses acknowledged writes.
   */
  readonly synchronous?: "FULL" | "NORMAL";
  /** SQLite's log is copied into the database when it has this size. Default 64 MiB. */
  readonly checkpointBytes?: number;
}

export class SqliteEngine extends ReadsBehind implements StorageEngine {
  readonly kind = "sqlite";
  readonly limits: Limits = { operations: 8192, bytes: 64 * 1024 * 1024 };
  readonly #place: Place;
  readonly #fs: Fs;
  readonly #failStop: WriterFailure;
  readonly #writer: WriterThread;
  readonly #readers: SqliteReaders;
  readonly #checkpointPages: number;
  #commit: Promise<void> | null = null;
  #checkpoint: Promise<void> | null = null;
  #checkpointAt: number; // pages of the log
  #logPages = 0;
  #closing: Promise<void> | null = null;

  private constructor(
    place: Place,
    database: string,
    { fs, checkpointBytes = CHECKPOINT_BYTES }: SqliteOptions,
    failStop: WriterFailure,
    writer: WriterThread,
  ) {
    super();
    this.#place = place;
    this.#fs = fs;
    this.#failStop = failStop;
    this.#writer = writer;
    this.#readers = new SqliteReaders(database, failStop);
    this.#checkpointPages = Math.ceil(checkpointBytes / PAGE);
    this.#checkpointAt = this.#checkpointPages;
  }

  /** The one in use, of a directory that nobody else uses; made if there is none. What a crash left of others is
   *  removed. Throws StorageLocked, a Failure, or an EngineError. */
  static async open(options: SqliteOptions): Promise<SqliteEngine> {
    const place = claimPlace(options.directory, options.fs);
    try {
      const inUse = await tidied(place.directory, options.fs);
      return await SqliteEngine.openIn(inUse, options, () => place.release());
    } catch (error) {
      place.release();
      throw error;
    }
  }

  /** That of one directory, which the caller has claimed. */
  static async openIn(
    directory: string,
    options: Omit<SqliteOptions, "directory">,
    release = () => {},
  ): Promise<SqliteEngine> {
    const { fs, synchronous = "FULL" } = options;
    const path = databaseIn(directory, fs);
    const failStop = new WriterFailure();
    const writer = await WriterThread.start({ path, synchronous }, failStop);
    return new SqliteEngine(
      { directory, release },
      path,
      { ...options, directory },
      failStop,
      writer,
    );
  }

  protected override source(): Reads {
    this.#check();
    // A pin now would keep the log from being reused, and there is no need for one: as long as the
    // checkpoint runs, no commit does.
    return this.#checkpoint === null ? this.#readers.current() : this.#readers.passing();
  }

  async commit(batch: Batch): Promise<void> {
    this.#check();
    invariant(this.#commit === null, "a commit was started before the last one had settled");
    const packed = packBatch(batch); // now: the caller may reuse its bytes as soon as it has called
    this.#commit = this.#run(packed);
    try {
      await this.#commit;
    } finally {
      this.#commit = null;
    }
  }

  snapshot(): ReadView {
    this.#check();
    const reader = this.#readers.share();
    return new HeldView(reader, () => {
      this.#readers.release(reader);
      this.#checkpointAt = this.#checkpointPages; // this view may have been what was in the way
    });
  }

  /** Never calls: the store has no other user. */
  watch(_listener: (keys: readonly string[]) => void): () => void {
    return () => {};
  }

  freeBytes(): number {
    return this.#fs.freeBytes(this.#place.directory);
  }

  /** After a clean close everything is in the database file, and there is no log. */
  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  #check(): void {
    if (this.#closing !== null) throw new EngineError("the storage is closed");
    this.#failStop.check();
  }

  async #run(packed: ArrayBuffer): Promise<void> {
    if (this.#logPages >= this.#checkpointAt) {
      this.#checkpoint = this.#copyLog();
      await this.#checkpoint;
    }
    // From here until the commit is announced reads must not move: what the writer makes durable
    // meanwhile is not to be seen yet.
    this.#readers.current();
    try {
      const { logPages } = await this.#writer.ask({ kind: "commit", packed });
      this.#failStop.check(); // a read may have failed meanwhile: then nothing is acknowledged
      this.#readers.advance(); // the next read sees it
      this.#logPages = logPages;
    } catch (error) {
      throw error instanceof CommitConflict ? error : this.#failStop.trip("commit", error);
    }
  }

  /**
   * SQLite reuses its log only when nobody reads from it, and our pin always does. So between two
   * commits, when nothing is pinned, the writer copies the log and starts it anew. This belongs to
   * the commit that comes next: if the disk fails here, somebody is waiting who can be told, and
   * nothing is acknowledged meanwhile.
   */
  async #copyLog(): Promise<void> {
    try {
      this.#readers.advance(); // the same state can be pinned again: nothing is in flight
      const usual = this.#checkpointPages;
      const truncate = this.#logPages >= 8 * usual; // a view let it grow: give back the space
      const { logPages, blocked } = await this.#writer.ask({ kind: "checkpoint", truncate });
      this.#logPages = logPages;
      // With a view in the way it is tried again soon, but not at every commit.
      this.#checkpointAt = blocked ? logPages + Math.ceil(usual / 4) : usual;
    } catch (error) {
      throw this.#failStop.trip("copy its log", error);
    } finally {
      this.#checkpoint = null;
    }
  }

  async #end(): Promise<void> {
    await this.#commit?.catch(() => {}); // whoever called commit() hears of it
    try {
      if (this.#failStop.tripped) {
        // While our read-only connections are open SQLite does not copy the log on closing: what
        // is on disk stays as the failure left it, for the next start to recover.
        await this.#writer.terminate();
        this.#readers.close();
      } else {
        this.#readers.close();
        await this.#writer.close();
      }
    } finally {
      this.#place.release();
    }
  }
}
