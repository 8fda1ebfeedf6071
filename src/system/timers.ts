// Real timers. A JavaScript timer above 2^31−1 ms fires at once, so long waits go in stages.

import type { Nanos, Timer, Timers } from "@holdfast/shared/world";

const MILLI = 1_000_000n;
const LONGEST_MS = 2_147_483_647n;

export class SystemTimers implements Timers {
  after(delay: Nanos, call: () => void): Timer {
    let handle: NodeJS.Timeout | undefined;
    const due = process.hrtime.bigint() + (delay > 0n ? delay : 0n);
    const arm = () => {
      const left = due - process.hrtime.bigint();
      if (left <= 0n && handle !== undefined) {
        call();
        return;
      }
      const ms = left <= 0n ? 0n : (left + MILLI - 1n) / MILLI;
      handle = setTimeout(arm, Number(ms < LONGEST_MS ? ms : LONGEST_MS));
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}
