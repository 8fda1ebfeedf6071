// The clock hand: one timer for all connections of all listeners. A timer for each request would cost
// more than the request's own accounting, and Node has none for half of what must be limited here. Of
// many connections the hand looks at some at a time, and ends a few at a time: thousands that came
// together are over together, and nobody else is to wait until all of them are ended (T-N03).

import type { Clock, Nanos, Timer, Timers } from "./world.ts";
import { MILLISECOND } from "./text/duration.ts";

const ROUND: Nanos = 500n * MILLISECOND; // limits are held to within this
const MIN_AT_ONCE = 64;
const MAX_STEPS = 20; // of a round
// Ending a connection, with all that follows from it, takes a tenth of a millisecond. In a second 2,500
// are ended so, and in four as many as there may be.
const ENDED_AT_ONCE = 64;
const ENDED_SHARE = 80; // or one in so many of all
// Where the steps come late, for want of a processor, each does more.
const MAX_LATE = 4n;

// Of one connection, which may have many requests that are over together; then it is the others' turn.
const ENDED_OF_ONE = 8;

export interface Swept {
  /** Looks at the time, and ends what has had too much of it, `max` of several. Gives how many those were: with
   *  `max` or more it is looked at again before the round is over. `true` when it has ended itself. */
  check(now: Nanos, max: number): boolean | number;
}

export class Sweep {
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** Those that are still to be looked at in this round, and those of the next one. Whoever comes is of the next one: a
   *  round that grew while it lasts would never end where many come and go. */
  #round = new Set<Swept>();
  #nextRound = new Set<Swept>();
  #owed = 0; // how many are to be looked at by now
  #last: Nanos = 0n; // when the last step was
  #until: Nanos = ROUND; // and how long after it the next one is to be
  #timer: Timer | null = null;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  add(swept: Swept): void {
    this.#nextRound.add(swept);
    this.#arm();
  }

  remove(swept: Swept): void {
    this.#round.delete(swept);
    this.#nextRound.delete(swept);
    if (this.#size > 0) return;
    this.#timer?.cancel(); // a stopped server must not keep its process alive
    this.#timer = null;
    this.#owed = 0;
  }

  get #size(): number {
    return this.#round.size + this.#nextRound.size;
  }

  get #steps(): number {
    return Math.min(MAX_STEPS, Math.ceil(this.#size / MIN_AT_ONCE));
  }

  #arm(): void {
    const steps = this.#owed > 0 ? MAX_STEPS : Math.max(1, this.#steps);
    if (this.#timer !== null) return;
    this.#until = ROUND / BigInt(steps);
    this.#timer = this.#timers.after(this.#until, () => {
      this.#timer = null;
      this.#step();
      if (this.#size > 0) this.#arm();
    });
  }

  #step(): void {
    const now = this.#clock.elapsed();
    const size = this.#size;
    const max = Math.max(ENDED_AT_ONCE, Math.ceil(size / ENDED_SHARE)) * this.#stepsSince(now);
    // What was left over last time comes on top, but nobody is looked at twice.
    this.#owed = Math.min(size, this.#owed + Math.ceil(size / this.#steps));
    for (let ended = 0; this.#owed > 0 && ended < max;) {
      const swept = this.#next();
      if (swept === null) break;
      const few = Math.min(ENDED_OF_ONE, max - ended);
      const found = swept.check(now, few);
      ended += Number(found);
      // What has gone meanwhile is in neither.
      const hasMore = typeof found === "number" && found >= few;
      if (hasMore && this.#nextRound.delete(swept)) this.#round.add(swept);
      else this.#owed--;
    }
  }

  /** How many steps there should have been since the last one, within reason. */
  #stepsSince(now: Nanos): number {
    const passed = (now - this.#last) / this.#until;
    this.#last = now;
    return Number(passed < 1n ? 1n : passed > MAX_LATE ? MAX_LATE : passed);
  }

  #next(): Swept | null {
    if (this.#round.size === 0) [this.#round, this.#nextRound] = [this.#nextRound, this.#round];
    for (const swept of this.#round) {
      this.#round.delete(swept);
      this.#nextRound.add(swept);
      return swept;
    }
    return null;
  }
}
