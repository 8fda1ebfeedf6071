// Whether a client keeps up: with reading a long answer, or with sending a long body. Only the time counts in
// which we wait for it: where we are slow ourselves, that is not the client's fault. Every byte makes up for
// so much of it as it would take at the lowest rate, and what is not made up for is bounded: nobody gets
// hours ahead by having been fast once.

import { SECOND } from "./text/duration.ts";
import type { Nanos } from "./world.ts";

/** Slower than this is no transfer but an occupation. */
export const MIN_RATE = 64 * 1024; // bytes in a second

/** How much time so many bytes may take. */
export function timeFor(bytes: number): Nanos {
  return (BigInt(bytes) * SECOND) / BigInt(MIN_RATE);
}

export class Pace {
  #since: Nanos | null = null; // we wait for it
  #waited: Nanos = 0n; // before that, and not made up for
  #bytes = 0;

  waits(waiting: boolean, now: Nanos): void {
    if (waiting) this.#since ??= now;
    else if (this.#since !== null) {
      this.#waited += now - this.#since;
      this.#since = null;
    }
  }

  /** So many bytes in all have come, or gone. */
  moved(bytes: number): void {
    this.#waited -= timeFor(bytes - this.#bytes);
    if (this.#waited < 0n) this.#waited = 0n;
    this.#bytes = bytes;
  }

  /** `max` is what it may keep us waiting. */
  isKept(now: Nanos, max: Nanos): boolean {
    return this.#since === null || this.#waited + now - this.#since <= max;
  }
}
