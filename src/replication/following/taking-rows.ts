// Rows of the primary without the entries that made them: all of them, those that differ, or those that entries have
// changed which the primary does not have. Each way the anchor comes first and the rows after it, so that the log from the
// anchor on makes up for whatever was written there meanwhile; until it has, the mark says that the rows are of no index.

import { equalBytes } from "@holdfast/shared/bytes";
import { withTightHeap } from "../../storage/following/tight-heap.ts";
import type { ReadView } from "../../storage/engines/engine.ts";
import { compareKeys } from "../../storage/key.ts";
import { reindexStore } from "../../storage/repair/reindex.ts";
import { decodeHead, decodeTimeline, type Head, type Timeline } from "../../storage/rows/head.ts";
import { TREES } from "../../storage/rows/merkle.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import type { AdoptedRow, Store, Surplus } from "../../storage/store.ts";
import { protocolBroken, unrelated } from "../stream/failures.ts";
import { MAX_KEYS } from "../stream/messages.ts";
import { absent, groupsOf, inOrder, PrimaryRows, type Slot } from "../stream/primary-rows.ts";
import {
  type Connection,
  hasCode,
  patiently,
  type Progress,
  type ReceiverParts,
} from "../stream/receiving.ts";

const COPY = "copy:"; // before the last key, in the cursor
const DIFF = "diff:";

interface Begun {
  readonly bytes: Uint8Array;
  readonly head: Head;
  readonly pages: Uint8Array;
}

export class RowTaker {
  readonly #parts: ReceiverParts;
  readonly #progress: Progress;
  readonly #connection: Connection;
  readonly #theirs: PrimaryRows;

  constructor(parts: ReceiverParts, progress: Progress, connection: Connection) {
    this.#parts = parts;
    this.#progress = progress;
    this.#connection = connection;
    this.#theirs = new PrimaryRows(parts, connection);
  }

  /** Everything, in the order of keys. Goes on after the cursor where a copy of this log has begun. */
  copy(): Promise<void> {
    return withTightHeap(() => this.#copy());
  }

  async #copy(): Promise<void> {
    const { store } = this.#parts;
    this.#progress.state = "merkle-sync";
    const half = store.adopting;
    const goesOn = half !== null && isCopied(store);
    const anchor = goesOn ? decodeHead(half.head) : (await this.#begin(true)).head;
    this.#progress.rows = { total: anchor.shared.count + anchor.local.count, done: 0 };
    let after = goesOn ? half.cursor.slice(COPY.length) : "";
    let next = this.#theirs.chunk(after);
    for (;;) {
      const { rows, isDone, index } = inOrder(await next, after);
      after = rows.at(-1)?.key ?? after;
      if (!isDone) {
        next = this.#theirs.chunk(after); // while these are written
        next.catch(() => {}); // whoever waits for it hears of it
      }
      await this.#adopt(rows, (last) => COPY + last);
      this.#took(rows.length);
      if (isDone) return await this.#finish(anchor, index);
    }
  }

  /** What differs: by the hashes of pages, the sums of subpages, the leaves, and last the rows themselves. */
  async diff(): Promise<void> {
    this.#progress.state = "merkle-diff";
    this.#progress.rows = { total: null, done: 0 };
    const { head, pages } = await this.#begin(false);
    const slots = await this.#theirs.differing(pages, TREES);
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
    for await (const { rows, index } of this.#theirs.fetched(left)) {
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
    const { signal } = this.#connection;
    const { mended, removed, sums } = await reindexStore(mending, this.#parts, { signal });
    if (mended.count + removed.count + sums === 0) return;
    log.error("damage in storage", {
      mended: `${mended.count} leaves, ${removed.count} without a row, ${sums} sums`,
    });
  }

  // ── what all of them do ──

  async #begin(copy: boolean): Promise<Begun> {
    const { store, ports } = this.#parts;
    const { link } = this.#connection;
    const { head, timeline, pages } = await this.#theirs.begin(copy);
    await ports.keys(link); // what the log says of them before the anchor is not read, and another key may have the place of one of these
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

  /** Makes the rows of some slots those of the primary; gives the index at which they were read there. */
  async #mendSlots(group: readonly Slot[]): Promise<bigint> {
    const { gone, wanted, index: seen } = await this.#theirs.differences(group);
    let index = seen;
    this.#progress.rows.total = (this.#progress.rows.total ?? 0) + gone.length + wanted.length;
    for (let at = 0; at < gone.length; at += MAX_KEYS) {
      await this.#adopt(gone.slice(at, at + MAX_KEYS).map(absent), () => DIFF);
    }
    this.#took(gone.length);
    for await (const sent of this.#theirs.fetched(wanted)) {
      if (sent.index > index) index = sent.index;
      await this.#adopt(sent.rows, () => DIFF);
      this.#took(sent.rows.length);
    }
    this.#progress.announce(index);
    return index;
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

/** Whether what is half taken over is a copy, which goes on after its cursor; also before its first row. */
export function isCopied({ adopting, head }: Store): boolean {
  if (adopting?.kind !== "adopt" || head === null) return false;
  const isEmpty = head.shared.count + head.local.count === 0;
  return adopting.cursor.startsWith(COPY) || (adopting.cursor === "" && isEmpty);
}

/** The surplus keys that a rewind before a crash has not reached. */
function leftOf(
  { keys, fork }: Surplus,
  half: { readonly kind: string; readonly cursor: string; readonly head: Uint8Array } | null,
): readonly string[] {
  if (half?.kind !== "rewind" || decodeHead(half.head).index !== fork) return keys;
  return keys.filter((key) => compareKeys(key, half.cursor) > 0);
}

function readTimeline(bytes: Uint8Array): Timeline {
  try {
    return decodeTimeline(bytes);
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no timeline");
    throw error;
  }
}
