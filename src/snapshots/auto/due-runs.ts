// Work that falls due by name, while this node is the active one: started when its time has come, one of a name and so
// many at once, joined by whoever asks for it, stopped when the node rests. What is due, and what is done, is said
// by whoever owns it.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { pause } from "@holdfast/shared/pause";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Timer, Timers } from "@holdfast/shared/world";

export interface Due {
  readonly name: string;
  readonly next: Instant;
}

export interface Run<Phase> {
  /** As status tells it. */
  phase: Phase;
  /** The node rests, or what it is about was removed. */
  readonly signal: AbortSignal;
}

/** A run that is over, with how it went as its owner says it. */
export interface Ended<Outcome> {
  readonly outcome: Outcome;
}

export interface DueRunsOptions<Phase, Outcome> {
  /** For the log. */
  readonly what: { readonly one: string; readonly many: string };
  readonly first: Phase;
  /** At once. */
  readonly max: number;
  /** Everything that is to be done some day. */
  readonly due: () => readonly Due[];
  /** Notes itself how it went, so that the next one is due later; throws where that could not be noted. */
  readonly run: (name: string, run: Run<Phase>) => Promise<Outcome>;
  /** Brings the schedule up to date, before anything starts. */
  readonly takeUp: (isLeading: () => boolean) => Promise<void>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

interface Started<Phase, Outcome> {
  readonly run: Run<Phase>;
  readonly stop: AbortController;
  /** Never rejects: most runs have nobody who waits. */
  readonly done: Promise<Ended<Outcome> | { readonly error: unknown }>;
}

/** The wall clock may jump: no wait is longer. */
const LONGEST_WAIT: Nanos = MINUTE;
const WAITED_FOR: Nanos = 60n * SECOND;
/** What could not be noted is still due, and must not start again and again without a pause. */
const HELD_FOR: Nanos = MINUTE;

export class DueRuns<Phase, Outcome> {
  readonly #options: DueRunsOptions<Phase, Outcome>;
  readonly #runs = new Map<string, Started<Phase, Outcome>>();
  /** Until when the schedule leaves them alone, in time that never jumps. */
  readonly #held = new Map<string, Nanos>();
  #timer: Timer | null = null;
  #leading = false;
  #resting = new AbortController(); // whoever waits for a run is answered
  #takingUp: Promise<void> | null = null;

  constructor(options: DueRunsOptions<Phase, Outcome>) {
    this.#options = options;
  }

  get isLeading(): boolean {
    return this.#leading;
  }

  open(): void {
    this.#leading = true;
    this.#resting = new AbortController();
    this.#takingUp = this.#takeUp();
  }

  async close(): Promise<void> {
    this.#leading = false;
    await this.#takingUp;
    this.#timer?.cancel();
    this.#timer = null;
    const runs = [...this.#runs.values()];
    for (const { stop } of runs) stop.abort();
    await Promise.all(runs.map(({ done }) => done));
  }

  /** Whoever waits for a run is answered: it goes on without them. */
  interrupt(): void {
    this.#resting.abort();
  }

  /** Undefined while nothing of that name runs. */
  phaseOf(name: string): Phase | undefined {
    return this.#runs.get(name)?.run.phase;
  }

  /** Whether something of that name runs, or could start now. */
  hasRoomFor(name: string): boolean {
    return this.#runs.has(name) || this.#runs.size < this.#options.max;
  }

  /** Now, or the one that is under way: how it went. Null when it takes longer than is waited for: it goes on. Throws
   *  what kept it from being noted. */
  async join(name: string, signal: AbortSignal): Promise<Ended<Outcome> | null> {
    const { done } = this.#runs.get(name) ?? this.#start(name);
    const waiting = new AbortController();
    const over = AbortSignal.any([waiting.signal, this.#resting.signal, signal]);
    const waited = pause(this.#options.timers, WAITED_FOR, over).then(() => null);
    const ended = await Promise.race([done, waited]);
    waiting.abort();
    if (ended !== null && "error" in ended) throw ended.error;
    return ended;
  }

  /** When it resolves, nothing of that name runs. */
  async stop(name: string): Promise<void> {
    const started = this.#runs.get(name);
    started?.stop.abort();
    await started?.done;
    this.#held.delete(name);
  }

  /** Looks again at what is due next. */
  arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#leading) return;
    const now = this.#options.clock.now();
    // Where all places are taken, the end of a run arms it again.
    const startable = this.#waiting().filter(({ name }) => this.hasRoomFor(name));
    const waits = startable.map(({ next }) => (next > now ? next - now : 0n));
    if (waits.length === 0) return;
    const soonest = waits.reduce((one, other) => (one < other ? one : other), LONGEST_WAIT);
    this.#timer = this.#options.timers.after(soonest, () => this.#tick());
  }

  async #takeUp(): Promise<void> {
    const { takeUp, what, log } = this.#options;
    try {
      await takeUp(() => this.#leading);
    } catch (error) {
      log.error(`could not take up the schedule of ${what.many}`, { cause: describe(error) });
    }
    this.arm();
  }

  #tick(): void {
    this.#timer = null;
    const now = this.#options.clock.now();
    for (const { name, next } of this.#waiting()) {
      if (next <= now && this.hasRoomFor(name)) this.#start(name);
    }
    this.arm();
  }

  /** Longest due first. */
  #waiting(): Due[] {
    const { due, clock } = this.#options;
    const [now, elapsed] = [clock.now(), clock.elapsed()];
    return due()
      .filter(({ name }) => !this.#runs.has(name))
      .map(({ name, next }) => {
        const free = now + (this.#held.get(name) ?? elapsed) - elapsed;
        return { name, next: free > now && free > next ? free : next };
      })
      .sort((one, other) => (one.next < other.next ? -1 : one.next > other.next ? 1 : 0));
  }

  #start(name: string): Started<Phase, Outcome> {
    const { run: start, first, what, clock, log } = this.#options;
    const stop = new AbortController();
    const run: Run<Phase> = { phase: first, signal: stop.signal };
    this.#held.delete(name);
    const done = Promise.resolve()
      .then(async () => ({ outcome: await start(name, run) }))
      .catch((error: unknown) => {
        log.error(`could not note how ${what.one} went`, { config: name, cause: describe(error) });
        this.#held.set(name, clock.elapsed() + HELD_FOR);
        return { error };
      })
      .finally(() => {
        this.#runs.delete(name);
        this.arm();
      });
    const started = { run, stop, done };
    this.#runs.set(name, started);
    return started;
  }
}
