// Real time. The wall clock has millisecond steps in JavaScript; the nanoseconds below them come
// from the monotonic clock, so that two calls in a row differ and times survive a round trip.

import type { Clock, Instant, Nanos } from "@holdfast/shared/world";

const MILLI = 1_000_000n;

export class SystemClock implements Clock {
  #offset = 0n; // wall − monotonic, as last agreed
  #milliseconds = 0;
  #wall = 0n; // the same; a busy server asks dozens of times in one of them

  now(): Instant {
    const milliseconds = Date.now();
    if (milliseconds !== this.#milliseconds) {
      this.#milliseconds = milliseconds;
      this.#wall = BigInt(milliseconds) * MILLI;
    }
    const wall = this.#wall;
    const elapsed = process.hrtime.bigint();
    const estimate = elapsed + this.#offset;
    // While the two agree to the millisecond the monotonic clock supplies the fine digits; after a
    // jump or drift of the wall clock it is followed at once.
    if (estimate >= wall && estimate < wall + MILLI) return estimate;
    this.#offset = wall - elapsed;
    return wall;
  }

  elapsed(): Nanos {
    return process.hrtime.bigint();
  }
}
