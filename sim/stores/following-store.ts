// The production store of a follower, with room for the bugs that are planted in it.

import { Store, type StoreOptions } from "../../src/storage/store.ts";
import type {
  AdoptedRow,
  Changed,
  CommittedEntry,
  ControlReader,
} from "../../src/storage/store.ts";
import type { Change } from "../../src/storage/watch.ts";
import type { Prng } from "../prng.ts";

/** What a follower leaves out, each time with this chance. */
export interface FollowPlant {
  readonly cache?: number;
  readonly watcher?: number;
  readonly control?: number;
  /** A group is applied in two halves. */
  readonly halves?: number;
  /** What is taken over without entries is said to be there before it is. */
  readonly cursor?: number;
}

export class FollowingStore extends Store {
  readonly #plant: FollowPlant;
  readonly #prng: Prng;

  constructor(options: StoreOptions, plant: FollowPlant | null, prng: Prng) {
    super(options);
    this.#plant = plant ?? {};
    this.#prng = prng;
  }

  override onCommit(call: (changed: Changed) => void): () => void {
    return super.onCommit((changed) => {
      if (!this.#skips(this.#plant.cache)) call(changed);
    });
  }

  override watch(place: string, call: (change: Change) => void): () => void {
    return super.watch(place, (change) => {
      if (!this.#skips(this.#plant.watcher)) call(change);
    });
  }

  override onControl(type: number, reader: ControlReader): void {
    super.onControl(type, (record, entry) => {
      const take = reader(record, entry);
      return this.#skips(this.#plant.control) ? () => {} : take;
    });
  }

  override async apply(
    entries: readonly CommittedEntry[],
    head: Uint8Array | null = null,
  ): Promise<void> {
    if (entries.length > 1 && !this.locked && this.#skips(this.#plant.halves)) {
      const half = Math.floor(entries.length / 2);
      await super.apply(entries.slice(0, half));
      return super.apply(entries.slice(half), head);
    }
    return super.apply(entries, head);
  }

  override async adopt(rows: readonly AdoptedRow[], cursor: string): Promise<void> {
    if (this.#skips(this.#plant.cursor)) await super.adopt([], cursor);
    return super.adopt(rows, cursor);
  }

  #skips(chance: number | undefined): boolean {
    return chance !== undefined && this.#prng.chance(chance);
  }
}
