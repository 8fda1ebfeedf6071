// So many a second, and as many at once. Hashing a guess and comparing it is how a hashed value is
// found out: whoever may ask for hashes must not be able to try a dictionary.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";

export class Pace {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #perSecond: number;
  #left: number;
  #at: Nanos;

  constructor(clock: Pick<Clock, "elapsed">, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#at = clock.elapsed();
  }

  /** 0 when it may go on, else the seconds to wait. */
  take(): number {
    const now = this.#clock.elapsed();
    const gained = (Number(now - this.#at) / Number(SECOND)) * this.#perSecond;
    this.#left = Math.min(this.#perSecond, this.#left + gained);
    this.#at = now;
    if (this.#left < 1) return 1;
    this.#left--;
    return 0;
  }
}
