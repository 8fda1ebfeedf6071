// How much work a filter may cause. A filter of 4 KiB and tokens of 1,024 policies could keep the
// process busy for days; this bounds any thousand tokens in a row at about 50 ms. Honest filters spend
// one or two microseconds a token.

import type { Clock } from "@holdfast/shared/world";
import { tooMuchWork } from "./failures.ts";

// In nanoseconds. What one token leaves unused is kept for the next, up to the start: a few tokens
// with very many policies among others are no reason to refuse.
const AT_START = 15_000_000;
const PER_TOKEN = 20_000;

// The most that one instruction of a pattern takes for one character; 115 was measured.
const PER_INSTRUCTION = 200;
const PER_PATTERN = 10_000;

export class Allowance {
  readonly #clock: Clock;
  #left = AT_START;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nextToken(): void {
    this.#left = Math.min(AT_START, this.#left + PER_TOKEN);
  }

  /** Nanoseconds, by an estimate that does not depend on the machine. */
  spend(nanos: number): void {
    this.#left -= nanos;
    if (this.#left < 0) throw tooMuchWork();
  }

  /**
   * What a pattern costs cannot be foretold: nearly always a few nanoseconds a character, but a
   * contrived one a thousand times that. So it is measured, and cut at the worst it can take, lest a
   * pause of the process be put down to it.
   */
  measure(instructions: number, characters: number, match: () => boolean): boolean {
    const from = this.#clock.elapsed();
    const matched = match();
    const worst = PER_PATTERN + instructions * (characters + 1) * PER_INSTRUCTION;
    this.spend(Math.min(Number(this.#clock.elapsed() - from), worst));
    return matched;
  }
}
