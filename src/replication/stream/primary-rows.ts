// What a secondary asks its primary of rows: those after a key, hashes, sums and leaves, and those of some keys. Answers are held
// against what was asked, and against what is here.

import { asBuffer, concat, equalBytes } from "@holdfast/shared/bytes";
import { Slices } from "../../storage/commit/slices.ts";
import { classOf, compareKeys, isLegalKey } from "../../storage/key.ts";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";
import { HASH_BYTES, slotOf, type TreeName } from "../../storage/rows/merkle.ts";
import { u16, u32 } from "../../storage/rows/row-bytes.ts";
import type { AdoptedRow } from "../../storage/store.ts";
import { protocolBroken } from "./failures.ts";
import {
  beginDiff,
  type Begun,
  type CopiedChunk,
  copyScope,
  fetchKeys,
  leaves,
  MAX_KEYS,
  MAX_PAGES,
  MAX_SLOTS,
  type SentRow,
  subpages,
  withheld,
  type WithheldAnswer,
} from "./messages.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { PAGES_OF_TREE } from "../sending/reading-rows.ts";
import type { Connection, LinkParts } from "./receiving.ts";

const SUBPAGES = 256;
const SUM_BYTES = HASH_BYTES + 4;
const LEAVES_AT_ONCE = 16_384; // about as many are in memory
const KEYS_BYTES = 256 * 1024; // of keys in one request

export interface Differences {
  readonly gone: readonly string[];
  readonly wanted: readonly string[];
  readonly index: bigint;
}

export class PrimaryRows {
  readonly #parts: LinkParts;
  readonly #connection: Connection;

  constructor(parts: LinkParts, connection: Connection) {
    this.#parts = parts;
    this.#connection = connection;
  }

  /** `filter`: the version of what is withheld, as it is known here. */
  begin(isCopy: boolean, filter = ""): Promise<Begun> {
    const { link, epoch, signal } = this.#connection;
    return link.call(beginDiff, { epoch, isCopy, filter }, { signal });
  }

  /** What is withheld, where that is another version. A primary that does not know the question is of an earlier version and withholds nothing; where
   *  something is withheld by what is known here that is no answer, and nothing is lifted by it. */
  async withheld(version: string): Promise<WithheldAnswer> {
    const { link, epoch, signal } = this.#connection;
    try {
      return await link.call(withheld, { epoch, version }, { signal });
    } catch (error) {
      const isUnknown = error instanceof StatusError && error.status === Status.unimplemented;
      if (!isUnknown || version !== "") throw error;
      return { version, isSame: true, mounts: [], namespaces: [] };
    }
  }

  chunk(after: string): Promise<CopiedChunk> {
    const { link, epoch, signal } = this.#connection;
    return link.call(copyScope, { epoch, after }, { signal });
  }

  /** Of these trees, by the hashes of their pages: the slots that differ. */
  async differing(pages: Uint8Array, names: readonly TreeName[]): Promise<Slot[]> {
    const { trees } = this.#parts.store;
    const count = names.length * PAGES_OF_TREE;
    if (pages.length !== count * HASH_BYTES) throw protocolBroken("hashes of other pages");
    const differing: number[] = [];
    const slices = new Slices(this.#parts, this.#connection.signal);
    for (let page = 0; page < count; page++) {
      const own = trees[names[Math.floor(page / PAGES_OF_TREE)]!].pageHash(page % PAGES_OF_TREE);
      const theirs = pages.subarray(page * HASH_BYTES, (page + 1) * HASH_BYTES);
      if (!equalBytes(own, theirs)) differing.push(page);
      await slices.pause();
    }
    const slots: Slot[] = [];
    for (let at = 0; at < differing.length; at += MAX_PAGES) {
      slots.push(...(await this.#slots(differing.slice(at, at + MAX_PAGES))));
    }
    return slots;
  }

  /** The slots of some pages whose sums differ, with the number of leaves that the primary has there. */
  async #slots(pages: readonly number[]): Promise<Slot[]> {
    const { link, epoch, signal } = this.#connection;
    const { trees } = this.#parts.store;
    const named = concat(...pages.map((page) => u16(page)));
    const { sums } = await link.call(subpages, { epoch, pages: named }, { signal });
    if (sums.length !== pages.length * SUBPAGES * SUM_BYTES) throw protocolBroken("other sums");
    const found: Slot[] = [];
    for (const [i, page] of pages.entries()) {
      for (let sub = 0; sub < SUBPAGES; sub++) {
        const slot = page * SUBPAGES + sub;
        const at = (i * SUBPAGES + sub) * SUM_BYTES;
        const count = asBuffer(sums).readUInt32BE(at + HASH_BYTES);
        const own = trees.of(slot).row(slot);
        const isSame = equalBytes(own.sum, sums.subarray(at, at + HASH_BYTES));
        if (!isSame || own.count !== count) found.push({ slot, count });
      }
    }
    return found;
  }

  /** What of some slots is another here than there: keys that are gone there, keys that are to be fetched, and when that was seen. */
  async differences(group: readonly Slot[]): Promise<Differences> {
    const { link, epoch, signal } = this.#connection;
    const slots = new Set(group.map(({ slot }) => slot));
    const theirs = new Map<string, Uint8Array>();
    let index = 0n;
    const named = concat(...group.map(({ slot }) => u32(slot)));
    for await (const sent of link.stream(leaves, { epoch, slots: named }, { signal })) {
      if (sent.index > index) index = sent.index;
      for (const { slot, key, hash } of sent.leaves) {
        if (!slots.has(slot) || !leavesCluster(key) || slotOf(classOf(key), key) !== slot) {
          throw protocolBroken("leaves of another place");
        }
        theirs.set(key, hash);
      }
    }
    const own = this.#ownLeaves(group);
    const gone = [...own.keys()].filter((key) => !theirs.has(key)).toSorted(compareKeys);
    const wanted = [...theirs]
      .filter(([key, hash]) => !equalBytes(own.get(key) ?? NO_LEAF, hash))
      .map(([key]) => key)
      .toSorted(compareKeys);
    return { gone, wanted, index };
  }

  #ownLeaves(group: readonly Slot[]): Map<string, Uint8Array> {
    const found = new Map<string, Uint8Array>();
    const view = this.#parts.store.view();
    try {
      for (const { slot } of group) {
        for (let after: string | null = ""; after !== null;) {
          const page = view.leaves({ slot, key: after }, 64);
          const own = page.filter((leaf) => leaf.slot === slot);
          for (const { key, hash } of own) found.set(key, hash);
          after = own.length === 64 ? own.at(-1)!.key : null;
        }
      }
    } finally {
      view.close();
    }
    return found;
  }

  /** Rows of some keys as the primary has them now, in their order. */
  async *fetched(
    keys: readonly string[],
  ): AsyncGenerator<{ readonly rows: AdoptedRow[]; readonly index: bigint }> {
    const { link, epoch, signal } = this.#connection;
    for (let at = 0; at < keys.length;) {
      const some = firstOf(keys, at);
      let next = 0;
      for await (const { rows, index } of link.stream(
        fetchKeys,
        { epoch, keys: some },
        { signal },
      )) {
        const isRight = rows.every(({ key }, i) => key === some[next + i]);
        if (!isRight) throw protocolBroken("rows of other keys");
        next += rows.length;
        yield { rows: rows.map(adopted), index };
      }
      if (next !== some.length) throw protocolBroken("fewer rows than keys");
      at += some.length;
    }
  }
}

export interface Slot {
  readonly slot: number;
  /** Leaves that the primary has there. */
  readonly count: number;
}

const NO_LEAF = new Uint8Array(0);

export interface TakenChunk {
  readonly rows: readonly AdoptedRow[];
  readonly isDone: boolean;
  readonly index: bigint;
}

/** In order, and after the one before: otherwise something would be left out. Neighbours mostly have the same scope: they share its bytes. */
export function inOrder({ rows: sent, isDone, index }: CopiedChunk, after: string): TakenChunk {
  if (sent.length === 0 && !isDone) throw protocolBroken("a chunk without rows");
  let last = after;
  let scope = asBuffer(CORE_SCOPE);
  const rows = sent.map((row) => {
    if (row.isAbsent || compareKeys(row.key, last) <= 0) throw protocolBroken("rows out of order");
    last = row.key;
    if (!equalBytes(scope, row.scope)) scope = asBuffer(row.scope);
    return { key: row.key, scope, value: row.value };
  });
  return { rows, isDone, index };
}

/** So many slots at a time that their leaves fit. */
export function* groupsOf(slots: readonly Slot[]): Generator<Slot[]> {
  let group: Slot[] = [];
  let count = 0;
  for (const slot of slots) {
    if (group.length === MAX_SLOTS || (group.length > 0 && count + slot.count > LEAVES_AT_ONCE)) {
      yield group;
      group = [];
      count = 0;
    }
    group.push(slot);
    count += slot.count;
  }
  if (group.length > 0) yield group;
}

/** As many keys as one request may name. */
function firstOf(keys: readonly string[], from: number): string[] {
  const some: string[] = [];
  for (let bytes = 0; from + some.length < keys.length && some.length < MAX_KEYS;) {
    const key = keys[from + some.length]!;
    bytes += Buffer.byteLength(key);
    if (some.length > 0 && bytes > KEYS_BYTES) break;
    some.push(key);
  }
  return some;
}

function adopted({ key, scope, value, isAbsent }: SentRow): AdoptedRow {
  if (isAbsent) return absent(key);
  return { key, scope, value };
}

export function absent(key: string): AdoptedRow {
  return { key, scope: CORE_SCOPE, value: null };
}

function leavesCluster(key: string): boolean {
  return isLegalKey(key) && classOf(key) !== "ignored";
}
