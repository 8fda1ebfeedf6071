// The clock hand: one timer for all connections of all listeners. A timer for each request would cost
// more than the request's own accounting, and Node has none for half of what must be limited here.

import type { Clock, Nanos, Timer, Timers } from "../base/world.ts";
import { MILLISECOND } from "../base/duration.ts";

const EVERY: Nanos = 500n * MILLISECOND; // limits are held to within this

export interface Swept {
  /** Looks at the time, and ends what has had too much of it. */
  check(now: Nanos): void;
}

export class Sweep {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #all = new Set<Swept>();
  #timer: Timer | null = null;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  add(swept: Swept): void {
    this.#all.add(swept);
    this.#arm();
  }

  remove(swept: Swept): void {
    this.#all.delete(swept);
    if (this.#all.size > 0) return;
    this.#timer?.cancel(); // a stopped server must not keep its process alive
    this.#timer = null;
  }

  #arm(): void {
    this.#timer ??= this.#timers.after(EVERY, () => {
      this.#timer = null;
      const now = this.#clock.elapsed();
      for (const swept of this.#all) swept.check(now);
      if (this.#all.size > 0) this.#arm();
    });
  }
}
