// Back-pressure: writers that find too much on its way to the disk wait in line, and are let in again
// in order, a few at a time, so that everything else has its turn in between.

import type { Timers } from "@holdfast/shared/world";

/** About 5 ms of transactions. */
const AT_ONCE = 128;

export class AdmissionQueue {
  readonly #waiting: (() => void)[] = [];
  readonly #timers: Timers;
  readonly #hasRoom: () => boolean;
  #draining = false;

  constructor(timers: Timers, hasRoom: () => boolean) {
    this.#timers = timers;
    this.#hasRoom = hasRoom;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Runs `enter` when it is its turn and there is room. */
  wait<T>(enter: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => this.#waiting.push(() => resolve(enter())));
  }

  /** Lets in whom there is room for. */
  drain(): void {
    if (this.#draining) return;
    for (let left = AT_ONCE; this.#waiting.length > 0 && this.#hasRoom(); left--) {
      if (left === 0) {
        this.#draining = true;
        void this.#timers.turn().then(() => {
          this.#draining = false;
          this.drain();
        });
        return;
      }
      this.#waiting.shift()!();
    }
  }

  /** Lets everybody in: to be refused. */
  dissolve(): void {
    for (const enter of this.#waiting.splice(0)) enter();
  }
}
