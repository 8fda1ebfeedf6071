// Background work that comes back: every so often, at a time that is told, or when somebody says that there
// is something to do. One run at a time; a run that fails is told and comes again after a pause that grows;
// closing waits for what has begun, and nothing follows it.

import { describe } from "@holdfast/shared/failure";
import type { Fields, Log } from "@holdfast/shared/log";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";

export interface RecurringOptions {
  /** What is logged of a run that fails: "could not …". */
  readonly trouble: string;
  /** What it is about, for the same line. Default nothing. */
  readonly about?: Fields;
  /** `isOpen` turns false when it is to stop: long runs ask between their steps. */
  readonly run: (isOpen: () => boolean) => Promise<unknown>;
  /** From the end of one run to the next. Without it there is one when it opens and whenever it is woken. */
  readonly period?: Nanos;
  /** Whether the first run comes at once when it opens. Default true. */
  readonly atOnce?: boolean;
  /** After the first failure, and at most. Default: half a minute, always. */
  readonly pause?: { readonly first: Nanos; readonly max: Nanos };
  readonly timers: Timers;
  readonly log: Log;
}

const PAUSE: Nanos = 30_000_000_000n;

export class Recurring {
  readonly #options: RecurringOptions;
  #open = false;
  #running: Promise<void> | null = null;
  #woken = false; // while it was running
  #timer: Timer | null = null;
  #pause: Nanos | null = null; // the next, while runs fail

  constructor(options: RecurringOptions) {
    this.#options = options;
  }

  open(): void {
    if (this.#open) return;
    this.#open = true;
    this.#pause = null;
    if (this.#options.atOnce ?? true) this.wake();
    else this.#arm(this.#options.period);
  }

  /** Waits for the run that has begun. */
  async close(): Promise<void> {
    this.#open = false;
    this.#woken = false;
    this.#disarm();
    await this.#running?.catch(() => {});
  }

  /** There is something to do: now, and if a run has begun already, once more after it. */
  wake(): void {
    if (!this.#open) return;
    if (this.#running === null) void this.now().catch(() => {}); // told by the run
    else this.#woken = true;
  }

  /** In so long, if nothing comes before. */
  wakeIn(delay: Nanos): void {
    if (this.#open && this.#running === null) this.#arm(delay);
  }

  /** The run that is under way, or one that begins: rejects with what kept it from its end. */
  now(): Promise<void> {
    if (!this.#open) return Promise.resolve();
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    const { trouble, about, run, period, log } = this.#options;
    this.#disarm();
    let next = period;
    try {
      await Promise.resolve(); // so that it is known as running before it does anything
      await run(() => this.#open);
      this.#pause = null;
    } catch (error) {
      next = this.#nextPause();
      log.error(trouble, { ...about, cause: describe(error) });
      throw error;
    } finally {
      this.#running = null;
      const again = this.#woken;
      this.#woken = false;
      if (this.#open) {
        if (again && this.#pause === null) this.wake();
        else this.#arm(next);
      }
    }
  }

  #nextPause(): Nanos {
    const { first, max } = this.#options.pause ?? { first: PAUSE, max: PAUSE };
    const pause = this.#pause ?? first;
    this.#pause = pause * 2n < max ? pause * 2n : max;
    return pause;
  }

  #arm(delay: Nanos | undefined): void {
    this.#disarm();
    if (!this.#open || delay === undefined) return;
    this.#timer = this.#options.timers.after(delay, () => {
      this.#timer = null;
      this.wake();
    });
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
