// Entries that only this cluster has written, after another one was promoted: kept when they are given up, for thirty days,
// to be listed and taken out. They are never merged. What they held lies there as it did in the log: sealed.

import { concat } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { decodeEntry } from "../../storage/rows/log-entry.ts";
import type { Store, Surplus } from "../../storage/store.ts";

const KEPT: Nanos = 30n * DAY;
const PART = 512 * 1024; // of an entry, which may have 64 MiB
const AT_ONCE = 16;
const PARTS_AT_ONCE = 256; // in a transaction, which has no more bytes than two parts
const MAX_TAILS = 1000;
const ABOUT = "about";

interface StoredTail {
  readonly fork: string;
  readonly head: string;
  readonly epoch: number;
  readonly since: string;
}

export interface DivergentTail {
  readonly id: string;
  /** The last index in common, and the last of what was given up. */
  readonly fork: bigint;
  readonly head: bigint;
  readonly epoch: number;
  readonly since: Instant;
}

export interface DivergentEntry {
  readonly index: bigint;
  readonly time: Instant;
  readonly keys: readonly { readonly key: string; readonly deleted: boolean }[];
}

const aboutCodec = jsonCodec<StoredTail>();

export class Divergent {
  readonly #view: View;
  readonly #clock: Pick<Clock, "now">;
  #turn: Promise<unknown> = Promise.resolve();
  /** Null where it has to be counted. */
  #count: number | null = null;

  /** Of core/replication/dr/divergent/. */
  constructor(view: View, clock: Pick<Clock, "now">) {
    this.#view = view;
    this.#clock = clock;
  }

  /** Everything above the fork. Kept again after a crash, it is the same. */
  keep(store: Pick<Store, "logs">, surplus: Surplus): Promise<void> {
    return this.#inTurn(() => this.#keep(store, surplus));
  }

  async #keep(store: Pick<Store, "logs">, { fork, before }: Surplus): Promise<void> {
    const id = `${before.epoch}-${fork}-${before.index}`;
    let [waiting, bytes]: [EntryPart[], number] = [[], 0];
    const flush = async () => {
      const parts = waiting;
      [waiting, bytes] = [[], 0];
      if (parts.length === 0) return;
      await this.#write((tx) => {
        for (const part of parts) tx.put(part.key, part.bytes, bytesCodec);
      });
    };
    for (let next = fork + 1n; next <= before.index;) {
      const rows = store.logs(next, AT_ONCE).filter(({ index }) => index <= before.index);
      if (rows.length === 0) break;
      for (const { index, entry } of rows) {
        for (const part of partsOf(entry, `${id}/${padded(index)}/`)) {
          waiting.push(part);
          bytes += part.bytes.length;
          if (bytes >= PART || waiting.length >= PARTS_AT_ONCE) await flush();
        }
      }
      next = rows.at(-1)!.index + 1n;
    }
    await flush();
    const about = {
      fork: String(fork),
      head: String(before.index),
      epoch: before.epoch,
      since: showTime(this.#clock.now()),
    };
    await this.#write((tx) => tx.put(`${id}/${ABOUT}`, about, aboutCodec));
  }

  tails(): readonly DivergentTail[] {
    return this.#ids().flatMap((id) => {
      const about = this.#view.get(`${id}/${ABOUT}`, aboutCodec);
      if (about === null) return []; // it was not given up yet
      const { fork, head, epoch } = about;
      const since = parseTime(about.since) ?? 0n;
      return [{ id, fork: BigInt(fork), head: BigInt(head), epoch, since }];
    });
  }

  /** How many entries lie there. Every status tells it, so it is kept. */
  get count(): number {
    this.#count ??= this.tails().reduce((sum, { fork, head }) => sum + Number(head - fork), 0);
    return this.#count;
  }

  /** What each entry of a tail has changed, in order. */
  *entries(
    id: string,
    { after, max }: { readonly after: bigint; readonly max: number },
  ): Generator<DivergentEntry> {
    const page = { limit: max + 1, ...(after === 0n ? {} : { after: `${padded(after)}/` }) };
    const names = this.#view.list(`${id}/`, page).filter((name) => name !== ABOUT);
    for (const name of names.slice(0, max)) {
      const parts = this.#view.records(`${id}/${name}`, bytesCodec, { limit: 1000 });
      const entry = decodeEntry(concat(...parts.map(({ value }) => value)));
      const keys = entry.operations.map((operation) => ({
        key: operation.key,
        deleted: operation.value === null,
      }));
      yield { index: entry.index, time: entry.time, keys };
    }
  }

  /** Those that were given up long ago go, and what a crash has left of one: where it is to be given up after all, it is
   *  kept again first. */
  tidy(): Promise<void> {
    return this.#inTurn(async () => {
      const now = this.#clock.now();
      const kept = this.tails().filter(({ since }) => now - since <= KEPT);
      const ids = new Set(kept.map(({ id }) => id));
      for (const id of this.#ids()) if (!ids.has(id)) await this.#remove(id);
    });
  }

  #ids(): string[] {
    return this.#view.list("", { limit: MAX_TAILS }).map((name) => name.replace(/\/$/, ""));
  }

  /** Nothing is removed of what is being kept. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #remove(id: string): Promise<void> {
    for (;;) {
      const keys = this.#view.keys(`${id}/`, { limit: 256 });
      if (keys.length === 0) return;
      await this.#write((tx) => {
        for (const key of keys) tx.delete(key);
      });
    }
  }

  async #write(fn: Parameters<View["write"]>[0]): Promise<void> {
    try {
      await this.#view.write((tx) => void fn(tx), { essential: true });
    } finally {
      this.#count = null; // also where it failed: nobody knows what of it is there
    }
  }
}

interface EntryPart {
  readonly key: string;
  readonly bytes: Uint8Array;
}

function* partsOf(entry: Uint8Array, below: string): Generator<EntryPart> {
  for (let at = 0, part = 0; at < entry.length; at += PART, part++) {
    yield { key: below + String(part).padStart(4, "0"), bytes: entry.subarray(at, at + PART) };
  }
}

function padded(index: bigint): string {
  return String(index).padStart(20, "0");
}
