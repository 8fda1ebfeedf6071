// The requests that are being answered now: for whoever wants to see them, and for the seal, which
// waits for them, and so does a mount that goes.

import { RenewedMap } from "@holdfast/shared/renewed-map";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";

export interface RunningRequest {
  readonly id: string;
  readonly began: Instant;
  readonly verb: string;
  /** Name of the endpoint once it is known; nothing that the caller chose. */
  endpoint: string;
  /** Uuid of the mount that it goes to; empty for none. */
  mount: string;
  /** It waits for its body or for a turn, and has begun nothing. */
  waits: boolean;
  readonly address: string;
}

export class Running {
  readonly #now = new RenewedMap<RunningRequest, null>();
  readonly #clock: Clock;
  readonly #timers: Timers;
  #waiting: (() => void)[] = [];
  /** How those that wait for a turn are refused. */
  readonly #lines = new Map<RunningRequest, () => void>();
  /** Called at every end: few, and seldom. */
  readonly #looking = new Set<() => void>();

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  get requests(): readonly RunningRequest[] {
    return [...this.#now.keys()];
  }

  get count(): number {
    return this.#now.size;
  }

  begin(id: string, verb: string, address: string): RunningRequest {
    const began = this.#clock.now();
    const request = { id, began, verb, endpoint: "", mount: "", waits: false, address };
    this.#now.set(request, null);
    return request;
  }

  end(request: RunningRequest): void {
    this.#now.delete(request);
    for (const look of this.#looking) look();
    if (this.#waiting.length === 0 || this.#busy() > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** Waits for a turn, but not longer than until the node seals, then with a refusal, or until nobody is there
   *  any more who would get the answer: its place is for others. */
  async wait<T>(
    request: RunningRequest,
    turn: Promise<T>,
    { refusal, signal }: { readonly refusal: () => Error; readonly signal: AbortSignal },
  ): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const left = () => reject(signal.reason as Error);
    if (signal.aborted) left();
    else signal.addEventListener("abort", left, { once: true });
    request.waits = true;
    this.#lines.set(request, () => {
      request.waits = false; // it ends at once, which is waited for
      reject(refusal());
    });
    try {
      return await Promise.race([turn, promise]);
    } finally {
      signal.removeEventListener("abort", left);
      this.#lines.delete(request);
      request.waits = false;
    }
  }

  /** Resolves when nothing runs at the mount, or when the time is over or the signal says so. */
  async left(mount: string, max: Nanos, signal: AbortSignal): Promise<void> {
    // What waits for a turn finds the mount gone when that comes.
    const runs = () => this.#now.keys().some((one) => one.mount === mount && !one.waits);
    if (!runs()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (!runs()) resolve();
    };
    this.#looking.add(look);
    signal.addEventListener("abort", () => resolve(), { once: true });
    const timer = this.#timers.after(max, resolve);
    await promise;
    timer.cancel();
    this.#looking.delete(look);
  }

  #busy(): number {
    return this.#now.keys().reduce((sum, { waits }) => sum + (waits ? 0 : 1), 0);
  }

  /** Resolves when nothing runs, or when the time is over. Gives the number that still run. What waits for its
   *  body is not waited for: it is judged when that is there, and finds the node sealed. What waits for a turn is
   *  refused now. */
  async drained(max: Nanos): Promise<number> {
    for (const refuse of this.#lines.values()) refuse();
    if (this.#busy() === 0) return 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    const timer = this.#timers.after(max, resolve);
    await promise;
    timer.cancel();
    return this.#busy();
  }
}
