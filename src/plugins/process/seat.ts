// The place of one process: started when somebody needs it, by one start for all who wait; stopped when nobody does.

import { orAborted } from "../../base/or-aborted.ts";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Clock } from "@holdfast/shared/world";
import { invariant } from "@holdfast/shared/invariant";
import { NOT_STARTED, waiting } from "./failures.ts";
import { Life, type LifeState } from "./life.ts";
import type { StartedProcess } from "./started-process.ts";

export interface SeatParts {
  readonly clock: Pick<Clock, "elapsed">;
  readonly name: string;
  /** Throws a Failure. */
  readonly start: () => Promise<StartedProcess>;
}

export class Seat {
  readonly #parts: SeatParts;
  readonly #life = new Life();
  #starting: Promise<StartedProcess> | null = null;
  #stopping: Promise<void> | null = null;
  #started: StartedProcess | null = null;
  #waiting = 0;
  /** On the process that is there. */
  #claims = 0;
  #lastCause: string | null = null;

  constructor(parts: SeatParts) {
    this.#parts = parts;
  }

  get state(): LifeState {
    return this.#life.state(this.#parts.clock.elapsed());
  }

  get started(): StartedProcess | null {
    return this.#started;
  }

  get claims(): number {
    return this.#claims;
  }

  get restarts(): number {
    return this.#life.restarts;
  }

  get lastCause(): string | null {
    return this.#lastCause;
  }

  /** Nothing runs in it, and nothing is remembered that would hold back the next start. */
  get isIdle(): boolean {
    const isFree = this.#claims === 0 && this.#waiting === 0 && this.state === "absent";
    return isFree && !this.#life.remembers(this.#now);
  }

  /** Claims its process, until `leave`. Throws a Failure, or the reason of the signal; then nothing is claimed. */
  async take(signal: AbortSignal): Promise<StartedProcess> {
    this.#waiting++;
    try {
      const started = await this.#take(signal);
      if (started === this.#started) this.#claims++;
      return started;
    } finally {
      this.#waiting--;
      void this.#stopUnused();
    }
  }

  /** Of one that has ended meanwhile nothing is left to stop. */
  async leave(started: StartedProcess): Promise<void> {
    if (started !== this.#started) return;
    this.#claims--;
    invariant(this.#claims >= 0, "a process is left as often as it is taken");
    await this.#stopUnused();
  }

  /** Whoever still has it finds it ended. */
  async stop(): Promise<void> {
    const started = this.#started;
    if (started === null) return;
    this.#stopping ??= this.#stop(started);
    await this.#stopping;
  }

  async #stop(started: StartedProcess): Promise<void> {
    this.#life.stops(this.#now);
    await started.stop();
    this.#stopping = null;
    this.#started = null;
    this.#claims = 0;
    this.#life.stopped(this.#now);
  }

  async #stopUnused(): Promise<void> {
    if (this.#claims === 0 && this.#waiting === 0) await this.stop();
  }

  async #take(signal: AbortSignal): Promise<StartedProcess> {
    for (;;) {
      signal.throwIfAborted();
      const wanted = this.#life.want(this.#now);
      switch (wanted.kind) {
        case "start":
          this.#starting = this.#start();
          this.#starting.catch(() => {}); // told to whoever waits
          break;
        case "join":
          if (this.#started !== null) return this.#started;
          invariant(this.#starting !== null, "what is not there yet is being started");
          return await orAborted(this.#starting, signal);
        case "later":
          await orAborted(this.#stopping ?? Promise.resolve(), signal);
          break;
        case "refused":
          throw waiting(this.#parts.name, this.#lastCause ?? "it failed", wanted.wait);
      }
    }
  }

  async #start(): Promise<StartedProcess> {
    this.#life.starts(this.#now);
    try {
      const started = await this.#parts.start();
      this.#started = started;
      this.#claims = 0;
      this.#life.ready(this.#now);
      void started.ended.then(({ cause }) => this.#ended(started, cause));
      if (this.#waiting === 0) void this.stop(); // all who wanted it have gone meanwhile
      return started;
    } catch (error) {
      this.#lastCause = describe(error);
      // What was refused before anything ran is cheap to ask again, and may be mended any moment.
      if (error instanceof Failure && error.code !== NOT_STARTED) this.#life.stopped(this.#now);
      else this.#life.failed(this.#now);
      throw error;
    } finally {
      this.#starting = null;
    }
  }

  #ended(started: StartedProcess, cause: string): void {
    if (this.#started !== started || this.#stopping !== null) return;
    this.#started = null;
    this.#claims = 0;
    this.#lastCause = cause;
    this.#life.failed(this.#now);
  }

  get #now() {
    return this.#parts.clock.elapsed();
  }
}
