// Time that stands still until a test moves it, timers that follow it, randomness that can fail, and
// a log that is kept. For the tests of every room; the simulator has a world of its own.

import type { Clock, Instant, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";
import { type Log, makeLog } from "@holdfast/shared/log";
import { SystemRandom } from "../../src/system/random.ts";

/** 2026-01-01T00:00:00Z */
export const START: Instant = 1_767_225_600_000_000_000n;

export class FakeClock implements Clock {
  #now: Instant;
  #elapsed: Nanos = 0n;

  constructor(now: Instant = START) {
    this.#now = now;
  }

  now(): Instant {
    return this.#now;
  }

  elapsed(): Nanos {
    return this.#elapsed;
  }

  /** Time passes on both clocks; timers are not told (FakeTimers.advance does that). */
  pass(length: Nanos): void {
    this.#now += length;
    this.#elapsed += length;
  }

  /** Somebody sets the wall clock. */
  jump(to: Instant): void {
    this.#now = to;
  }
}

interface Due {
  readonly at: Nanos;
  readonly call: () => void;
}

export class FakeTimers implements Timers {
  readonly #clock: FakeClock;
  #waiting: Due[] = [];
  #turns = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** How often somebody gave way to others. */
  get turns(): number {
    return this.#turns;
  }

  /** How many timers are armed. */
  get armed(): number {
    return this.#waiting.length;
  }

  after(delay: Nanos, call: () => void): Timer {
    const due = { at: this.#clock.elapsed() + (delay > 0n ? delay : 0n), call };
    this.#waiting.push(due);
    return {
      cancel: () => {
        this.#waiting = this.#waiting.filter((other) => other !== due);
      },
    };
  }

  /** A real turn of the event loop, so that whatever is under way gets on. */
  turn(): Promise<void> {
    this.#turns++;
    return nextTurn();
  }

  /** Lets time pass, calling what falls due in order; after each call everything else has a turn. */
  async advance(length: Nanos): Promise<void> {
    const end = this.#clock.elapsed() + length;
    for (;;) {
      const next = this.#waiting
        .filter(({ at }) => at <= end)
        .reduce<Due | null>(
          (first, due) => (first === null || due.at < first.at ? due : first),
          null,
        );
      if (next === null) break;
      this.#waiting = this.#waiting.filter((due) => due !== next);
      const wait = next.at - this.#clock.elapsed();
      if (wait > 0n) this.#clock.pass(wait);
      next.call();
      await nextTurn();
    }
    this.#clock.pass(end - this.#clock.elapsed());
  }
}

/** Real randomness whose source can be made to fail. */
export class FlakyRandom implements Random {
  readonly #real = new SystemRandom();
  failing = false;

  bytes(length: number): Buffer {
    if (this.failing) throw new Error("the random source failed");
    return this.#real.bytes(length);
  }

  uuid(): string {
    if (this.failing) throw new Error("the random source failed");
    return this.#real.uuid();
  }
}

export interface FakeWorld {
  readonly clock: FakeClock;
  readonly timers: FakeTimers;
  readonly random: FlakyRandom;
  readonly log: Log;
  /** What was logged, a line each. */
  readonly lines: string[];
}

export function fakeWorld(): FakeWorld {
  const clock = new FakeClock();
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = makeLog({ level: "debug", format: "standard", write, clock });
  return { clock, timers: new FakeTimers(clock), random: new FlakyRandom(), log, lines };
}

/** Resolves when everything that is already due had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
