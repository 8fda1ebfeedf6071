// Counts failed logins by folded name, for names that nobody has as well: whether a name is locked says
// nothing of whether there is such a user. In the memory of the node that answers logins; nobody but an
// operator can start it anew. Time is the one that never goes back.

import { RecentMap } from "@holdfast/shared/recent-map";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { LockoutConfig } from "@holdfast/plugin-sdk/lockout";
import { lockedOut, tooManyLogins } from "./failures.ts";

// More than can be tried in the time of a count, at what a check costs: nobody gets rid of a count by
// bringing in other names. About 10 MB.
const MAX_NAMES = 65_536;
const MAX_WAITING = 64; // for one name

interface Count {
  failures: number;
  /** Checks under way: each may become a failure. */
  pending: number;
  last: Nanos;
  locked: boolean;
  readonly waiting: (() => void)[];
}

export interface LockoutOptions {
  readonly clock: Clock;
  readonly config: () => LockoutConfig;
  /** How many names are remembered. Default 65,536. */
  readonly maxNames?: number;
}

export class Lockout {
  readonly #clock: Clock;
  readonly #config: () => LockoutConfig;
  readonly #maxNames: number;
  readonly #counts = new RecentMap<string, Count>();

  constructor({ clock, config, maxNames = MAX_NAMES }: LockoutOptions) {
    this.#clock = clock;
    this.#config = config;
    this.#maxNames = maxNames;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Runs the check, unless the name is locked. Null is a failure; a throw is none. Of parallel ones no
   *  more run than may still fail: the others wait for how those end. */
  async attempt<T>(name: string, check: () => Promise<T | null>): Promise<T | null> {
    if (this.#config().disabled) return check();
    const count = await this.#enter(name);
    let result: T | null = null;
    let failed = false;
    try {
      result = await check();
      failed = result === null;
      return result;
    } finally {
      this.#leave(name, count, failed ? "failure" : result === null ? "fault" : "success");
    }
  }

  /** An operator has said so. */
  forget(name: string): void {
    const count = this.#counts.peek(name);
    if (count === undefined) return;
    reset(count);
    wake(count);
    if (count.pending === 0) this.#counts.delete(name);
  }

  async #enter(name: string): Promise<Count> {
    for (;;) {
      const { threshold, duration } = this.#config();
      const count = this.#current(name);
      if (count.locked) throw lockedOut(count.last + duration - this.#clock.elapsed());
      if (count.failures + count.pending < threshold) {
        count.pending += 1;
        return count;
      }
      if (count.waiting.length >= MAX_WAITING) throw tooManyLogins();
      await new Promise<void>((resolve) => count.waiting.push(resolve));
    }
  }

  #leave(name: string, count: Count, how: "success" | "failure" | "fault"): void {
    count.pending -= 1;
    if (how === "success") reset(count);
    if (how === "failure") {
      count.failures += 1;
      count.last = this.#clock.elapsed();
      count.locked = count.failures >= this.#config().threshold;
    }
    wake(count);
    const idle = count.failures === 0 && count.pending === 0 && !count.locked;
    if (idle && this.#counts.peek(name) === count) this.#counts.delete(name);
  }

  /** Starts anew what its time has undone. */
  #current(name: string): Count {
    const { duration, counterReset, threshold } = this.#config();
    let count = this.#counts.get(name);
    if (count === undefined) {
      count = { failures: 0, pending: 0, last: 0n, locked: false, waiting: [] };
      this.#counts.set(name, count);
      this.#bound();
    }
    const since = this.#clock.elapsed() - count.last;
    if (since >= (count.locked ? duration : counterReset)) reset(count);
    // The threshold may have been lowered since.
    if (count.failures >= threshold) count.locked = true;
    return count;
  }

  #bound(): void {
    const { oldest } = this.#counts;
    if (this.#counts.size > this.#maxNames && oldest !== null && oldest.value.pending === 0) {
      this.#counts.delete(oldest.key);
    }
  }
}

function reset(count: Count): void {
  count.failures = 0;
  count.locked = false;
}

function wake(count: Count): void {
  for (const call of count.waiting.splice(0)) call();
}
