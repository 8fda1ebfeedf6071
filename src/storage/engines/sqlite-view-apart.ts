// The main thread's end of a view that is read in a thread of its own, see sqlite-view.ts. A thread that ends by itself
// fails whoever reads, and nobody else; a storage that cannot be read ends everything, as everywhere.

import { OwnError } from "@holdfast/shared/failure";
import type { PackedRecords, WhichRecords } from "../rows/packed-records.ts";
import { EngineError, type ViewApart } from "./engine.ts";
import { type Reason, reasonError, WriterFailure } from "./sqlite-failure.ts";
import { SqliteThread, type ThreadOptions, VIEW } from "./sqlite-thread.ts";

// Two pieces of memory that both threads have: one is filled while the other is used. Pieces that are handed over,
// a new one each time, cost the main thread more in collecting them than reading them would.
const PIECES = 2;
/** Of one; records that have more come by themselves. */
export const PIECE_BYTES: number = 256 * 1024;

export type ViewRequest =
  | { readonly kind: "pin"; readonly metas: readonly string[] }
  | {
      readonly kind: "begin";
      readonly which: WhichRecords;
      readonly pieces: readonly SharedArrayBuffer[];
    }
  | { readonly kind: "next" }
  | { readonly kind: "close" };

export interface ViewReply {
  readonly kind: "done";
  /** The storage cannot be read. */
  readonly reason?: Reason;
  readonly metas?: ReadonlyMap<string, Uint8Array>;
  readonly records?: PackedRecords;
  /** Instead of it: how many bytes lie in the piece whose turn it is. */
  readonly filled?: { readonly length: number; readonly count: number };
}

export class SqliteViewApart implements ViewApart {
  readonly #thread: SqliteThread<ViewRequest, ViewReply>;
  readonly #failStop: WriterFailure;
  readonly #closed: () => void;
  #metas: ReadonlyMap<string, Uint8Array> = new Map();
  #pieces: readonly SharedArrayBuffer[] = [];
  #turn = 0;
  #isBusy = false;
  #closing: Promise<void> | null = null;

  private constructor(
    thread: SqliteThread<ViewRequest, ViewReply>,
    failStop: WriterFailure,
    closed: () => void,
  ) {
    this.#thread = thread;
    this.#failStop = failStop;
    this.#closed = closed;
  }

  static async open(
    options: ThreadOptions,
    failStop: WriterFailure,
    closed: () => void,
    program = VIEW,
  ): Promise<SqliteViewApart> {
    const own = new WriterFailure();
    try {
      const thread = await SqliteThread.start<ViewRequest, ViewReply>(options, own, { program });
      return new SqliteViewApart(thread, failStop, closed);
    } catch (error) {
      closed();
      throw ended(error);
    }
  }

  /** From now on it is that of the last commit. */
  async pin(metas: readonly string[]): Promise<void> {
    this.#metas = (await this.#ask({ kind: "pin", metas })).metas ?? new Map();
  }

  meta(name: string): Uint8Array | null {
    return this.#metas.get(name) ?? null;
  }

  async begin(which: WhichRecords): Promise<void> {
    this.#pieces = Array.from({ length: PIECES }, () => new SharedArrayBuffer(PIECE_BYTES));
    await this.#ask({ kind: "begin", which, pieces: this.#pieces });
  }

  async next(): Promise<PackedRecords | null> {
    const { records, filled } = await this.#ask({ kind: "next" });
    if (filled === undefined) return records ?? null;
    const piece = this.#pieces[this.#turn++ % PIECES]!;
    return { bytes: new Uint8Array(piece, 0, filled.length), count: filled.count };
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  async #ask(request: ViewRequest): Promise<ViewReply> {
    this.#failStop.check();
    if (this.#closing !== null) throw new EngineError("the storage is closed");
    this.#isBusy = true;
    let reply: ViewReply;
    try {
      reply = await this.#thread.ask(request);
    } catch (error) {
      throw this.#closing === null ? ended(error) : new EngineError("the storage is closed");
    } finally {
      this.#isBusy = false;
    }
    if (reply.reason === undefined) return reply;
    throw this.#failStop.trip("read", reasonError(reply.reason));
  }

  /** What it is doing nobody waits for any more. */
  async #end(): Promise<void> {
    try {
      if (!this.#isBusy) await this.#thread.ask({ kind: "close" }).catch(() => {}); // it may have ended by itself
    } finally {
      await this.#thread.terminate();
      this.#closed();
    }
  }
}

function ended(cause: unknown): OwnError {
  return new OwnError("what reads the storage for somebody has ended", { cause });
}
