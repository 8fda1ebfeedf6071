// The budget of one run. Loops pay for each turn by the size of what they repeat, and functions for
// the size of what they are given, so that the sum bounds the time whatever program and data are. The
// same run costs the same on every machine.

import { MAX_STEPS, UNITS_PER_STEP } from "./limits.ts";

export const BUDGET_TEXT = `the budget of ${MAX_STEPS} steps is used up`;

/** Thrown through the engine, past `||` and `&&`, which would swallow an error that is a value. */
export class Exhausted extends Error {
  constructor() {
    super(BUDGET_TEXT);
    this.name = "Exhausted";
  }
}

export class Meter {
  #left = MAX_STEPS * UNITS_PER_STEP;

  restart(): void {
    this.#left = MAX_STEPS * UNITS_PER_STEP;
  }

  get isExhausted(): boolean {
    return this.#left < 0;
  }

  get steps(): number {
    return Math.min(
      MAX_STEPS,
      Math.ceil((MAX_STEPS * UNITS_PER_STEP - this.#left) / UNITS_PER_STEP),
    );
  }

  /** `units` are sixteenths of a step; a fraction is dropped, so that short texts cost nothing. */
  charge(units: number): void {
    this.#left -= Math.floor(units);
    if (this.#left < 0) throw new Exhausted();
  }
}

/** Why a function has no answer. Its text reaches the caller: names and limits, never values (P20). */
export class Problem extends Error {}
