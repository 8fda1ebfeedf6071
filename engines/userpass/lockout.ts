// Counts failed logins by folded name, for names that nobody has as well: whether a name is locked says
// nothing of whether there is such a user. In the memory of the node that answers logins; nobody but an
// operator can start it anew. Time is the one that never goes back.

import { RecentMap } from "@holdfast/shared/recent-map";
import type { Waiting } from "@holdfast/shared/waiting";
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
  /** Those that wait, in the order in which they came: each is told whether it may run, or is locked. */
  readonly line: ((may: boolean) => void)[];
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
  /** Those that are locked, in the order of their last failure and so of their end. */
  readonly #locked = new Map<string, Count>();

  constructor({ clock, config, maxNames = MAX_NAMES }: LockoutOptions) {
    this.#clock = clock;
    this.#config = config;
    this.#maxNames = maxNames;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** How many names are locked now. */
  get locked(): number {
    const { disabled, duration } = this.#config();
    for (const [name, count] of this.#locked) {
      if (count.locked && this.#clock.elapsed() - count.last < duration) break;
      this.#locked.delete(name);
    }
    return disabled ? 0 : this.#locked.size;
  }

  /** Runs the check, unless the name is locked. Null is a failure; a throw is none. Of parallel ones no
   *  more run than may still fail: the others wait for how those end. */
  async attempt<T>(
    request: Waiting,
    name: string,
    check: () => Promise<T | null>,
  ): Promise<T | null> {
    if (this.#config().disabled) return check();
    const count = this.#current(name);
    if (count.locked) throw this.#refusal(count);
    if (this.#mayFail(count)) count.pending += 1;
    else await this.#wait(request, name, count);
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
    this.#reset(name, count);
    this.#admit(name, count);
    if (count.pending === 0) this.#counts.delete(name);
  }

  /** Whether one more may run: as if each that runs failed. */
  #mayFail({ failures, pending }: Count): boolean {
    return failures + pending < this.#config().threshold;
  }

  #refusal({ last }: Count): Error {
    return lockedOut(last + this.#config().duration - this.#clock.elapsed());
  }

  /** Until this one counts among those that run. */
  async #wait(request: Waiting, name: string, count: Count): Promise<void> {
    if (count.line.length >= MAX_WAITING) throw tooManyLogins();
    const { promise: turn, resolve } = Promise.withResolvers<boolean>();
    let came = false;
    const place = (may: boolean) => {
      came = may;
      resolve(may);
    };
    count.line.push(place);
    try {
      if (!(await request.waitFor(turn))) throw this.#refusal(count);
    } catch (error) {
      const at = count.line.indexOf(place);
      if (at >= 0) count.line.splice(at, 1);
      if (came) this.#leave(name, count, "fault"); // the next one has its turn
      throw error;
    }
  }

  /** Those at the front of the line, as many as may run now; all are refused where the name is locked. Whoever
   *  waits does so behind one that runs, and is looked for when that ends. */
  #admit(name: string, count: Count): void {
    this.#renew(name, count);
    if (count.locked) for (const tell of count.line.splice(0)) tell(false);
    while (count.line.length > 0 && this.#mayFail(count)) {
      count.pending += 1;
      count.line.shift()?.(true);
    }
  }

  #leave(name: string, count: Count, how: "success" | "failure" | "fault"): void {
    count.pending -= 1;
    if (how === "success") this.#reset(name, count);
    if (how === "failure") {
      count.failures += 1;
      count.last = this.#clock.elapsed();
      if (count.failures >= this.#config().threshold) this.#lock(name, count);
    }
    this.#admit(name, count);
    const idle = count.failures === 0 && count.pending === 0 && !count.locked;
    if (idle && this.#counts.peek(name) === count) this.#counts.delete(name);
  }

  #current(name: string): Count {
    let count = this.#counts.get(name);
    if (count === undefined) {
      count = { failures: 0, pending: 0, last: 0n, locked: false, line: [] };
      this.#counts.set(name, count);
      this.#bound();
    }
    this.#renew(name, count);
    return count;
  }

  /** Starts anew what its time has undone. */
  #renew(name: string, count: Count): void {
    const { duration, counterReset, threshold } = this.#config();
    const since = this.#clock.elapsed() - count.last;
    if (since >= (count.locked ? duration : counterReset)) this.#reset(name, count);
    // The threshold may have been lowered since.
    if (count.failures >= threshold && !count.locked) this.#lock(name, count);
  }

  #bound(): void {
    const { oldest } = this.#counts;
    if (this.#counts.size > this.#maxNames && oldest !== null && oldest.value.pending === 0) {
      this.#counts.delete(oldest.key);
      this.#locked.delete(oldest.key);
    }
  }

  #lock(name: string, count: Count): void {
    count.locked = true;
    this.#locked.delete(name);
    this.#locked.set(name, count);
  }

  #reset(name: string, count: Count): void {
    count.failures = 0;
    if (count.locked) this.#locked.delete(name);
    count.locked = false;
  }
}
