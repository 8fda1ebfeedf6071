// Which connection sees which moment. The engine's own reads and the views taken at the same moment
// share one pinned connection, so a view is exactly what the engine reads, even while a commit that
// is already on disk waits to be announced. The last of them to let go ends the transaction.

import type { WriterFailure } from "./sqlite-failure.ts";
import { SqliteReader } from "./sqlite-reader.ts";

const MAX_IDLE = 2; // one for the engine, one for a view that comes and goes

export class SqliteReaders {
  readonly #path: string;
  readonly #failStop: WriterFailure;
  readonly #holders = new Map<SqliteReader, number>(); // pinned connections
  readonly #idle: SqliteReader[] = [];
  #current: SqliteReader | null = null;

  constructor(path: string, failStop: WriterFailure) {
    this.#path = path;
    this.#failStop = failStop;
  }

  /** The connection pinned at the announced state; pins one if there is none. */
  current(): SqliteReader {
    if (this.#current === null) {
      const reader = this.#idle.pop() ?? this.#open();
      reader.pin();
      this.#holders.set(reader, 1);
      this.#current = reader;
    }
    return this.#current;
  }

  /** A connection outside any transaction: each read sees the latest commit and holds nothing. */
  passing(): SqliteReader {
    const reader = this.#idle.at(-1) ?? this.#open();
    if (this.#idle.length === 0) this.#idle.push(reader);
    return reader;
  }

  /** Lets go of the announced state, because there is a newer one or because the log is in the way. */
  advance(): void {
    const last = this.#current;
    this.#current = null;
    if (last !== null) this.release(last);
  }

  /** The current connection for one more holder, who must release it. */
  share(): SqliteReader {
    const reader = this.current();
    this.#holders.set(reader, this.#holders.get(reader)! + 1);
    return reader;
  }

  release(reader: SqliteReader): void {
    const count = this.#holders.get(reader);
    if (count === undefined) return; // closed with all the others
    if (count > 1) {
      this.#holders.set(reader, count - 1);
      return;
    }
    this.#holders.delete(reader);
    if (this.#failStop.tripped) {
      reader.close();
      return;
    }
    reader.unpin();
    if (this.#idle.length < MAX_IDLE) this.#idle.push(reader);
    else reader.close();
  }

  /** Closes every connection, those of views that are still open included. */
  close(): void {
    for (const reader of [...this.#holders.keys(), ...this.#idle]) reader.close();
    this.#holders.clear();
    this.#idle.length = 0;
    this.#current = null;
  }

  #open(): SqliteReader {
    this.#failStop.check();
    try {
      return SqliteReader.open(this.#path, this.#failStop);
    } catch (error) {
      throw this.#failStop.trip("open", error);
    }
  }
}
