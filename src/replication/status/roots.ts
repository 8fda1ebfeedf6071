// The root over everything that is replicated, as its status shows it: made in slices and at most once a second, since all pages may
// have changed, and everybody may ask.

import { alloc } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import type { ReplicationKind } from "../../cluster/names.ts";
import { Slices } from "../../storage/commit/slices.ts";
import type { Store } from "../../storage/store.ts";

const PAGES = 256;

export class Roots {
  readonly #store: Store;
  readonly #isShared: boolean;
  readonly #world: { readonly clock: Clock; readonly timers: Timers };
  #root: Uint8Array = alloc(32);
  #madeAt: Nanos | null = null;
  #moment = "";
  #making: Promise<void> | null = null;

  constructor(parts: {
    readonly kind?: ReplicationKind;
    readonly store: Store;
    readonly clock: Clock;
    readonly timers: Timers;
  }) {
    this.#isShared = parts.kind === "performance";
    this.#store = parts.store;
    this.#world = parts;
  }

  /** At most a second old, and of this moment: whoever hears that rows were taken over is not shown the root of before. */
  async now(moment = ""): Promise<Uint8Array> {
    // Whatever the index is: rows change without it, where they are those of another cluster.
    if (!this.#isFresh(moment)) await this.#making; // it may have begun before
    if (!this.#isFresh(moment)) {
      this.#making ??= this.#make(moment).finally(() => {
        this.#making = null;
      });
      await this.#making;
    }
    return this.#root;
  }

  #isFresh(moment: string): boolean {
    const { clock } = this.#world;
    const isRecent = this.#madeAt !== null && clock.elapsed() - this.#madeAt < SECOND;
    return isRecent && this.#moment === moment;
  }

  async #make(moment: string): Promise<void> {
    const { clock } = this.#world;
    const { trees } = this.#store;
    const slices = new Slices(this.#world);
    for (const tree of this.#isShared ? [trees.shared] : [trees.shared, trees.local]) {
      for (let page = 0; page < PAGES; page++) {
        tree.pageHash(page); // it keeps them until they change
        await slices.pause();
      }
    }
    this.#root = this.#isShared ? trees.shared.root() : trees.compositeRoot();
    this.#madeAt = clock.elapsed();
    this.#moment = moment;
  }
}
