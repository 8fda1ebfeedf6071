// The root over everything stored, as its status shows it: made in slices and at most once a second, since all pages may
// have changed, and everybody may ask.

import { alloc } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { Slices } from "../../storage/commit/slices.ts";
import type { Store } from "../../storage/store.ts";

const PAGES = 256;

export class Roots {
  readonly #store: Store;
  readonly #world: { readonly clock: Clock; readonly timers: Timers };
  #root: Uint8Array = alloc(32);
  #madeAt: Nanos | null = null;
  #making: Promise<void> | null = null;

  constructor(parts: { readonly store: Store; readonly clock: Clock; readonly timers: Timers }) {
    this.#store = parts.store;
    this.#world = parts;
  }

  /** At most a second old. */
  async composite(): Promise<Uint8Array> {
    const { clock } = this.#world;
    const isFresh = this.#madeAt !== null && clock.elapsed() - this.#madeAt < SECOND;
    // Whatever the index is: rows change without it, where they are those of another cluster.
    if (!isFresh) {
      this.#making ??= this.#make().finally(() => {
        this.#making = null;
      });
      await this.#making;
    }
    return this.#root;
  }

  async #make(): Promise<void> {
    const { clock } = this.#world;
    const { trees } = this.#store;
    const slices = new Slices(this.#world);
    for (const tree of [trees.shared, trees.local]) {
      for (let page = 0; page < PAGES; page++) {
        tree.pageHash(page); // it keeps them until they change
        await slices.pause();
      }
    }
    this.#root = trees.compositeRoot();
    this.#madeAt = clock.elapsed();
  }
}
