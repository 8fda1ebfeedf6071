// When which static role is next: a list in memory, derived from storage, and one armed timer. What is due
// is begun oldest first, so many in a second: after a long pause the provider is not stormed.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Timer, Timers } from "@holdfast/shared/world";

export interface ScheduleOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Does what is due and resolves, always; says by `set` when it is next. */
  readonly run: (name: string) => Promise<void>;
}

const PACE: Nanos = SECOND / 2n; // at most two in a second
/** So that one user about whom the provider is slow does not hold up the others. */
const MAX_AT_ONCE = 4;
/** The wall clock may be set: it is looked at again so often. */
const LONGEST_SLEEP: Nanos = 10n * MINUTE;

export class RotationSchedule {
  readonly #options: ScheduleOptions;
  readonly #due = new Map<string, Instant>();
  readonly #running = new Map<string, Promise<void>>();
  #lastBegun: Nanos | null = null;
  #timer: Timer | null = null;
  #open = false;
  #notBefore: Nanos = 0n; // by the steady clock

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Begins nothing for so long. */
  open(rest: Nanos = 0n): void {
    this.#open = true;
    this.#notBefore = this.#options.clock.elapsed() + rest;
    this.#arm();
  }

  /** Begins nothing more, and waits for what runs; what is due stays known. */
  async rest(): Promise<void> {
    this.#open = false;
    this.#timer?.cancel();
    this.#timer = null;
    await Promise.all(this.#running.values());
  }

  close(): void {
    void this.rest();
    this.#due.clear();
  }

  set(name: string, due: Instant): void {
    this.#due.set(name, due);
    this.#arm();
  }

  remove(name: string): void {
    this.#due.delete(name);
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const next = this.#earliest();
    if (!this.#open || next === null || this.#running.size >= MAX_AT_ONCE) return;
    const { clock, timers } = this.#options;
    const wait = next.due - clock.now();
    const paced = this.#lastBegun === null ? 0n : this.#lastBegun + PACE;
    const rest = (paced > this.#notBefore ? paced : this.#notBefore) - clock.elapsed();
    const delay = wait > rest ? wait : rest;
    this.#timer = timers.after(delay > LONGEST_SLEEP ? LONGEST_SLEEP : delay, () => this.#wake());
  }

  #wake(): void {
    this.#timer = null;
    const next = this.#earliest();
    const { clock } = this.#options;
    const isTime = next !== null && next.due <= clock.now();
    if (this.#open && isTime && clock.elapsed() >= this.#notBefore) {
      this.#lastBegun = clock.elapsed();
      this.#running.set(next.name, this.#begin(next.name));
    }
    this.#arm();
  }

  async #begin(name: string): Promise<void> {
    try {
      await this.#options.run(name);
    } finally {
      this.#running.delete(name);
      this.#arm();
    }
  }

  #earliest(): { readonly name: string; readonly due: Instant } | null {
    let first: { name: string; due: Instant } | null = null;
    for (const [name, due] of this.#due) {
      if (this.#running.has(name)) continue;
      if (first === null || due < first.due) first = { name, due };
    }
    return first;
  }
}
