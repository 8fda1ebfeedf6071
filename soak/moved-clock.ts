// Time that another process moves on: lines "advance SECONDS" on standard input. Timers are not moved:
// what is due by the clock alone is looked for by ticking often.

import { createInterface } from "node:readline";
import { SystemClock } from "../src/system/clock.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";

export class MovedClock implements Clock {
  readonly #real = new SystemClock();
  #ahead: Nanos;

  constructor(seconds: number) {
    this.#ahead = BigInt(seconds) * SECOND;
  }

  now(): Instant {
    return this.#real.now() + this.#ahead;
  }

  elapsed(): Nanos {
    return this.#real.elapsed() + this.#ahead;
  }

  /** As long as standard input is open. */
  follow(): void {
    createInterface({ input: process.stdin }).on("line", (line) => {
      const [, seconds] = /^advance (\d+)$/.exec(line) ?? [];
      if (seconds !== undefined) this.#ahead += BigInt(seconds) * SECOND;
    });
  }
}
