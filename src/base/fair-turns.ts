// Long work in short stretches, whoever does it: all of it together takes a few milliseconds of each
// turn of the event loop, so that other requests go on between. Whoever asks has its turn by tenant and client,
// so that the long work of one is not between the stretches of all others.

import type { Whose } from "@holdfast/shared/sliced";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { Rotation } from "./rotation.ts";

// A small request comes round some five times, and waits so long each time where somebody has long work.
const STRETCH: Nanos = 5n * MILLISECOND;
// A turn that takes so long is more than a hundred small requests have together, which go on best as they come.
const BUSY: Nanos = 15n * MILLISECOND;
// What follows a turn (the answer, its record) is not ours to measure, so they are counted as well.
const AT_ONCE = 16;

export interface FairTurnsWorld {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Pick<Timers, "turn">;
}

export class FairTurns {
  readonly #world: FairTurnsWorld;
  readonly #atOnce: number;
  readonly #waiting = new Rotation<() => void>();
  #running = false;
  #turnBegan: Nanos | null = null;

  /** `atOnce`: of one turn of the event loop, however little each does. */
  constructor(world: FairTurnsWorld, atOnce: number = AT_ONCE) {
    this.#world = world;
    this.#atOnce = atOnce;
  }

  /** Whether this turn of the event loop has had its share, or somebody waits already: then whoever has a next step
   *  takes it in its turn. Where there is little to do nobody waits. */
  get busy(): boolean {
    if (this.#running) return true;
    const { clock, timers } = this.#world;
    const now = clock.elapsed();
    if (this.#turnBegan !== null) return now - this.#turnBegan >= BUSY;
    this.#turnBegan = now;
    void timers.turn().then(() => (this.#turnBegan = null));
    return false;
  }

  /** Resolves when it is the caller's turn. Until it asks again it should do little. */
  next(whose: Whose): Promise<void> {
    return new Promise((resolve) => this.soon(whose, resolve));
  }

  /** Unlike what follows `next`, this is done within the turn, and what it takes is seen. */
  step<T>(whose: Whose, work: () => T): Promise<T> {
    return new Promise((resolve, reject) =>
      this.soon(whose, () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error as Error);
        }
      }),
    );
  }

  /** Calls when it is its turn. */
  soon(whose: Whose, call: () => void): void {
    this.#waiting.add(whose, call);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    const { clock, timers } = this.#world;
    while (this.#waiting.size > 0) {
      await timers.turn();
      const began = clock.elapsed();
      for (let at = 0; at < this.#atOnce && this.#waiting.size > 0; at++) {
        this.#waiting.take()?.();
        await Promise.resolve(); // the work itself runs here
        if (clock.elapsed() - began >= STRETCH) break;
      }
    }
    this.#running = false;
  }
}
