// What a primary reads for a secondary that takes over its rows: chunks in the order of keys, sums, leaves, and the
// present values of some keys. Every answer is read on one consistent view; between two of them others write.

import { concat } from "@holdfast/shared/bytes";
import type { Reads, ReadView } from "../../storage/engines/engine.ts";
import { scopeOfKey } from "../../barrier/scope.ts";
import { entryMissing } from "../../storage/failures.ts";
import { afterKey, afterPrefix, classOf, compareKeys } from "../../storage/key.ts";
import type { Slices } from "../../storage/commit/slices.ts";
import { decodeHead, HEAD_ROW } from "../../storage/rows/head.ts";
import { slotOf, type Tree, type TreeName, TREES } from "../../storage/rows/merkle.ts";
import { u32 } from "../../storage/rows/row-bytes.ts";
import type { Store } from "../../storage/store.ts";
import { otherWithheld } from "../filters/failures.ts";
import {
  CHUNK_BYTES,
  CHUNK_LEAVES,
  CHUNK_ROWS,
  type CopiedChunk,
  HEALED_BYTES,
  type SentLeaf,
  type SentRow,
} from "../stream/messages.ts";

const ROOTS = ["local", "shared"] as const; // in the order of keys; all else never leaves a cluster
const PAGE_ROWS = 16; // read at once: a value may have megabytes
const PAGE_LEAVES = 64;
export const PAGES_OF_TREE = 256;
const SUBPAGES = 256;

/** Rows after a key. Whoever asks keeps the place: nothing is kept here. */
export function readChunk(
  store: Store,
  after: string,
  trees: readonly TreeName[] = TREES,
): CopiedChunk {
  const roots = ROOTS.filter((one) => trees.includes(one)).map((one) => `${one}/`);
  return viewed(store, (view) => {
    const rows: SentRow[] = [];
    let left = CHUNK_BYTES;
    for (const root of roots) {
      const end = afterPrefix(root);
      let from: string = compareKeys(after, root) > 0 ? afterKey(after) : root;
      while (end === null || compareKeys(from, end) < 0) {
        const page = view.rows({ from, to: end, limit: PAGE_ROWS });
        for (const { key, value } of page) {
          rows.push(rowOf(view, key, value));
          left -= key.length + value.length + 32;
          if (left <= 0 || rows.length === CHUNK_ROWS) {
            return { rows, isDone: false, index: indexOf(view) };
          }
        }
        if (page.length < PAGE_ROWS) break;
        from = afterKey(page.at(-1)!.key);
      }
    }
    return { rows, isDone: true, index: indexOf(view) };
  });
}

/** The same of what is shared, for one that is not sent all of it: others have their turn while what is withheld is passed over. Throws where some of it
 *  is withheld by the time that it is to go. */
export async function readAllowed(
  store: Store,
  after: string,
  lets: Lets,
  slices: Pick<Slices, "pause">,
): Promise<CopiedChunk> {
  const chunk = await readPassing(store, after, lets, slices);
  if (chunk.rows.every(({ scope }) => lets(scope))) return chunk;
  throw otherWithheld();
}

async function readPassing(
  store: Store,
  after: string,
  lets: Lets,
  slices: Pick<Slices, "pause">,
): Promise<CopiedChunk> {
  const root = "shared/";
  const end = afterPrefix(root);
  const rows: SentRow[] = [];
  let left = CHUNK_BYTES;
  for (let from = compareKeys(after, root) > 0 ? afterKey(after) : root; ;) {
    const { page, last, index } = viewed(store, (view) => {
      const found = view.rows({ from, to: end, limit: PAGE_ROWS });
      const sent = found.filter(({ key }) => lets(scopeOf(view, key)));
      return {
        page: sent.map(({ key, value }) => rowOf(view, key, value)),
        last: found.length < PAGE_ROWS ? null : found.at(-1)!.key,
        index: indexOf(view),
      };
    });
    for (const row of page) {
      rows.push(row);
      left -= row.key.length + row.value.length + 32;
      if (left <= 0 || rows.length === CHUNK_ROWS) return { rows, isDone: false, index };
    }
    if (last === null) return { rows, isDone: true, index };
    from = afterKey(last);
    await slices.pause();
  }
}

/** Of one that is damaged what its key says: whoever is not sent it does not wait until it is mended. */
function scopeOf(view: Reads, key: string): Uint8Array {
  return view.leaf(slotOf(classOf(key), key)!, key)?.scope ?? scopeOfKey(key);
}

/** Whether records of this scope are sent. */
type Lets = (scope: Uint8Array) => boolean;

/** By any slot of it. */
type TreeAt = (slot: number) => Tree;

const FIRST_SLOT: Readonly<Record<TreeName, number>> = {
  shared: 0,
  local: PAGES_OF_TREE * SUBPAGES,
};

/** Has the pages hashed, so that it takes little to tell what they are. */
export async function readPages(
  treeAt: TreeAt,
  slices: Slices,
  names: readonly TreeName[] = TREES,
): Promise<void> {
  // What changes meanwhile is hashed again by pagesNow, at once: few pages, if any.
  for (const name of names) {
    const tree = treeAt(FIRST_SLOT[name]);
    for (let page = 0; page < PAGES_OF_TREE; page++) {
      tree.pageHash(page);
      await slices.pause();
    }
  }
}

export function pagesNow(treeAt: TreeAt, names: readonly TreeName[] = TREES): Buffer {
  const numbers = Array.from({ length: PAGES_OF_TREE }, (_, page) => page);
  const hashes = names.map((name) => {
    const tree = treeAt(FIRST_SLOT[name]);
    return numbers.map((page) => tree.pageHash(page));
  });
  return concat(...hashes.flat());
}

/** 36 bytes for each subpage of these pages. */
export function readSubpages(treeAt: TreeAt, pages: readonly number[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const page of pages) {
    for (let slot = page * SUBPAGES; slot < (page + 1) * SUBPAGES; slot++) {
      const { sum, count } = treeAt(slot).row(slot);
      parts.push(sum, u32(count));
    }
  }
  return concat(...parts);
}

/** The leaves of some slots, a message at a time. */
export function* readLeaves(
  store: Store,
  slots: readonly number[],
  lets: Lets = () => true,
): Generator<{ leaves: SentLeaf[]; index: bigint }> {
  let leaves: SentLeaf[] = [];
  let index = store.index;
  for (const slot of slots) {
    let after = "";
    for (let isWhole = false; !isWhole;) {
      const page = viewed(store, (view) => {
        index = indexOf(view);
        return view.leaves({ slot, key: after }, PAGE_LEAVES).filter((leaf) => leaf.slot === slot);
      });
      const sent = page.filter(({ scope }) => lets(scope));
      leaves.push(...sent.map(({ key, hash }) => ({ slot, key, hash })));
      isWhole = page.length < PAGE_LEAVES;
      after = page.at(-1)?.key ?? after;
      if (leaves.length + PAGE_LEAVES <= CHUNK_LEAVES) continue;
      yield { leaves, index };
      leaves = [];
    }
  }
  yield { leaves, index };
}

/** The present rows of some keys, a message at a time. What is withheld is not there. */
export function* readKeys(
  store: Store,
  keys: readonly string[],
  lets: Lets = () => true,
): Generator<{ rows: SentRow[]; index: bigint }> {
  for (let at = 0; at < keys.length;) {
    yield viewed(store, (view) => {
      const rows: SentRow[] = [];
      for (let left = CHUNK_BYTES; at < keys.length && left > 0; at++) {
        const found = rowOf(view, keys[at]!, view.get(keys[at]!));
        const isSent = found.isAbsent || lets(found.scope);
        const row = isSent ? found : { ...found, scope: NO_VALUE, value: NO_VALUE, isAbsent: true };
        rows.push(row);
        left -= row.key.length + row.value.length + 32;
      }
      return { rows, index: indexOf(view) };
    });
  }
}

/** The same for one who asks because it has lost them: what is damaged here too is left out, and all ends at a bound. */
export function* readWhole(store: Store, keys: readonly string[]): Generator<SentRow[]> {
  let total = HEALED_BYTES;
  for (let at = 0; at < keys.length && total > 0;) {
    yield viewed(store, (view) => {
      const rows: SentRow[] = [];
      for (let left = CHUNK_BYTES; at < keys.length && left > 0 && total > 0; at++) {
        const key = keys[at]!;
        const value = view.get(key);
        const leaf = view.leaf(slotOf(classOf(key), key)!, key);
        if ((leaf === null) !== (value === null)) continue;
        const row = rowOf(view, key, value);
        rows.push(row);
        const size = row.key.length + row.value.length + 32;
        left -= size;
        total -= size;
      }
      return rows;
    });
  }
}

const NO_VALUE = new Uint8Array(0);

/** One that has a leaf and no value has vanished here: a copy of it elsewhere must not go with it. */
function rowOf(view: Reads, key: string, value: Uint8Array | null): SentRow {
  const leaf = view.leaf(slotOf(classOf(key), key)!, key);
  if ((leaf === null) !== (value === null)) throw entryMissing(key);
  if (leaf === null || value === null) {
    return { key, scope: NO_VALUE, value: NO_VALUE, isAbsent: true };
  }
  return { key, scope: leaf.scope, value, isAbsent: false };
}

function indexOf(view: Reads): bigint {
  return decodeHead(view.meta(HEAD_ROW)!).index;
}

function viewed<T>(store: Store, run: (view: ReadView) => T): T {
  const view = store.view();
  try {
    return run(view);
  } finally {
    view.close();
  }
}
