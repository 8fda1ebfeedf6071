// The newest entries of the log in memory, as bytes, for all who are sent them; and the heads that were stored with
// them. While somebody follows, what is committed is kept as it was written until everybody was sent it: what is let go
// soon costs the collector nothing. Where nobody follows it costs nothing at all. A commit never waits for it.

import { EMPTY } from "@holdfast/shared/bytes";
import type { LogRow } from "../../storage/engines/engine.ts";
import type { Store } from "../../storage/store.ts";

const MAX_ENTRIES = 16_384;
const SLACK = 1024; // entries beyond, so that the list is not moved for each
const GONE = 1024; // places of entries that everybody was sent, for the same reason
const MAX_BYTES = 64 * 1024 * 1024;
/** Heads that are kept lie so far apart, but for the newest. */
const HEAD_STEP = 64n;
const MAX_HEADS = 512;
const FIRST_LOOK = 4; // an entry may have many megabytes: how large they are is seen first

export interface StoredHead {
  readonly index: bigint;
  readonly bytes: Uint8Array;
}

/** Somebody who reads what comes, until it ends that. */
export interface Follower {
  /** Everything before this index was sent. */
  sent(next: bigint): void;
  end(): void;
}

interface Bounds {
  readonly entries: number;
  readonly bytes: number;
}

export class LogTail {
  readonly #store: Store;
  readonly #unwatch: () => void;
  readonly #followers = new Set<{ next: bigint }>();
  /** Those that everybody was sent are gone; their places are, now and then. */
  #entries: Uint8Array[] = [];
  #gone = 0;
  #first = 0n; // index of the first place
  #bytes = 0;
  readonly #heads: StoredHead[] = [];

  constructor(store: Store) {
    this.#store = store;
    const unwatch = [
      store.onLog((rows) => this.#append(rows)),
      store.onCommit(() => this.#keepHead()),
    ];
    this.#unwatch = () => unwatch.forEach((end) => end());
    this.#keepHead();
  }

  follow(next: bigint): Follower {
    const follower = { next };
    this.#followers.add(follower);
    return {
      sent: (index) => {
        follower.next = index;
        this.#letGo();
      },
      end: () => {
        this.#followers.delete(follower);
        if (this.#followers.size === 0) this.#forget(0n);
        else this.#letGo();
      },
    };
  }

  close(): void {
    this.#unwatch();
    this.#forget(0n);
    this.#heads.length = 0;
  }

  /** Durable entries from an index on, at least one if there is one; null where that one is not kept any more. */
  read(from: bigint, max: Bounds): Uint8Array[] | null {
    const last = this.#store.index;
    if (from > last) return [];
    const at = Number(from - this.#first);
    const isKnown = at >= this.#gone && at < this.#entries.length;
    const entries = isKnown ? this.#entries.slice(at, at + max.entries) : this.#load(from, max);
    if (entries.length === 0) return null;
    return within(entries, { ...max, entries: Math.min(max.entries, Number(last - from) + 1) });
  }

  /** Whether so much is durable from an index on. What is not in memory is much. */
  has(from: bigint, { entries, bytes }: Bounds): boolean {
    const count = Number(this.#store.index - from) + 1;
    if (count >= entries || count < 1) return count >= entries;
    const at = Number(from - this.#first);
    if (at < this.#gone || at + count > this.#entries.length) return true;
    let sum = 0;
    for (let i = at; i < at + count && sum < bytes; i++) sum += this.#entries[i]!.length;
    return sum >= bytes;
  }

  /** The newest known head whose index is in this range. */
  headWithin(from: bigint, to: bigint): StoredHead | null {
    return this.#heads.findLast(({ index }) => index >= from && index <= to) ?? null;
  }

  /** Those of the log itself. What continues what is here stays. */
  #load(from: bigint, max: Bounds): Uint8Array[] {
    const rows = this.#store.logs(from, Math.min(FIRST_LOOK, max.entries));
    if (rows[0]?.index !== from) return [];
    const average = rows.reduce((sum, { entry }) => sum + entry.length, 0) / rows.length;
    const more = Math.min(max.entries, Math.floor(max.bytes / average)) - rows.length;
    if (more > 0 && rows.length === FIRST_LOOK) {
      rows.push(...this.#store.logs(from + BigInt(rows.length), more));
    }
    const entries = rows.map(({ entry }) => entry);
    const end = this.#first + BigInt(this.#entries.length);
    if (from > end || this.#entries.length === 0) this.#forget(from);
    else if (from < end) return entries; // who is far behind does not push out what the others need
    for (const entry of entries) this.#push(entry);
    this.#drop();
    return entries;
  }

  #append(rows: readonly LogRow[]): void {
    const [first] = rows;
    if (first === undefined || this.#followers.size === 0) return;
    const end = this.#first + BigInt(this.#entries.length);
    if (this.#entries.length === 0 || first.index !== end) this.#forget(first.index);
    for (const { entry } of rows) this.#push(entry);
    this.#drop();
  }

  #push(entry: Uint8Array): void {
    this.#entries.push(entry);
    this.#bytes += entry.length;
  }

  #forget(first: bigint): void {
    this.#entries = [];
    this.#gone = 0;
    this.#bytes = 0;
    this.#first = first;
  }

  #letGo(): void {
    let needed = this.#first + BigInt(this.#entries.length);
    for (const { next } of this.#followers) if (next < needed) needed = next;
    this.#release(Number(needed - this.#first));
  }

  #drop(): void {
    const { length } = this.#entries;
    if (length - this.#gone <= MAX_ENTRIES + SLACK && this.#bytes <= MAX_BYTES) return;
    let [gone, bytes] = [this.#gone, this.#bytes];
    for (; gone < length && (length - gone > MAX_ENTRIES || bytes > MAX_BYTES); gone++) {
      bytes -= this.#entries[gone]!.length;
    }
    this.#release(gone);
  }

  /** Those before this place. */
  #release(to: number): void {
    for (; this.#gone < to; this.#gone++) {
      this.#bytes -= this.#entries[this.#gone]!.length;
      this.#entries[this.#gone] = EMPTY;
    }
    const isAll = this.#gone === this.#entries.length;
    if (this.#gone < GONE && !isAll) return;
    this.#first += BigInt(this.#gone);
    if (isAll) this.#entries.length = 0;
    else this.#entries.splice(0, this.#gone);
    this.#gone = 0;
  }

  #keepHead(): void {
    const { index, headBytes: bytes } = this.#store;
    if (bytes === null) return;
    const heads = this.#heads;
    const last = heads.at(-1);
    const before = heads.at(-2);
    const isClose = before !== undefined && last!.index - before.index < HEAD_STEP;
    if (last?.index === index || isClose) heads.pop(); // a repair makes another one of the same index
    heads.push({ index, bytes });
    if (heads.length > MAX_HEADS) heads.shift();
  }
}

function within(entries: readonly Uint8Array[], max: Bounds): Uint8Array[] {
  let bytes = 0;
  const fits = entries.slice(0, max.entries).findIndex((entry, i) => {
    bytes += entry.length;
    return i > 0 && bytes > max.bytes;
  });
  return entries.slice(0, fits < 0 ? max.entries : fits);
}
