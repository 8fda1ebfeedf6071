// The sqlite engine: the default, for one node. Commits run in a thread of their own; reads run here,
// on a connection that is pinned at the state of the last announced commit. It decides when that
// pin moves; see sqlite-readers.ts and -writer.ts. When SQLite's log is copied: log-copying.ts.

import type { Fs } from "@holdfast/shared/world";
import { invariant } from "@holdfast/shared/invariant";
import type { Batch, StorageEngine, Limits, Reads, ReadView, ViewApart } from "./engine.ts";
import { CommitConflict, EngineError } from "./engine.ts";
import { tidied } from "../generations/sqlite-removal.ts";
import { LogCopying } from "./log-copying.ts";
import { HeldView, ReadsBehind } from "./reads-behind.ts";
import { packBatch } from "./sqlite-batch.ts";
import { WriterFailure } from "./sqlite-failure.ts";
import { claimPlace, databaseIn, type Place } from "./sqlite-place.ts";
import { SqliteReaders } from "./sqlite-readers.ts";
import { SqliteViewApart } from "./sqlite-view-apart.ts";
import { COPIER, type Done, SqliteThread, type ThreadOptions } from "./sqlite-thread.ts";

const PAGE = 4096;
// The larger, the less is copied twice: with commits of 8 random transactions, shared out over all of them, copying
// costs 0.5 ms with 4 MiB, 0.3 with 16, 0.14 with 64.
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
  readonly #writer: SqliteThread;
  readonly #threads: ThreadOptions;
  #copier: Promise<SqliteThread> | null = null; // when there is something to copy
  readonly #copying: LogCopying;
  readonly #readers: SqliteReaders;
  readonly #checkpointPages: number;
  readonly #apart = new Set<Promise<SqliteViewApart>>();
  #commit: Promise<void> | null = null;
  #checkpoint: Promise<void> | null = null;
  #checkpointAt: number; // pages of the log
  #isScrubDue = false; // its log has what is to be nowhere
  #logPages = 0;
  #closing: Promise<void> | null = null;

  private constructor(
    place: Place,
    threads: ThreadOptions,
    { fs, checkpointBytes = CHECKPOINT_BYTES }: SqliteOptions,
    failStop: WriterFailure,
    writer: SqliteThread,
  ) {
    super();
    this.#place = place;
    this.#fs = fs;
    this.#failStop = failStop;
    this.#writer = writer;
    this.#threads = threads;
    this.#readers = new SqliteReaders(threads.path, failStop);
    this.#checkpointPages = Math.ceil(checkpointBytes / PAGE);
    this.#copying = new LogCopying({ copy: () => this.#copyBeside() }, this.#checkpointPages);
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
    const threads: ThreadOptions = { path: databaseIn(directory, fs), synchronous };
    const failStop = new WriterFailure();
    const writer = await SqliteThread.start(threads, failStop);
    return new SqliteEngine(
      { directory, release },
      threads,
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

  /** Of the last commit that is durable, announced or not. */
  async viewApart(metas: readonly string[]): Promise<ViewApart> {
    this.#check();
    const opening = SqliteViewApart.open(this.#threads, this.#failStop, () => {
      this.#apart.delete(opening);
      this.#checkpointAt = this.#checkpointPages; // as above
    });
    this.#apart.add(opening);
    const view = await opening;
    try {
      this.#check();
      await view.pin(metas);
      return view;
    } catch (error) {
      await view.close();
      throw error;
    }
  }

  scrub(): void {
    this.#isScrubDue = true;
  }

  onFailure(listener: (error: EngineError) => void): void {
    this.#failStop.onTrip(listener);
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
    if (this.#isScrubDue) await this.#scrubLog();
    else if (this.#logPages >= this.#checkpointAt) await this.#tendLog();
    // From here until the commit is announced reads must not move: what the writer makes durable
    // meanwhile is not to be seen yet.
    this.#readers.current();
    try {
      const { logPages } = await this.#writer.ask({ kind: "commit", packed }, [packed]);
      this.#failStop.check(); // a read may have failed meanwhile: then nothing is acknowledged
      this.#readers.advance(); // the next read sees it
      this.#logPages = logPages;
    } catch (error) {
      throw error instanceof CommitConflict ? error : this.#failStop.trip("commit", error);
    }
  }

  async #tendLog(): Promise<void> {
    const next = await this.#copying.next(this.#logPages);
    this.#failStop.check();
    if (next === "later") this.#tryLater();
    if (next !== "finish") return;
    this.#checkpoint = this.#finishLog();
    await this.#checkpoint;
  }

  /** The log has what was removed from the database: it is begun anew, and what it held is given back. Gaps of pages have it too. */
  async #scrubLog(): Promise<void> {
    await this.#copying.ended();
    this.#checkpoint = this.#finishLog(true);
    await this.#checkpoint;
  }

  /** With a view in the way it is tried again soon, but not at every commit. */
  #tryLater(): void {
    this.#checkpointAt = this.#logPages + Math.ceil(this.#checkpointPages / 4);
  }

  /** An error stops the engine: what was being committed meanwhile is not acknowledged. */
  async #copyBeside(): Promise<Done> {
    try {
      this.#copier ??= SqliteThread.start(this.#threads, this.#failStop, { program: COPIER });
      return await (await this.#copier).ask({ kind: "copy" });
    } catch (error) {
      throw this.#failStop.trip("copy its log", error);
    }
  }

  /**
   * SQLite reuses its log only when nobody reads from it, and our pin always does. So between two
   * commits, when nothing is pinned, the writer copies the rest of it and starts it anew.
   */
  async #finishLog(isScrub = false): Promise<void> {
    try {
      this.#readers.advance(); // the same state can be pinned again: nothing is in flight
      const usual = this.#checkpointPages;
      const truncate = isScrub || this.#logPages >= 8 * usual; // a view let it grow: give back the space
      const { logPages, blocked } = await this.#writer.ask({
        kind: "checkpoint",
        truncate,
        wipes: isScrub,
      });
      this.#logPages = logPages;
      if (blocked) this.#tryLater();
      else {
        this.#checkpointAt = usual;
        if (isScrub) this.#isScrubDue = false;
      }
    } catch (error) {
      throw this.#failStop.trip("copy its log", error);
    } finally {
      this.#checkpoint = null;
    }
  }

  async #end(): Promise<void> {
    await this.#commit?.catch(() => {}); // whoever called commit() hears of it
    await this.#copying.ended();
    for (const opening of this.#apart) await opening.then((view) => view.close()).catch(() => {});
    const copier = await this.#copier?.catch(() => null);
    try {
      if (this.#failStop.tripped) {
        // While our read-only connections are open SQLite does not copy the log on closing: what
        // is on disk stays as the failure left it, for the next start to recover.
        await copier?.terminate();
        await this.#writer.terminate();
        this.#readers.close();
      } else {
        await copier?.ask({ kind: "leave" }); // the last connection takes the log away
        this.#readers.close();
        await this.#writer.close();
      }
    } finally {
      await copier?.terminate();
      this.#place.release();
    }
  }
}
