// What the runtime has read and forgotten: it reads into a block of one size, copies what came and frees
// the block as it is. The next that asks for one of the size gets it: so we ask, and overwrite. Which block
// that is cannot be known; several are taken, since a few reads may have come between.

import { alloc } from "@holdfast/shared/bytes";
import type { Timers } from "@holdfast/shared/world";

const READ_BLOCK = 64 * 1024;
const BLOCKS = 8;

export class ReadBlocks {
  readonly #timers: Pick<Timers, "turn">;
  #scrubbed: "no" | "once" | "again" = "no"; // in this turn of the loop

  constructor(timers: Pick<Timers, "turn">) {
    this.#timers = timers;
  }

  /** At once, and for all that follow in the same turn once more at its end: a flood of logins would
   *  otherwise spend a fifth of its time here. */
  scrub(): void {
    if (this.#scrubbed !== "no") {
      this.#scrubbed = "again";
      return;
    }
    overwrite();
    this.#scrubbed = "once";
    void this.#timers.turn().then(() => {
      if (this.#scrubbed === "again") overwrite();
      this.#scrubbed = "no";
    });
  }
}

function overwrite(): void {
  for (let i = 0; i < BLOCKS; i++) alloc(READ_BLOCK); // filled with zeros
}
