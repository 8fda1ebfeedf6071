// A store that takes over what another one holds, without its entries: how the rows are read there, a few keys at a
// time, while that one goes on writing.

import type { AdoptedRow, Store } from "../../../src/storage/store.ts";
import type { Reads } from "../../../src/storage/engines/engine.ts";
import { classOf, compareKeys } from "../../../src/storage/key.ts";
import { HEAD_ROW } from "../../../src/storage/rows/head.ts";
import { slotOf } from "../../../src/storage/rows/merkle.ts";
import type { Anchor } from "../../../src/storage/rows/sync.ts";
import type { MadeStore } from "../made/made-store.ts";

const ALL = { from: "", to: null, limit: Infinity };

/** Where the log of the store stands now. */
export function anchorOf({ store, engine }: Pick<MadeStore, "store" | "engine">): Anchor {
  return { head: engine.meta(HEAD_ROW)!, timeline: store.timeline! };
}

/** The records of some keys as they are now. */
export function rowsAt(reads: Reads, keys: readonly string[]): AdoptedRow[] {
  return keys.map((key) => {
    const leaf = reads.leaf(slotOf(classOf(key), key)!, key);
    const scope = leaf?.scope ?? new Uint8Array(16);
    return { key, scope, value: reads.get(key) };
  });
}

/** Every key above the cursor that either of them has, in order. */
export function keysAfter(cursor: string, ...stores: readonly Reads[]): string[] {
  const keys = new Set(stores.flatMap((reads) => reads.keys(ALL)));
  return [...keys]
    .filter((key) => !key.startsWith("core/") && compareKeys(key, cursor) > 0)
    .toSorted(compareKeys);
}

export interface AdoptingSteps {
  /** Keys in one chunk. Default 3. */
  readonly size?: number;
  /** Called before each chunk is read. */
  readonly between?: () => Promise<void>;
}

/** Goes on after the cursor to the end: what is left of the rows, and the place of the log. */
export async function adoptRest(
  { store, engine }: Pick<MadeStore, "engine"> & { readonly store: Store },
  leader: Reads,
  { size = 3, between = async () => {} }: AdoptingSteps = {},
): Promise<void> {
  for (;;) {
    await between();
    const keys = keysAfter(store.adopting!.cursor, leader, engine).slice(0, size);
    if (keys.length === 0) break;
    await store.adopt(rowsAt(leader, keys), keys.at(-1)!);
  }
  await store.finishAdopting();
}
