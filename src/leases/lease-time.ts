// The time that leases go by. A wall clock that is set back must not lengthen a lease, and one that is
// set forward must not end all of them at once (T-J08): so it is the steady clock, which began at the
// wall's time. Forward steps are followed as soon as they are small, or have lasted: a machine that was
// suspended is ahead for good, a mistake is set right within minutes. Who takes the place of another cluster goes on with the
// time of that one, whatever the wall says here.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";

const SMALL: Nanos = SECOND;
const PATIENCE: Nanos = 5n * MINUTE;

export class LeaseTime {
  readonly #clock: Clock;
  readonly #log: Log;
  #began: Instant; // of the steady clock's zero
  #aheadSince: Nanos | null = null;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#began = clock.now() - clock.elapsed();
  }

  now(): Instant {
    const elapsed = this.#clock.elapsed();
    const ahead = this.#clock.now() - (this.#began + elapsed);
    if (ahead <= 0n) this.#aheadSince = null;
    else if (ahead <= SMALL) this.#follow(ahead);
    else this.#wait(ahead, elapsed);
    return this.#began + elapsed;
  }

  /** It was at least that late already: a restart with a clock that was set back changes nothing. */
  atLeast(time: Instant): void {
    const behind = time - this.now();
    if (behind > 0n) this.#began += behind;
  }

  /** It is so late now: another clock has led until here. A wall that is ahead is followed as after any step. */
  goOnAt(time: Instant): void {
    this.#began = time - this.#clock.elapsed();
    this.#aheadSince = null;
  }

  #wait(ahead: Nanos, elapsed: Nanos): void {
    const fields = { seconds: Number(ahead / SECOND) };
    if (this.#aheadSince === null) {
      this.#aheadSince = elapsed;
      this.#log.error("the clock went forward; leases go by it only if it stays there", fields);
    } else if (elapsed - this.#aheadSince >= PATIENCE) {
      this.#follow(ahead);
      this.#log.warn("leases go by the clock, which has stayed ahead", fields);
    }
  }

  #follow(ahead: Nanos): void {
    this.#began += ahead;
    this.#aheadSince = null;
  }
}
