// What has to go before a namespace can: rooms tell how, in an order, and last of all whatever is
// still stored below its id is removed here.

import type { Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";

export interface NamespaceContents {
  /** For the log: "leases", "tokens". */
  readonly name: string;
  /** Removes a bounded part of what the namespace has. True when nothing is left. Called again until
   *  then, and after a crash once more from the start. */
  wipe(namespaceId: string): Promise<boolean>;
}

const SLICE = 256; // keys in one transaction

/** Everything stored below the namespace's id. */
export class StoredContents implements NamespaceContents {
  readonly name = "stored records";
  readonly #spaces: readonly View[];
  readonly #timers: Timers;
  #last: Promise<unknown> = Promise.resolve();

  /** Each of `spaces` has a folder by every namespace's id. */
  constructor(spaces: readonly View[], timers: Timers) {
    this.#spaces = spaces;
    this.#timers = timers;
  }

  /** One slice at a time, however many namespaces are being deleted: others must get their turn. */
  wipe(namespaceId: string): Promise<boolean> {
    const slice = this.#last.then(() => this.#slice(namespaceId));
    this.#last = slice.then(
      () => this.#timers.turn(),
      () => this.#timers.turn(),
    );
    return slice;
  }

  isEmpty(tx: Tx, namespaceId: string): boolean {
    return this.#own().every(
      (space) => tx.on(space).keys(`${namespaceId}/`, { limit: 1 }).length === 0,
    );
  }

  /** Without what another cluster writes, and removes. */
  #own(): readonly View[] {
    return this.#spaces.filter((space) => !space.writtenElsewhere);
  }

  async #slice(namespaceId: string): Promise<boolean> {
    for (const space of this.#own()) {
      const removed = await space.write((tx) => {
        const keys = tx.keys(`${namespaceId}/`, { limit: SLICE });
        for (const key of keys) tx.delete(key);
        return keys.length;
      });
      if (removed > 0) return false;
    }
    return true;
  }
}
