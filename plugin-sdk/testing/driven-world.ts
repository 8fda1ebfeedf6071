// Time that stands still until a test moves it, timers that follow it, and randomness that is the same in
// every run.

import { createHash } from "node:crypto";
import { concat } from "@holdfast/shared/bytes";
import { type Log, makeLog } from "@holdfast/shared/log";
import { uuidOfDigits } from "@holdfast/shared/text/uuid";
import type { Clock, Instant, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";

/** 2026-01-01T00:00:00Z */
const START: Instant = 1_767_225_600_000_000_000n;

interface Due {
  readonly at: Nanos;
  readonly call: () => void;
}

export class DrivenWorld {
  /** What was logged, a line each. */
  readonly lines: string[] = [];
  readonly clock: Clock = { now: () => START + this.#elapsed, elapsed: () => this.#elapsed };
  readonly timers: Timers = {
    after: (delay, call) => this.#arm(delay, call),
    turn: () => nextTurn(),
  };
  readonly random: Random = { bytes: (length) => this.#bytes(length), uuid: () => this.#uuid() };
  readonly log: Log;
  #elapsed: Nanos = 0n;
  #waiting: Due[] = [];
  #drawn = 0;

  constructor() {
    const write = (line: string) => void this.lines.push(line);
    this.log = makeLog({ level: "debug", format: "standard", write, clock: this.clock });
  }

  /** Lets time pass, calling what falls due in order; after each call everything else has a turn. */
  async advance(length: Nanos): Promise<void> {
    const end = this.#elapsed + length;
    for (;;) {
      const [next] = this.#waiting
        .filter(({ at }) => at <= end)
        .toSorted((a, b) => (a.at < b.at ? -1 : 1));
      if (next === undefined) break;
      this.#waiting = this.#waiting.filter((due) => due !== next);
      if (next.at > this.#elapsed) this.#elapsed = next.at;
      next.call();
      await nextTurn();
    }
    this.#elapsed = end;
  }

  #arm(delay: Nanos, call: () => void): Timer {
    const due = { at: this.#elapsed + (delay > 0n ? delay : 0n), call };
    this.#waiting.push(due);
    const cancel = () => (this.#waiting = this.#waiting.filter((other) => other !== due));
    return { cancel: () => void cancel() };
  }

  #bytes(length: number): Buffer {
    const parts: Buffer[] = [];
    for (let had = 0; had < length; had += 32) {
      parts.push(
        createHash("sha256")
          .update(`drawn ${++this.#drawn}`)
          .digest(),
      );
    }
    return concat(...parts).subarray(0, length);
  }

  #uuid(): string {
    return uuidOfDigits(this.#bytes(16).toString("hex"));
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
