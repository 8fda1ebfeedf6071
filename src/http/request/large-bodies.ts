// Large bodies go on one in a turn of the event loop. Reading one takes up to 30 ms, and as many as come in
// together would otherwise be read together, with everybody else waiting for all of them.

import type { Timers } from "@holdfast/shared/world";

const LARGE = 8 * 1024; // bytes; below, reading takes less than half a millisecond

export class LargeBodies {
  readonly #timers: Pick<Timers, "turn">;
  #last: Promise<void> = Promise.resolve();

  constructor(timers: Pick<Timers, "turn">) {
    this.#timers = timers;
  }

  /** Gives the body back when it is its turn; a small one at once. */
  inTurn(body: Uint8Array): Uint8Array | Promise<Uint8Array> {
    if (body.length <= LARGE) return body;
    this.#last = this.#last.then(() => this.#timers.turn());
    return this.#last.then(() => body);
  }
}
