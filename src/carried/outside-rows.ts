// Rows that stand for something outside, in data that is replaced by data which does not know them. Leases and write-ahead
// records are taken over in the same steps: what is unknown and can be ended is put into the data that comes, the rest is
// counted.

import type { Codec } from "@holdfast/shared/codec";
import type { Timers } from "@holdfast/shared/world";
import type { Page, Tx, View, ViewReads } from "../barrier/view.ts";
import { compareKeys } from "../storage/key.ts";

/** What is read of the data that goes. */
export type OutsideReads = Pick<ViewReads, "get" | "keys">;

/** One kind of them, in the data that goes. Keys are below local/. */
export interface OutsideKind<Row> {
  pages(): Iterable<readonly string[]>;
  /** Null where nobody can end what it stands for: it does not open, or the data that comes has not its mount. */
  read(key: string): Row | null;
  encode(row: Row): Uint8Array;
  /** Into the data that comes, to be ended at once. */
  put(tx: Tx, to: View, key: string, row: Row): void;
}

export interface TakingOver {
  /** Of everything below local/ of the data that comes. */
  readonly to: View;
  readonly timers: Timers;
  /** In the transaction that takes over rows of these keys. */
  readonly taken?: ((tx: Tx, keys: readonly string[]) => void) | undefined;
  /** Default true: a full disk keeps nobody from ending what is outside. */
  readonly essential?: boolean | undefined;
}

export interface TakenOver {
  readonly adopted: number;
  /** Those that the data that comes has already: they stay as they are there. */
  readonly known: number;
  readonly left: number;
}

export async function takeOver<Row>(
  kind: OutsideKind<Row>,
  { to, timers, taken, essential = true }: TakingOver,
): Promise<TakenOver> {
  let [adopted, known, left] = [0, 0, 0];
  for (const keys of kind.pages()) {
    const unknown = keys.filter((key) => !isIn(to, key));
    const rows = unknown.flatMap((key) => {
      const row = kind.read(key);
      return row === null ? [] : [{ key, row }];
    });
    let put = 0;
    if (rows.length > 0) {
      put = await to.write(
        (tx) => {
          // Somebody else may have put one of them meanwhile: nothing is ever put over another.
          const absent = rows.filter(({ key }) => !isIn(tx.on(to), key));
          for (const { key, row } of absent) kind.put(tx, to, key, row);
          const names = absent.map(({ key }) => key);
          if (names.length > 0) taken?.(tx, names);
          return names.length;
        },
        { essential },
      );
    }
    adopted += put;
    known += keys.length - unknown.length + rows.length - put;
    left += unknown.length - rows.length;
    await timers.turn();
  }
  return { adopted, known, left };
}

/** Rows that somebody has brought, in memory. */
export class RowsAtHand implements OutsideReads {
  readonly #rows: ReadonlyMap<string, Uint8Array>;
  readonly #keys: readonly string[];

  constructor(rows: ReadonlyMap<string, Uint8Array>) {
    this.#rows = rows;
    this.#keys = [...rows.keys()].toSorted(compareKeys);
  }

  get<T>(key: string, codec: Codec<T>): T | null {
    const value = this.#rows.get(key);
    return value === undefined ? null : codec.decode(value);
  }

  keys(prefix: string, { after, limit }: Page): string[] {
    const isNext = (key: string) =>
      key.startsWith(prefix) && (after === undefined || compareKeys(key, after) > 0);
    return this.#keys.filter(isNext).slice(0, limit);
  }
}

/** A row below local/ that other data does not know, as it is stored; null where nobody there could end what it stands for. */
export interface OutsideRow {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** Those that data does not know of which there are only keys. */
export function* unknownRows<Row>(
  kind: OutsideKind<Row>,
  hasKey: (key: string) => boolean,
): Generator<readonly OutsideRow[]> {
  for (const keys of kind.pages()) {
    const unknown = keys.filter((key) => !hasKey(`local/${key}`));
    yield unknown.map((key) => {
      const row = kind.read(key);
      return { key, value: row === null ? null : kind.encode(row) };
    });
  }
}

function isIn(data: OutsideReads, key: string): boolean {
  return data.keys(key, { limit: 1 })[0] === key;
}
