// The budget of one run. Loops pay for each turn by the size of what they repeat, and functions for
// the size of what they are given, so that the sum bounds the time whatever program and data are. The
// same run costs the same on every machine.

import { MAX_STEPS, MAX_STEPS_TOGETHER, UNITS_PER_STEP } from "../limits.ts";

/** Thrown out of a run, past `||` and `&&`, which would swallow an error that is a value. */
export class Exhausted extends Error {
  override readonly name = "Exhausted";
}

export class Meter {
  readonly #max: number;
  #left: number;

  /** For a run that may take so many steps. */
  constructor(max = MAX_STEPS) {
    this.#max = Math.min(max, MAX_STEPS);
    this.#left = this.#max * UNITS_PER_STEP;
  }

  get steps(): number {
    const used = this.#max * UNITS_PER_STEP - this.#left;
    return Math.min(this.#max, Math.ceil(used / UNITS_PER_STEP));
  }

  /** `units` are sixteenths of a step; a fraction is dropped, so that short texts cost nothing. */
  charge(units: number): void {
    this.#left -= Math.floor(units);
    if (this.#left < 0) throw new Exhausted(this.#exhaustion());
  }

  #exhaustion(): string {
    return this.#max < MAX_STEPS
      ? `the budget of ${MAX_STEPS_TOGETHER} steps for all policies of one request is used up`
      : `the budget of ${MAX_STEPS} steps is used up`;
  }
}

/** Why a function has no answer. Its text reaches the caller: names and limits, never values. */
export class Problem extends Error {}
