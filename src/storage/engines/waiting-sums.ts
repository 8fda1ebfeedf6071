// Sums that lie in the table `recent` until there are many, as the writer knows them: the last of each slot, by the
// part of the table `sum` in which its place is. They go there part by part, a part with each commit: all of them
// at once would hold up one commit for a tenth of a second.

import type { SumRow } from "./engine.ts";
import { inOrderOfSlots, latestSums } from "./sqlite-sums.ts";

const PART = 2048; // slots: 25 pages

export class WaitingSums {
  #parts = new Map<number, Map<number, SumRow>>();
  #count = 0;

  /** How many were added, those of one slot each by itself. */
  get count(): number {
    return this.#count;
  }

  /** As they are stored; the bytes are kept. */
  add(packed: Uint8Array): void {
    for (const row of latestSums([packed]).values()) {
      const part = Math.floor(row.slot / PART);
      let rows = this.#parts.get(part);
      if (rows === undefined) this.#parts.set(part, (rows = new Map()));
      rows.set(row.slot, row);
      this.#count++;
    }
  }

  /** All of them, by parts; none waits afterwards. */
  take(): Parts {
    const parts = this.#parts;
    this.#parts = new Map();
    this.#count = 0;
    return new Parts([...parts.values()]);
  }
}

export class Parts {
  readonly #left: Map<number, SumRow>[];

  constructor(parts: Map<number, SumRow>[]) {
    this.#left = parts;
  }

  /** Those of the next part in order; null when there are no more. */
  next(): SumRow[] | null {
    const part = this.#left.pop();
    return part === undefined ? null : inOrderOfSlots(part.values());
  }
}
