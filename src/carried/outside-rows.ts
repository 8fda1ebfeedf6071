// Rows that stand for something outside, in data that is replaced by data which does not know them. Leases and write-ahead
// records are taken over in the same steps: what is unknown and can be ended is put into the data that comes, the rest is
// counted.

import type { Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";

const ESSENTIAL = { essential: true }; // a full disk keeps nobody from ending what is outside

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
}

export interface TakenOver {
  readonly adopted: number;
  readonly left: number;
}

export async function takeOver<Row>(
  kind: OutsideKind<Row>,
  { to, timers, taken }: TakingOver,
): Promise<TakenOver> {
  let [adopted, left] = [0, 0];
  for (const keys of kind.pages()) {
    const unknown = keys.filter((key) => !isIn(to, key));
    const rows = unknown.flatMap((key) => {
      const row = kind.read(key);
      return row === null ? [] : [{ key, row }];
    });
    if (rows.length > 0) {
      await to.write((tx) => {
        for (const { key, row } of rows) kind.put(tx, to, key, row);
        const names = rows.map(({ key }) => key);
        taken?.(tx, names);
      }, ESSENTIAL);
    }
    adopted += rows.length;
    left += unknown.length - rows.length;
    await timers.turn();
  }
  return { adopted, left };
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

function isIn(data: View, key: string): boolean {
  return data.keys(key, { limit: 1 })[0] === key;
}
