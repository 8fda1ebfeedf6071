// A follower that takes over what its leader holds without the entries that made it, a few keys at a time, while
// the leader goes on: where it stands between two states, and from which index on it holds what the leader held.

import type { Reads } from "../../src/storage/engines/engine.ts";
import { classOf, compareKeys } from "../../src/storage/key.ts";
import { decodeHead, decodeTimeline, HEAD_ROW, TIMELINE_ROW } from "../../src/storage/rows/head.ts";
import { decodeEntry } from "../../src/storage/rows/log-entry.ts";
import { slotOf } from "../../src/storage/rows/merkle.ts";
import { SYNC_ROW } from "../../src/storage/rows/sync.ts";
import type { Store } from "../../src/storage/store.ts";
import type { Prng } from "../prng.ts";
import { isIgnored, Violation } from "../state.ts";

const ALL = { from: "", to: null, limit: Infinity };
const MAX_KEYS = 12; // in one chunk

/** Of the follower: its store, and the engine below. */
interface Place {
  readonly store: Store;
  readonly engine: Reads;
}

export class Adoption {
  /** Where it began, and the leader's index at the last read; null when there is none. */
  #reading: { readonly from: bigint; readonly anchor: bigint; until: bigint } | null = null;

  /** Whether what is stored may be of no index. */
  get isMixed(): boolean {
    return this.#reading !== null;
  }

  /** What is there after a crash. True where it is half done. */
  found(engine: Reads, index: bigint): boolean {
    const reading = this.#reading;
    const half = engine.meta(SYNC_ROW) !== null;
    if (half) {
      if (reading === null) throw new Violation("what was taken over whole is half again");
    } else if (reading !== null && index === reading.from) {
      this.#reading = null; // it had not begun on the disk
    }
    if (!half) this.reached(index);
    return half;
  }

  /** The entries up to this index are applied. */
  reached(index: bigint): void {
    const reading = this.#reading;
    if (reading !== null && index >= reading.anchor && index >= reading.until) this.#reading = null;
  }

  /** Begins where no key is changed in what is passed over: a new one would have to be handed over. */
  async begin({ store }: Place, leader: Reads): Promise<void> {
    const head = leader.meta(HEAD_ROW)!;
    const anchor = decodeHead(head).index;
    const from = store.index;
    const passed = leader.logs(from + 1n, Infinity).map(({ entry }) => decodeEntry(entry));
    if (anchor <= from || passed.some(({ control }) => control !== null)) return;
    if (this.#reading !== null) return;
    this.#reading = { from, anchor, until: anchor };
    await store.beginAdopting({ head, timeline: decodeTimeline(leader.meta(TIMELINE_ROW)!) });
  }

  /** The keys of the next chunk, as they are taken over; empty when that was the end. */
  async step({ store, engine }: Place, leader: Reads, prng: Prng): Promise<readonly string[]> {
    const { cursor } = store.adopting!;
    const all = new Set([leader, engine].flatMap((reads) => reads.keys(ALL)));
    const keys = [...all]
      .filter((key) => !isIgnored(key) && compareKeys(key, cursor) > 0)
      .toSorted(compareKeys)
      .slice(0, 1 + prng.int(MAX_KEYS));
    if (keys.length === 0) {
      await store.finishAdopting();
      return [];
    }
    this.#reading!.until = decodeHead(leader.meta(HEAD_ROW)!).index;
    const rows = keys.map((key) => {
      const scope = leader.leaf(slotOf(classOf(key), key)!, key)?.scope ?? new Uint8Array(16);
      return { key, scope, value: leader.get(key) };
    });
    await store.adopt(rows, keys.at(-1)!);
    return keys;
  }
}
