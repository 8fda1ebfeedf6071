// Rows of the primary without the entries that made them: all of them, those that differ, or those that entries have
// changed which the primary does not have. Each way the anchor comes first and the rows after it, so that the log from the
// anchor on makes up for whatever was written there meanwhile; until it has, the mark says that the rows are of no index.

import { asBuffer, concat, equalBytes } from "@holdfast/shared/bytes";
import { Slices } from "../../storage/commit/slices.ts";
import type { ReadView } from "../../storage/engines/engine.ts";
import { classOf, compareKeys, isLegalKey } from "../../storage/key.ts";
import { reindexStore } from "../../storage/repair/reindex.ts";
import { decodeHead, decodeTimeline, type Head, type Timeline } from "../../storage/rows/head.ts";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";
import { HASH_BYTES, slotOf, TREES } from "../../storage/rows/merkle.ts";
import { MalformedBytes, u16, u32 } from "../../storage/rows/row-bytes.ts";
import type { AdoptedRow, Store, Surplus } from "../../storage/store.ts";
import { protocolBroken, unrelated } from "./failures.ts";
import {
  beginDiff,
  type CopiedChunk,
  copyScope,
  fetchKeys,
  leaves,
  MAX_KEYS,
  MAX_PAGES,
  MAX_SLOTS,
  type SentRow,
  subpages,
} from "./messages.ts";
import { PAGES_OF_TREE } from "./reading-rows.ts";
import {
  type Connection,
  hasCode,
  patiently,
  type Progress,
  type ReceiverParts,
} from "./receiving.ts";

const COPY = "copy:"; // before the last key, in the cursor
const DIFF = "diff:";
const SUBPAGES = 256;
const SUM_BYTES = HASH_BYTES + 4;
const LEAVES_AT_ONCE = 16_384; // about as many are in memory
const KEYS_BYTES = 256 * 1024; // of keys in one request

interface Begun {
  readonly bytes: Uint8Array;
  readonly head: Head;
  readonly pages: Uint8Array;
}

export class RowTaker {
  readonly #parts: ReceiverParts;
  readonly #progress: Progress;
  readonly #connection: Connection;

  constructor(parts: ReceiverParts, progress: Progress, connection: Connection) {
    this.#parts = parts;
    this.#progress = progress;
    this.#connection = connection;
  }

  /** Everything, in the order of keys. Goes on after the cursor where a copy of this log has begun. */
  async copy(): Promise<void> {
    const { store } = this.#parts;
    this.#progress.state = "merkle-sync";
    const half = store.adopting;
    const goesOn = half !== null && isCopied(store);
    const anchor = goesOn ? decodeHead(half.head) : (await this.#begin(true)).head;
    this.#progress.rows = { total: anchor.shared.count + anchor.local.count, done: 0 };
    let after = goesOn ? half.cursor.slice(COPY.length) : "";
    let next = this.#chunk(after);
    for (;;) {
      const chunk = await next;
      const rows = this.#copied(chunk.rows, after);
      after = rows.at(-1)?.key ?? after;
      if (!chunk.isDone) {
        if (rows.length === 0) throw protocolBroken("a chunk without rows");
        next = this.#chunk(after); // while these are written
        next.catch(() => {}); // whoever waits for it hears of it
      }
      await this.#adopt(rows, (last) => COPY + last);
      this.#took(rows.length);
      if (chunk.isDone) return await this.#finish(anchor, chunk.index);
    }
  }

  /** What differs: by the hashes of pages, the sums of subpages, the leaves, and last the rows themselves. */
  async diff(): Promise<void> {
    const { trees } = this.#parts.store;
    this.#progress.state = "merkle-diff";
    this.#progress.rows = { total: null, done: 0 };
    const { head, pages } = await this.#begin(false);
    if (pages.length !== TREES.length * PAGES_OF_TREE * HASH_BYTES) {
      throw protocolBroken("hashes of other pages");
    }
    const differing: number[] = [];
    const slices = new Slices(this.#parts, this.#connection.signal);
    for (let page = 0; page < TREES.length * PAGES_OF_TREE; page++) {
      const own = trees[TREES[Math.floor(page / PAGES_OF_TREE)]!].pageHash(page % PAGES_OF_TREE);
      const theirs = pages.subarray(page * HASH_BYTES, (page + 1) * HASH_BYTES);
      if (!equalBytes(own, theirs)) differing.push(page);
      await slices.pause();
    }
    const slots: Slot[] = [];
    for (let at = 0; at < differing.length; at += MAX_PAGES) {
      slots.push(...(await this.#slots(differing.slice(at, at + MAX_PAGES))));
    }
    this.#progress.state = "merkle-sync";
    let index = head.index;
    for (const group of groupsOf(slots)) {
      const seen = await this.#mendSlots(group);
      if (seen > index) index = seen;
    }
    await this.#finish(head, index);
  }

  /** Gives up the entries above the fork: the keys that they changed become what they are at the primary. */
  async rewind(fork: bigint, chain: Uint8Array): Promise<void> {
    const { store, ports } = this.#parts;
    this.#progress.state = "merkle-sync";
    const surplus = await store.surplus(fork);
    if (!equalBytes(surplus.position.chain, chain)) throw unrelated();
    await ports.giveUp(surplus);
    const left = leftOf(surplus, store.adopting);
    this.#progress.rows = { total: left.length, done: 0 };
    // Kept beforehand: the rows of each step may be as new as this, or newer, and then the mark is written again.
    let pending: AdoptedRow[] = [];
    for await (const { rows, index } of this.#fetched(left)) {
      pending = rows;
      await ports.marks.write(index);
      await this.#split(pending, (some) => store.rewind(surplus, some));
      this.#took(pending.length);
    }
    if (left.length === 0) await store.rewind(surplus, []);
    await ports.rewound(fork);
  }

  /** Leaves and sums follow the rows again, whatever they were: then a comparison shows what is wrong. */
  async mendOwn(): Promise<void> {
    const { store, log } = this.#parts;
    const mending = {
      viewing: <T>(run: (view: ReadView) => Promise<T>) => store.viewing(run),
      mend: (fn: Parameters<typeof store.mend>[0]) => store.mend(fn, { following: true }),
    };
    const { mended, removed, sums } = await reindexStore(
      mending,
      this.#parts,
      this.#connection.signal,
    );
    if (mended.count + removed.count + sums === 0) return;
    log.error("damage in storage", {
      mended: `${mended.count} leaves, ${removed.count} without a row, ${sums} sums`,
    });
  }

  // ── what all of them do ──

  async #begin(copy: boolean): Promise<Begun> {
    const { store, ports } = this.#parts;
    const { link, epoch, signal } = this.#connection;
    const { head, timeline, pages, keysVersion } = await link.call(
      beginDiff,
      { epoch, isCopy: copy },
      { signal },
    );
    // What the log says of keys before the anchor is not going to be read.
    if (keysVersion !== ports.keysVersion()) await ports.keys(link);
    const anchor = { head, timeline: readTimeline(timeline) };
    await store.beginAdopting(anchor);
    const decoded = decodeHead(head); // authentic by now
    this.#progress.announce(decoded.index);
    return { bytes: head, head: decoded, pages };
  }

  /** The mark first: after a crash nobody takes the rows for those of one index. */
  async #finish(anchor: Head, index: bigint): Promise<void> {
    const { store, ports } = this.#parts;
    this.#connection.signal.throwIfAborted();
    await ports.marks.write(index);
    const isStill = index === anchor.index; // nothing was written there meanwhile
    await store.finishAdopting(isStill ? anchor : null);
    if (isStill) await ports.marks.write(null);
    this.#progress.lastRemote = store.index;
  }

  #chunk(after: string): Promise<CopiedChunk> {
    const { link, epoch, signal } = this.#connection;
    return link.call(copyScope, { epoch, after }, { signal });
  }

  /** In order, and after the one before: otherwise something would be left out. */
  #copied(sent: readonly SentRow[], after: string): AdoptedRow[] {
    let last = after;
    return sent.map((row) => {
      if (row.isAbsent || compareKeys(row.key, last) <= 0)
        throw protocolBroken("rows out of order");
      last = row.key;
      return adopted(row);
    });
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

  /** Makes the rows of some slots those of the primary; gives the index at which they were read there. */
  async #mendSlots(group: readonly Slot[]): Promise<bigint> {
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
    this.#progress.rows.total = (this.#progress.rows.total ?? 0) + gone.length + wanted.length;
    for (let at = 0; at < gone.length; at += MAX_KEYS) {
      await this.#adopt(gone.slice(at, at + MAX_KEYS).map(absent), () => DIFF);
    }
    this.#took(gone.length);
    for await (const sent of this.#fetched(wanted)) {
      if (sent.index > index) index = sent.index;
      await this.#adopt(sent.rows, () => DIFF);
      this.#took(sent.rows.length);
    }
    this.#progress.announce(index);
    return index;
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
  async *#fetched(
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

  #took(rows: number): void {
    this.#progress.rows.done += rows;
    this.#parts.figures?.took(rows);
  }

  #adopt(rows: readonly AdoptedRow[], cursor: (last: string) => string): Promise<void> {
    const { store } = this.#parts;
    return this.#split(rows, (some) => store.adopt(some, cursor(some.at(-1)?.key ?? "")));
  }

  /** In as many transactions as the storage here needs, each when there is room. */
  async #split(
    rows: readonly AdoptedRow[],
    write: (rows: readonly AdoptedRow[]) => Promise<void>,
  ): Promise<void> {
    if (rows.length === 0) return;
    const { timers } = this.#parts;
    try {
      await patiently({ timers, progress: this.#progress }, this.#connection.signal, () =>
        write(rows),
      );
    } catch (error) {
      if (!hasCode(error, "log-group-too-large") || rows.length === 1) throw error;
      const half = Math.ceil(rows.length / 2);
      await this.#split(rows.slice(0, half), write);
      await this.#split(rows.slice(half), write);
    }
  }
}

interface Slot {
  readonly slot: number;
  /** Leaves that the primary has there. */
  readonly count: number;
}

const NO_LEAF = new Uint8Array(0);

/** Whether what is half taken over is a copy, which goes on after its cursor; also before its first row. */
export function isCopied({ adopting, head }: Store): boolean {
  if (adopting?.kind !== "adopt" || head === null) return false;
  const isEmpty = head.shared.count + head.local.count === 0;
  return adopting.cursor.startsWith(COPY) || (adopting.cursor === "" && isEmpty);
}

/** So many slots at a time that their leaves fit. */
function* groupsOf(slots: readonly Slot[]): Generator<Slot[]> {
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

/** The surplus keys that a rewind before a crash has not reached. */
function leftOf(
  { keys, fork }: Surplus,
  half: { readonly kind: string; readonly cursor: string; readonly head: Uint8Array } | null,
): readonly string[] {
  if (half?.kind !== "rewind" || decodeHead(half.head).index !== fork) return keys;
  return keys.filter((key) => compareKeys(key, half.cursor) > 0);
}

function adopted({ key, scope, value, isAbsent }: SentRow): AdoptedRow {
  if (isAbsent) return absent(key);
  return { key, scope, value };
}

function absent(key: string): AdoptedRow {
  return { key, scope: CORE_SCOPE, value: null };
}

function leavesCluster(key: string): boolean {
  return isLegalKey(key) && classOf(key) !== "ignored";
}

function readTimeline(bytes: Uint8Array): Timeline {
  try {
    return decodeTimeline(bytes);
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no timeline");
    throw error;
  }
}
