// How long the log is kept: everything that a known secondary has not
// acknowledged, but never more than a size or an age, and never less than 16,384 entries.

import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { LogRow } from "./engines/engine.ts";
import type { Head, Tail } from "./rows/head.ts";
import { decodeEntryHeader } from "./rows/log-entry.ts";
import { Slices } from "./commit/slices.ts";
import type { Store } from "./store.ts";

const HOUR: Nanos = 3_600_000_000_000n;
const EVERY = 1024n; // transactions between two looks
const CHUNK = 64; // entries removed in one transaction
// Each is read whole, and what is removed is overwritten: commits wait that long.
const CHUNK_BYTES = 1024 * 1024;

export interface Retention {
  /** Default 2 GiB. */
  readonly bytes?: bigint;
  /** Default 24 h. */
  readonly age?: Nanos;
  /** Default 16,384. */
  readonly leastEntries?: bigint;
  /** The last index that every known secondary has made durable; null when there is none. */
  readonly acknowledged?: bigint | null;
}

/** Removes what need not be kept, oldest first, in small transactions. Returns how many entries. */
export async function trimLog(
  store: Store,
  world: { readonly clock: Clock; readonly timers: Timers },
  retention: Retention = {},
  signal?: AbortSignal,
): Promise<number> {
  const slices = new Slices(world, signal);
  let removed = 0;
  for (;;) {
    const { head, tail } = store;
    if (head === null || tail === null) return removed;
    const next = nextTail(store, head, tail, world.clock.now(), retention);
    if (next.first === tail.first) return removed;
    await store.trim(next);
    removed += Number(next.first - tail.first);
    await slices.pause();
  }
}

/** Trims by itself, now and then, for as long as it is not stopped. */
export class Trimmer {
  readonly #trim: (signal: AbortSignal) => Promise<number>;
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  #stop: AbortController | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(
    store: Store,
    world: { readonly clock: Clock; readonly timers: Timers },
    retention: () => Retention,
    onError: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#trim = (signal) => trimLog(store, world, retention(), signal);
    this.#onError = onError;
  }

  start(): void {
    if (this.#stop !== null) return;
    this.#stop = new AbortController();
    this.#wait(this.#stop.signal);
  }

  /** Waits for the transaction that is on its way; nothing follows it. */
  async stop(): Promise<void> {
    this.#stop?.abort();
    this.#stop = null;
    await this.#working;
  }

  #wait(signal: AbortSignal): void {
    const unwatch = this.#store.onIndex(this.#store.index + EVERY, () => {
      this.#working = this.#work(signal);
    });
    signal.addEventListener("abort", unwatch, { once: true });
  }

  /** An error is told and does not end it: a log that is never trimmed fills the disk. */
  async #work(signal: AbortSignal): Promise<void> {
    try {
      await this.#trim(signal);
    } catch (error) {
      if (!signal.aborted) this.#onError(error);
    }
    if (!signal.aborted) this.#wait(signal);
  }
}

function nextTail(store: Store, head: Head, tail: Tail, now: Instant, retention: Retention): Tail {
  const least = retention.leastEntries ?? 16_384n;
  const most = retention.bytes ?? 2n * 1024n ** 3n;
  const age = retention.age ?? 24n * HOUR;
  const acknowledged = retention.acknowledged ?? head.index;
  let { first, chainBefore, logBytesBefore } = tail;
  // Entries may have megabytes: those that stay whatever they hold are not read.
  const beyond = head.index - tail.first - least + 1n;
  const limit = beyond < CHUNK ? Number(beyond) : CHUNK;
  for (const { index, entry: bytes } of oldest(store, tail.first, limit)) {
    if (head.index - index < least) break; // the log has a gap
    const entry = decodeEntryHeader(bytes);
    const tooLarge = head.logBytes - logBytesBefore > most;
    const tooOld = now - entry.time > age;
    if (index > acknowledged && !tooLarge && !tooOld) break;
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
