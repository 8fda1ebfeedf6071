// How long the log is kept: everything that a known secondary has not acknowledged, but not what is too old,
// unless it is among the last 16,384 entries; and never more than a size, since an entry may have many
// megabytes.

import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos, Timer, Timers } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { LogRow } from "./engines/engine.ts";
import type { Head, Tail } from "./rows/head.ts";
import { decodeEntryHeader } from "./rows/log-entry.ts";
import { Slices } from "./commit/slices.ts";
import type { Store } from "./store.ts";

const EVERY = 1024n; // transactions between two looks
const PARTS = 16n; // of the size: one of them more is a look as well
const MAX_BYTES = 2n * 1024n ** 3n;
const CHUNK = 64; // entries removed in one transaction
// Each is read whole, and what is removed is overwritten: commits wait that long.
const CHUNK_BYTES = 1024 * 1024;
/** What others still need of what is to go is looked at again so often. */
const SCRUB_EVERY: Nanos = 5n * SECOND;

export interface Retention {
  /** Default 2 GiB. */
  readonly bytes?: bigint;
  /** Default 24 h. */
  readonly age?: Nanos;
  /** Default 16,384. */
  readonly minEntries?: bigint;
  /** The last index that every known secondary has made durable; null when there is none. */
  readonly acknowledged?: bigint | null;
  /** The first index that somebody needs who takes over all rows just now; kept up to twice the size and age. */
  readonly pinned?: bigint | null;
  /** What is up to this index is not kept for longer than known secondaries need it, however little and young it is: it may hold what is to
   *  be here no more. `isLate`: not for them either. Default: nothing is. */
  readonly scrub?: { readonly index: bigint; readonly isLate: boolean } | null;
}

/** Removes what need not be kept, oldest first, in small transactions. Returns how many entries. */
export async function trimLog(
  store: Store,
  world: { readonly clock: Clock; readonly timers: Timers },
  retention: Retention = {},
  isOpen: () => boolean = () => true,
  trim: (tail: Tail) => Promise<void> = (tail) => store.trim(tail),
): Promise<number> {
  const slices = new Slices(world);
  let removed = 0;
  while (isOpen()) {
    const { head, tail } = store;
    if (head === null || tail === null) return removed;
    const next = nextTail(store, head, tail, world.clock.now(), retention);
    if (next.first === tail.first) return removed;
    await trim(next);
    removed += Number(next.first - tail.first);
    await slices.pause();
  }
  return removed;
}

export interface TrimmerParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly retention: () => Retention;
  /** Calls when less is to be kept than before. Default: nobody does. */
  readonly onLess?: (wake: () => void) => () => void;
}

/** Trims by itself, when it opens, after every 1,024 entries, and when much has been added. */
export class Trimmer {
  readonly #store: Store;
  readonly #work: Recurring;
  readonly #onLess: NonNullable<TrimmerParts["onLess"]>;
  #endLess: () => void = () => {};
  #unwatch: (() => void) | null = null;
  #again: Timer | null = null;
  #scrubbed: bigint | null = null;

  constructor({ store, clock, timers, log, retention, onLess }: TrimmerParts) {
    this.#store = store;
    this.#onLess = onLess ?? (() => () => {});
    this.#work = new Recurring({
      trouble: "could not trim the log",
      run: async (isOpen) => {
        const kept = retention();
        if (isOpen()) this.#watch(kept.bytes);
        // One that is half taken over keeps its log until it is whole.
        const trims = () => isOpen() && store.adopting === null;
        await trimLog(store, { clock, timers }, kept, trims);
        const { scrub = null } = kept;
        const isLeft = scrub !== null && (store.tail?.first ?? 0n) <= scrub.index;
        if (scrub !== null && !isLeft && this.#scrubbed !== scrub.index) {
          await store.scrub();
          this.#scrubbed = scrub.index;
        }
        this.#again?.cancel();
        this.#again =
          isLeft && isOpen() ? timers.after(SCRUB_EVERY, () => this.#work.wake()) : null;
      },
      timers,
      log,
    });
  }

  open(): void {
    this.#endLess = this.#onLess(() => this.#work.wake());
    this.#work.open();
  }

  /** Waits for the transaction that is on its way; nothing follows it. */
  async close(): Promise<void> {
    this.#endLess();
    this.#unwatch?.();
    this.#unwatch = null;
    await this.#work.close();
    this.#again?.cancel();
    this.#again = null;
  }

  #watch(bytes = MAX_BYTES): void {
    this.#unwatch?.();
    const store = this.#store;
    const enough = (store.head?.logBytes ?? 0n) + bytes / PARTS;
    const wake = () => {
      unwatch();
      this.#work.wake();
    };
    const ends = [
      store.onIndex(store.index + EVERY, wake),
      store.onCommit(() => {
        if ((store.head?.logBytes ?? 0n) > enough) wake();
      }),
    ];
    const unwatch = () => ends.forEach((end) => end());
    this.#unwatch = unwatch;
  }
}

function nextTail(store: Store, head: Head, tail: Tail, now: Instant, retention: Retention): Tail {
  const min = retention.minEntries ?? 16_384n;
  const max = retention.bytes ?? MAX_BYTES;
  const age = retention.age ?? 24n * HOUR;
  const acknowledged = retention.acknowledged ?? head.index;
  const pinned = retention.pinned ?? null;
  let { first, chainBefore, logBytesBefore } = tail;
  // Entries may have megabytes: those that stay whatever they hold are not read.
  const beyond = head.index - tail.first - min + 1n;
  const scrub = retention.scrub ?? null;
  const isScrubbed = scrub !== null && tail.first <= scrub.index;
  const few = beyond < CHUNK && head.logBytes - logBytesBefore <= max && !isScrubbed;
  const reach = (index: bigint) => (pinned !== null && index >= pinned ? 2n : 1n);
  for (const { index, entry: bytes } of oldest(store, tail.first, few ? Number(beyond) : CHUNK)) {
    const times = reach(index);
    const tooLarge = head.logBytes - logBytesBefore > times * max;
    const goes = scrub !== null && index <= scrub.index;
    if (goes && (scrub.isLate || index <= acknowledged)) {
      const { chain } = decodeEntryHeader(bytes);
      first = index + 1n;
      chainBefore = chain;
      logBytesBefore += BigInt(bytes.length);
      continue;
    }
    if (head.index - index < min && !tooLarge) break;
    const entry = decodeEntryHeader(bytes);
    const tooOld = now - entry.time > times * age;
    const needed = index > acknowledged || times > 1n;
    if (needed && !tooLarge && !tooOld) break;
    first = index + 1n;
    chainBefore = entry.chain;
    logBytesBefore += BigInt(bytes.length);
  }
  return { first, chainBefore, logBytesBefore };
}

/** At most `limit` entries, and no further one after a megabyte; large ones are read one by one. */
function* oldest(store: Store, from: bigint, limit: number): Generator<LogRow> {
  let left = CHUNK_BYTES;
  for (let count = 0, next = from; count < limit && left > 0;) {
    const average = count === 0 ? CHUNK_BYTES : (CHUNK_BYTES - left) / count;
    const fit = Math.max(1, Math.floor(left / average));
    const rows = store.logs(next, Math.min(limit - count, fit));
    if (rows.length === 0) return;
    yield* rows;
    for (const { entry } of rows) left -= entry.length;
    count += rows.length;
    next = rows.at(-1)!.index + 1n;
  }
}
