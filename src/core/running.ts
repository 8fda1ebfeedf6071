// The requests that are being answered now: for whoever wants to see them, and for the seal, which
// waits for them.

import type { Clock, Instant, Nanos, Timers } from "../base/world.ts";

export interface RunningRequest {
  readonly id: string;
  readonly began: Instant;
  readonly verb: string;
  /** Name of the endpoint once it is known; nothing that the caller chose. */
  endpoint: string;
  readonly address: string;
}

export class Running {
  readonly #now = new Set<RunningRequest>();
  readonly #clock: Clock;
  readonly #timers: Timers;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  get requests(): readonly RunningRequest[] {
    return [...this.#now];
  }

  get count(): number {
    return this.#now.size;
  }

  begin(id: string, verb: string, address: string): RunningRequest {
    const request = { id, began: this.#clock.now(), verb, endpoint: "", address };
    this.#now.add(request);
    return request;
  }

  end(request: RunningRequest): void {
    this.#now.delete(request);
    if (this.#now.size > 0 || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** Resolves when nothing runs, or when the time is over. Gives the number that still run. */
  async drained(most: Nanos): Promise<number> {
    if (this.#now.size === 0) return 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    const timer = this.#timers.after(most, resolve);
    await promise;
    timer.cancel();
    return this.#now.size;
  }
}
