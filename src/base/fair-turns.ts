// Long work in short stretches, whoever does it: all of it together takes a few milliseconds of each
// turn of the event loop, in the order in which it asked, so that other requests go on between.

import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";

const STRETCH: Nanos = 10n * MILLISECOND;
// What follows a turn (the answer, its record) is not ours to measure, so they are counted as well.
const MAX_AT_ONCE = 16;

export interface FairTurnsWorld {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Pick<Timers, "turn">;
}

export class FairTurns {
  readonly #world: FairTurnsWorld;
  #waiting: (() => void)[] = [];
  #running = false;

  constructor(world: FairTurnsWorld) {
    this.#world = world;
  }

  /** Resolves when it is the caller's turn. Until it asks again it should do little. */
  next(): Promise<void> {
    return new Promise((resolve) => this.soon(resolve));
  }

  /** Calls when it is its turn. */
  soon(call: () => void): void {
    this.#waiting.push(call);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    const { clock, timers } = this.#world;
    while (this.#waiting.length > 0) {
      const round = this.#waiting; // whoever asks during the round has the next one
      this.#waiting = [];
      for (let at = 0; at < round.length;) {
        await timers.turn();
        const began = clock.elapsed();
        const last = Math.min(at + MAX_AT_ONCE, round.length);
        while (at < last && clock.elapsed() - began < STRETCH) {
          round[at]?.();
          at++;
          await Promise.resolve(); // the work itself runs here
        }
      }
    }
    this.#running = false;
  }
}
