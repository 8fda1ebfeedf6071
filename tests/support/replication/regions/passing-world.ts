// Time of which a test lets days pass at once, for whole clusters in one process: between that it goes as it goes. Both clocks go on, and
// whatever was due meanwhile comes, in its order.

import type { Instant, Nanos, Timer } from "@holdfast/shared/world";
import { SystemClock } from "../../../../src/system/clock.ts";
import { SystemTimers } from "../../../../src/system/timers.ts";
import { nextTurn } from "../../fake-world.ts";

const TURNS = 20; // after whatever comes: others have theirs

class PassedClock extends SystemClock {
  readonly #behind: Nanos;
  passed: Nanos = 0n;

  constructor(behind: Nanos) {
    super();
    this.#behind = behind;
  }

  override now(): Instant {
    return super.now() - this.#behind + this.passed;
  }

  override elapsed(): Nanos {
    return super.elapsed() + this.passed;
  }
}

interface Due {
  readonly at: Nanos;
  readonly come: () => void;
}

class PassedTimers extends SystemTimers {
  readonly #clock: PassedClock;
  readonly waiting = new Set<Due>();

  constructor(clock: PassedClock) {
    super();
    this.#clock = clock;
  }

  override after(delay: Nanos, call: () => void): Timer {
    const come = () => {
      cancel();
      call();
    };
    const due: Due = { at: this.#clock.elapsed() + delay, come };
    const timer = super.after(delay, come);
    const cancel = () => {
      timer.cancel();
      this.waiting.delete(due);
    };
    this.waiting.add(due);
    return { cancel };
  }
}

export class PassingWorld {
  readonly clock: PassedClock;
  readonly timers: PassedTimers;

  /** `behind`: how far its clock is behind that of the machine at first. TLS goes by the machine's, and so certificates have to be good by both. */
  constructor(behind: Nanos = 0n) {
    this.clock = new PassedClock(behind);
    this.timers = new PassedTimers(this.clock);
  }

  /** `step`: whatever comes again after less than that comes once in each. */
  async pass(length: Nanos, step: Nanos = length): Promise<void> {
    const end = this.clock.elapsed() + length;
    for (let left = length; left > 0n; left = end - this.clock.elapsed()) {
      this.clock.passed += left < step ? left : step;
      const now = this.clock.elapsed();
      const due = [...this.timers.waiting].filter(({ at }) => at <= now);
      for (const { come } of due.toSorted((a, b) => (a.at < b.at ? -1 : 1))) {
        come();
        await nextTurn();
      }
      for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    }
  }
}
