// Time that goes faster than that of the machine, for clusters in one process: what waits for seconds waits for a part of
// them, and everything else is as it is.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Timer } from "@holdfast/shared/world";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemTimers } from "../../../src/system/timers.ts";

export const HURRY = 4n;

class HurriedClock extends SystemClock {
  readonly #now = super.now();
  readonly #elapsed = super.elapsed();

  override now(): Instant {
    return this.#now + (super.now() - this.#now) * HURRY;
  }

  override elapsed(): Nanos {
    return this.#elapsed + (super.elapsed() - this.#elapsed) * HURRY;
  }
}

class HurriedTimers extends SystemTimers {
  override after(delay: Nanos, call: () => void): Timer {
    // Who waits for other clusters for a second has it: they are as slow as the machine is.
    return super.after(delay === SECOND ? delay : delay / HURRY, call);
  }
}

/** One for all of them: their clocks are the same. */
export const HURRIED = { clock: new HurriedClock(), timers: new HurriedTimers() };
