// One read-only connection to the store with its prepared statements. Pinned, it holds a read
// transaction: it sees one moment, and its reads cost no lock calls. Which moment, and for whom, is
// decided in sqlite-readers.ts.

import { OwnError } from "@holdfast/shared/failure";
import { compareKeys } from "../key.ts";
import { invariant } from "@holdfast/shared/invariant";
import { EngineError } from "./engine.ts";
import { connect, pragma } from "./sqlite-format.ts";
import { inOrderOfSlots, latestSums } from "./sqlite-sums.ts";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Leaf, LeafRow, LogRow, Range, Reads, Row, ScopeRow, SumRow } from "./engine.ts";
import type { WriterFailure } from "./sqlite-failure.ts";

// SQLite drops this cache whenever it sees that another connection has committed. Reading 100,000 rows
// of 200 bytes at random, 2 to 16 MiB could not be told apart; only one that held all of it could.
const CACHE_KIB = 2 * 1024;
// Readers wait for nobody in WAL mode but for a moment while the log is restarted.
const BUSY_MS = 1000;
const MAX_ROWS = 2 ** 31 - 1; // LIMIT takes no Infinity

type Columns = Record<string, SQLOutputValue>; // rows are arrays; the types know only objects

export class SqliteReader implements Reads {
  readonly #db: DatabaseSync;
  readonly #failStop: WriterFailure;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  readonly #touch: StatementSync;
  readonly #get: StatementSync;
  readonly #rows: RangeStatements;
  readonly #keys: RangeStatements;
  readonly #leaf: StatementSync;
  readonly #leaves: StatementSync;
  readonly #scopes: StatementSync;
  readonly #sums: StatementSync;
  readonly #recent: StatementSync;
  readonly #logs: StatementSync;
  readonly #lastLog: StatementSync;
  readonly #meta: StatementSync;

  constructor(db: DatabaseSync, failStop: WriterFailure) {
    this.#db = db;
    this.#failStop = failStop;
    const prepare = (sql: string) => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true); // a third faster than objects
      return statement;
    };
    this.#begin = prepare("BEGIN");
    this.#end = prepare("COMMIT");
    this.#touch = prepare("SELECT 1 FROM meta LIMIT 1");
    this.#get = prepare("SELECT value FROM data WHERE key = ?");
    this.#rows = new RangeStatements("key, value", prepare);
    this.#keys = new RangeStatements("key", prepare);
    this.#leaf = prepare("SELECT hash, scope FROM leaf WHERE slot = ? AND key = ?");
    this.#leaves = prepare(
      "SELECT slot, key, hash, scope FROM leaf WHERE (slot, key) > (?, ?) ORDER BY slot, key LIMIT ?",
    );
    this.#scopes = prepare(
      "SELECT slot, key, lower(hex(scope)) FROM leaf WHERE (slot, key) > (?, ?) ORDER BY slot, key LIMIT ?",
    );
    this.#sums = prepare("SELECT slot, sum, count FROM sum WHERE slot >= ? ORDER BY slot LIMIT ?");
    this.#recent = prepare("SELECT sums FROM recent ORDER BY id");
    this.#logs = prepare("SELECT idx, entry FROM log WHERE idx >= ? ORDER BY idx LIMIT ?");
    this.#logs.setReadBigInts(true);
    this.#lastLog = prepare("SELECT max(idx) FROM log");
    this.#lastLog.setReadBigInts(true);
    this.#meta = prepare("SELECT value FROM meta WHERE name = ?");
  }

  static open(path: string, failStop: WriterFailure): SqliteReader {
    const db = connect(path, { readOnly: true, busyMs: BUSY_MS, cacheKiB: CACHE_KIB });
    try {
      invariant(pragma(db, "journal_mode") === "wal", "the reader is not in WAL mode");
      return new SqliteReader(db, failStop);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Holds on to the latest commit from now on. */
  pin(): void {
    this.#guard(() => {
      this.#begin.run();
      this.#touch.get(); // BEGIN alone takes no view yet: the first read does
    });
  }

  unpin(): void {
    this.#guard(() => this.#end.run());
  }

  close(): void {
    this.#db.close();
  }

  get(key: string): Uint8Array | null {
    return this.#guard(() => {
      const row = this.#get.get(key);
      return row === undefined ? null : bytes(row[0]);
    });
  }

  rows(range: Range): Row[] {
    return this.#guard(() => {
      const rows = this.#rows
        .all(range)
        .map((row) => ({ key: text(row[0]), value: bytes(row[1]) }));
      return inOrder(rows, (a, b) => compareKeys(a.key, b.key), { key: range.from }, range.reverse);
    });
  }

  keys(range: Range): string[] {
    return this.#guard(() => {
      const keys = this.#keys.all(range).map((row) => text(row[0]));
      return inOrder(keys, compareKeys, range.from, range.reverse);
    });
  }

  leaf(slot: number, key: string): Leaf | null {
    return this.#guard(() => {
      const row = this.#leaf.get(slot, key);
      return row === undefined ? null : { hash: bytes(row[0]), scope: bytes(row[1]) };
    });
  }

  leaves(after: { slot: number; key: string } | null, limit: number): LeafRow[] {
    const { slot, key } = after ?? { slot: -1, key: "" };
    return this.#guard(() => {
      const rows = this.#leaves.all(slot, key, Math.min(limit, MAX_ROWS)).map((row) => ({
        slot: Number(row[0]),
        key: text(row[1]),
        hash: bytes(row[2]),
        scope: bytes(row[3]),
      }));
      return inOrder(rows, (a, b) => a.slot - b.slot || compareKeys(a.key, b.key), { slot, key });
    });
  }

  scopes(after: { slot: number; key: string } | null, limit: number): ScopeRow[] {
    const { slot, key } = after ?? { slot: -1, key: "" };
    return this.#guard(() => {
      const rows = this.#scopes
        .all(slot, key, Math.min(limit, MAX_ROWS))
        .map((row) => ({ slot: Number(row[0]), key: text(row[1]), scope: text(row[2]) }));
      return inOrder(rows, (a, b) => a.slot - b.slot || compareKeys(a.key, b.key), { slot, key });
    });
  }

  sums(from: number = Number.MIN_SAFE_INTEGER, limit: number = MAX_ROWS): SumRow[] {
    return this.#guard(() => {
      const max = Math.min(limit, MAX_ROWS);
      const rows = this.#sums.all(from, max).map((row) => ({
        slot: Number(row[0]),
        sum: bytes(row[1]),
        count: Number(row[2]),
      }));
      const placed = inOrder(rows, (a, b) => a.slot - b.slot, { slot: from });
      // Those after a full page belong to the pages that follow.
      const last = placed.length < max ? Infinity : placed.at(-1)!.slot;
      const recent = this.#recent.all().map((row) => bytes(row[0]));
      const latest = latestSums(recent, from, last);
      const unchanged = placed.filter(({ slot }) => !latest.has(slot));
      return inOrderOfSlots([...unchanged, ...latest.values()]).slice(0, max);
    });
  }

  logs(from: bigint, limit: number): LogRow[] {
    return this.#guard(() => {
      const rows = this.#logs
        .all(from, Math.min(limit, MAX_ROWS))
        .map((row) => ({ index: integer(row[0]), entry: bytes(row[1]) }));
      return inOrder(rows, (a, b) => Number(a.index - b.index), { index: from });
    });
  }

  lastLog(): bigint | null {
    return this.#guard(() => {
      const last = this.#lastLog.get()?.[0] ?? null;
      return last === null ? null : integer(last);
    });
  }

  meta(name: string): Uint8Array | null {
    return this.#guard(() => {
      const row = this.#meta.get(name);
      return row === undefined ? null : bytes(row[0]);
    });
  }

  #guard<T>(read: () => T): T {
    if (!this.#db.isOpen) throw new EngineError("the storage is closed");
    this.#failStop.check();
    try {
      return read();
    } catch (error) {
      throw this.#failStop.trip("read", error);
    }
  }
}

/**
 * SQLite trusts that its pages are in order and gives rows as it finds them. In a damaged file they
 * may go backwards, and whoever reads on from the last one would never come to an end.
 */
function inOrder<P, T extends P>(
  rows: T[],
  compare: (a: P, b: P) => number,
  from: P,
  reverse = false,
): T[] {
  const sign = reverse ? -1 : 1;
  for (let i = 1; i < rows.length; i++) {
    if (sign * compare(rows[i - 1]!, rows[i]!) >= 0) throw new OwnError("rows are out of order");
  }
  const min = reverse ? rows.at(-1) : rows[0];
  if (min !== undefined && compare(min, from) < 0) throw new OwnError("rows are out of order");
  return rows;
}

/** The four forms of a range: with an end or without, forward or backward. */
class RangeStatements {
  readonly #forward: StatementSync;
  readonly #forwardTo: StatementSync;
  readonly #back: StatementSync;
  readonly #backTo: StatementSync;

  constructor(columns: string, prepare: (sql: string) => StatementSync) {
    const select = (where: string, order: string) =>
      prepare(`SELECT ${columns} FROM data WHERE ${where} ORDER BY key ${order} LIMIT ?`);
    this.#forward = select("key >= ?", "ASC");
    this.#forwardTo = select("key >= ? AND key < ?", "ASC");
    this.#back = select("key >= ?", "DESC");
    this.#backTo = select("key >= ? AND key < ?", "DESC");
  }

  all({ from, to, limit, reverse = false }: Range): Columns[] {
    const max = Math.min(limit, MAX_ROWS);
    if (to === null) return (reverse ? this.#back : this.#forward).all(from, max);
    return (reverse ? this.#backTo : this.#forwardTo).all(from, to, max);
  }
}

// The tables are STRICT: another type than ours means that the file is damaged.

function bytes(value: SQLOutputValue | undefined): Uint8Array {
  invariant(value instanceof Uint8Array, "a stored value is not bytes");
  return value;
}

function text(value: SQLOutputValue | undefined): string {
  invariant(typeof value === "string", "a stored key is not text");
  return value;
}

function integer(value: SQLOutputValue | undefined): bigint {
  invariant(typeof value === "bigint", "a stored index is not a whole number");
  return value;
}
