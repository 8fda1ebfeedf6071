// Whether a client reads a long answer fast enough. Only the time counts in which we wait for it: what makes the
// answer may be slow, and that is not the client's fault. It may wait for so long at one stretch, and
// for so long in all as what it has read would take at the lowest rate.

import type { Nanos } from "@holdfast/shared/world";
import { timeFor } from "./request/streamed-body.ts";

export class SendingPace {
  #since: Nanos | null = null; // we wait for it
  #waited: Nanos = 0n; // in all, before that
  #bytes = 0;

  waits(waiting: boolean, now: Nanos): void {
    if (waiting) this.#since = now;
    else if (this.#since !== null) {
      this.#waited += now - this.#since;
      this.#since = null;
    }
  }

  sent(bytes: number): void {
    this.#bytes = bytes;
  }

  /** `max` is what it may take without reading anything. */
  isKept(now: Nanos, max: Nanos): boolean {
    if (this.#since === null) return true;
    const stretch = now - this.#since;
    return stretch <= max && this.#waited + stretch <= max + timeFor(this.#bytes);
  }
}
