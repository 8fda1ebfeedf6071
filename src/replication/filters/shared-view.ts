// The shared tree without what a filter withholds: what a secondary with that filter is compared with. It lies in memory alone: made from
// the leaves, a few slots at a time, and brought up to date with every commit from then on.

import type { Clock, Timers } from "@holdfast/shared/world";
import { Slices } from "../../storage/commit/slices.ts";
import { leavesFrom } from "../../storage/commit/slot-leaves.ts";
import type { Leaf } from "../../storage/engines/engine.ts";
import { decodeHead, HEAD_ROW } from "../../storage/rows/head.ts";
import { isSlotOf, Tree } from "../../storage/rows/merkle.ts";
import type { ChangedLeaves, Store } from "../../storage/store.ts";

const SLOTS = 65_536; // of the shared tree
/** Of the commits whose totals are known still. */
const MAX_TOTALS = 4096;
const NOT_READ = -1;

export interface Total {
  readonly sum: Uint8Array;
  readonly count: number;
}

export interface SharedViewParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Whether records of this scope are part of it: as it is now. */
  readonly lets: (scope: Uint8Array) => boolean;
}

export class SharedView {
  readonly #parts: SharedViewParts;
  readonly #unwatch: () => void;
  /** Up to which index each slot was read. */
  readonly #readAt = new Float64Array(SLOTS).fill(NOT_READ);
  readonly #totals = new Map<bigint, Total>();
  readonly #stop = new AbortController();
  #isWhole = false;
  #isLost = false;
  readonly tree = new Tree("shared");
  /** Resolves when every leaf is in it. */
  readonly built: Promise<void>;

  constructor(parts: SharedViewParts) {
    this.#parts = parts;
    const { store } = parts;
    this.#unwatch = store.onLeaves((changes) => {
      for (const { leaves, index } of changes) this.#take(leaves, Number(index));
      this.#keepTotal();
    });
    this.built = this.#build();
    this.built.catch(() => {}); // whoever waits for it hears of it
  }

  /** A repair has changed leaves, and nobody knows what they were: another one has to be made. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** After the commit that ended with this index; null where that is not known any more, or was none. */
  totalAt(index: bigint): Total | null {
    return this.#totals.get(index) ?? null;
  }

  total(): Total {
    return this.tree.total();
  }

  close(): void {
    this.#stop.abort();
    this.#unwatch();
  }

  async #build(): Promise<void> {
    const { store, clock, timers } = this.#parts;
    const slices = new Slices({ clock, timers }, this.#stop.signal);
    for (let first = 0; first < SLOTS;) {
      const view = store.view();
      try {
        const index = Number(decodeHead(view.meta(HEAD_ROW)!).index);
        const { bySlot, next } = leavesFrom(view, NO_CHANGES, first);
        const end = Math.min(next, SLOTS);
        for (const [slot, leaves] of bySlot) {
          if (slot >= end) continue;
          for (const leaf of leaves) this.#replace(slot, null, leaf);
        }
        this.#readAt.fill(index, first, end);
        first = end;
      } finally {
        view.close();
      }
      await slices.pause();
    }
    this.#isWhole = true;
    this.#keepTotal();
  }

  /** What was read when it was there already is not taken twice. */
  #take(leaves: ChangedLeaves["leaves"], index: number): void {
    for (const { slot, leaf, before } of leaves) {
      if (!isSlotOf("shared", slot)) continue;
      const readAt = this.#readAt[slot]!;
      if (readAt === NOT_READ) continue;
      // A repair takes no index.
      if (before === undefined) this.#isLost = true;
      else if (index > readAt) this.#replace(slot, before, leaf);
    }
  }

  #replace(slot: number, before: Leaf | null, after: Leaf | null): void {
    const was = this.#hashOf(before);
    const is = this.#hashOf(after);
    if (was !== null || is !== null) this.tree.replace(slot, was, is);
  }

  #hashOf(leaf: Leaf | null): Uint8Array | null {
    return leaf !== null && this.#parts.lets(leaf.scope) ? leaf.hash : null;
  }

  #keepTotal(): void {
    if (!this.#isWhole) return;
    this.#totals.set(this.#parts.store.index, this.tree.total());
    if (this.#totals.size <= MAX_TOTALS) return;
    const [oldest] = this.#totals.keys();
    this.#totals.delete(oldest!);
  }
}

const NO_CHANGES: Parameters<typeof leavesFrom>[1] = new Map();
