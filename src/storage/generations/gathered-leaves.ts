// Leaves of a generation that is being filled: gathered, and written in the order of their slots. Rows come in the
// order of their keys, in which each leaf would fall on another page; so a page is written once for many of them.

import type { Batch, LeafRow, StorageEngine } from "../engines/engine.ts";
import { compareKeys } from "../key.ts";
import { HEAD_ROW } from "../rows/head.ts";
import { Forest } from "../rows/merkle.ts";
import type { Slices } from "../commit/slices.ts";
import type { LeafChange } from "../commit/tip.ts";

/** Held in memory: a few megabytes, and sorted and packed within some milliseconds. */
const MAX_LEAVES = 4096;
const MAX_KEY_BYTES = 4 * 1024 * 1024;
const SUMS_AT_ONCE = 4096;

export const EMPTY_BATCH: Batch = {
  expect: { name: HEAD_ROW, value: null },
  data: [],
  leaves: [],
  sums: [],
  log: [],
  cutLogAbove: null,
  trimLogBelow: null,
  meta: [],
};

export class GatheredLeaves {
  readonly forest = new Forest();
  readonly #engine: StorageEngine;
  readonly #slices: Slices;
  #leaves: LeafChange[] = [];
  #keyBytes = 0;
  readonly #before: () => Promise<Batch["meta"]>;

  /** `before` is called before leaves are written: what must be there first, and what is written with them. */
  constructor(
    engine: StorageEngine,
    slices: Slices,
    before: () => Promise<Batch["meta"]> = async () => [],
  ) {
    this.#engine = engine;
    this.#slices = slices;
    this.#before = before;
  }

  /** Those of an earlier attempt. */
  async readStored(): Promise<void> {
    for (let after: LeafRow | null = null; ;) {
      const page: LeafRow[] = this.#engine.leaves(after, MAX_LEAVES);
      for (const { slot, hash } of page) this.forest.of(slot).replace(slot, null, hash);
      await this.#slices.pause();
      if (page.length < MAX_LEAVES) return;
      after = page.at(-1)!;
    }
  }

  async add(leaf: LeafChange): Promise<void> {
    this.#leaves.push(leaf);
    this.#keyBytes += leaf.key.length;
    if (this.#leaves.length >= MAX_LEAVES || this.#keyBytes >= MAX_KEY_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#leaves.length === 0) return;
    const leaves = this.#leaves.toSorted((a, b) => a.slot - b.slot || compareKeys(a.key, b.key));
    this.#leaves = [];
    this.#keyBytes = 0;
    await this.#slices.pause();
    const meta = await this.#before();
    await this.#engine.commit({ ...EMPTY_BATCH, leaves, meta });
  }

  /** All leaves are there: the sums, and last the rows without which it is no store. */
  async end(meta: Batch["meta"]): Promise<void> {
    await this.flush();
    const slots = this.forest.differing(new Forest()); // those that hold something
    for (let first = 0; first < slots.length; first += SUMS_AT_ONCE) {
      const some = slots.slice(first, first + SUMS_AT_ONCE);
      const sums = some.map((slot) => this.forest.of(slot).row(slot));
      await this.#engine.commit({ ...EMPTY_BATCH, sums });
      await this.#slices.pause();
    }
    await this.#engine.commit({ ...EMPTY_BATCH, meta });
  }
}
