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

/** The clusters of a test share one process. Where it is slow, so is whoever is waited for: a long wait is also one of so many turns. */
const TURNS = 25;

class HurriedTimers extends SystemTimers {
  override after(delay: Nanos, call: () => void): Timer {
    // Who waits for other clusters for a second has it: they are as slow as the machine is.
    if (delay === SECOND) return super.after(delay, call);
    if (delay < SECOND) return super.after(delay / HURRY, call);
    const step = delay / HURRY / BigInt(TURNS);
    let left = TURNS;
    const next = (): Timer => super.after(step, () => (--left === 0 ? call() : (timer = next())));
    let timer = next();
    return { cancel: () => timer.cancel() };
  }
}

/** One for all of them: their clocks are the same. */
export const HURRIED = { clock: new HurriedClock(), timers: new HurriedTimers() };

class PatientTimers extends SystemTimers {
  override after(delay: Nanos, call: () => void): Timer {
    return super.after(delay >= SECOND ? delay * PATIENCE : delay, call);
  }
}

const PATIENCE = 30n;

/** For what holds where everybody answers in time: who waits for others for seconds waits until they have answered, however slow the
 *  machine is. Nothing that is tried again after seconds is. */
export const PATIENT = { timers: new PatientTimers() };
