// Leaves of what was written last. Most writes change what was written a moment ago, and need its leaf:
// looked up in storage each costs as much as sealing half an entry. They are those of everything
// accepted; this node is the only writer, so nothing else changes them but repairs, which clear this.

import { RecentMap } from "@holdfast/shared/recent-map";
import type { Leaf } from "../engines/engine.ts";
import type { LeafChange } from "./tip.ts";

const MAX_LEAVES = 4096;

export class RecentLeaves {
  readonly #leaves = new RecentMap<string, Leaf>();

  /** Undefined: not known here. */
  get(key: string): Leaf | undefined {
    return this.#leaves.peek(key);
  }

  accepted(changes: readonly LeafChange[]): void {
    for (const { key, leaf } of changes) {
      if (leaf === null) this.#leaves.delete(key);
      else this.#leaves.set(key, leaf);
    }
    while (this.#leaves.size > MAX_LEAVES) this.#leaves.delete(this.#leaves.oldest!.key);
  }

  clear(): void {
    this.#leaves.clear();
  }
}
