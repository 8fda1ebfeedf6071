// What goes wrong when a test wants it to: refusals, throttling, answers that get lost after the deed
// was done, answers that come late, answers that are no answers.

import { ApiError, type Params } from "./wire.ts";

export type FaultKind =
  | "error" // a refusal with `status`, `code` and `message`
  | "throttle" // 400 Throttling
  | "unavailable" // 503 ServiceUnavailable
  | "lost" // the connection is cut instead of an answer
  | "raw" // `status`, `headers` and `body` as they stand
  | "delay" // goes on after `delayMs`
  | "hold"; // goes on when it is released; not at all if the caller has gone meanwhile

export interface FaultOptions {
  readonly kind: FaultKind;
  /** "*": every one. */
  readonly action: string;
  /** Fields of the request that must have these values. */
  readonly match?: Readonly<Record<string, string>>;
  /** Whether what was asked for is done first. Default: "lost" after, all others before. */
  readonly when?: "before" | "after";
  /** How many matching requests pass first. Default 0. */
  readonly skip?: number;
  /** How many requests it befalls; null: all. Default 1. */
  readonly times?: number | null;
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  /** The text of the refusal repeats what was sent, the secret of the caller among it. */
  readonly echo?: boolean;
  /** Seconds, for a header Retry-After. */
  readonly retryAfter?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
}

export interface Fault extends FaultOptions {
  readonly id: number;
  seen: number;
  hit: number;
}

export interface Throttle {
  /** Requests that pass in a second of the fake's time; the rest is refused. */
  readonly perSecond?: number;
  /** Of all requests, drawn by a generator that starts anew when this is set. */
  readonly fraction?: number;
  readonly retryAfter?: number;
  /** Default: every action. */
  readonly actions?: readonly string[];
}

export class Faults {
  readonly #faults = new Map<number, Fault>();
  #last = 0;
  #throttle: Throttle | null = null;
  #second = 0;
  #passed = 0;
  #drawn = 1;

  add(options: FaultOptions): number {
    const id = ++this.#last;
    this.#faults.set(id, { ...options, id, seen: 0, hit: 0 });
    return id;
  }

  remove(id: number): void {
    this.#faults.delete(id);
  }

  clear(): void {
    this.#faults.clear();
    this.#throttle = null;
  }

  list(): readonly Fault[] {
    return [...this.#faults.values()];
  }

  setThrottle(throttle: Throttle | null): void {
    this.#throttle = throttle;
    this.#second = this.#passed = 0;
    this.#drawn = 1;
  }

  /** The first that befalls this request. */
  next(action: string, params: Params): Fault | null {
    for (const fault of this.#faults.values()) {
      if (fault.action !== "*" && fault.action !== action) continue;
      const { match = {}, skip = 0, times = 1 } = fault;
      const fits = Object.entries(match).every(([name, value]) => params.optional(name) === value);
      if (!fits || fault.seen++ < skip) continue;
      if (times !== null && fault.hit >= times) continue;
      fault.hit++;
      return fault;
    }
    return null;
  }

  /** Refuses what is over the rate. */
  checkRate(action: string, now: number): void {
    const throttle = this.#throttle;
    if (throttle === null || throttle.actions?.includes(action) === false) return;
    const { perSecond, fraction, retryAfter } = throttle;
    if (perSecond !== undefined) {
      const second = Math.floor(now / 1000);
      if (second !== this.#second) [this.#second, this.#passed] = [second, 0];
      if (this.#passed++ >= perSecond) throw throttled(retryAfter);
    }
    if (fraction !== undefined && this.#draw() < fraction) throw throttled(retryAfter);
  }

  /** Park and Miller: the same run of refusals every time. */
  #draw(): number {
    this.#drawn = (this.#drawn * 48_271) % 2_147_483_647;
    return this.#drawn / 2_147_483_647;
  }
}

export function throttled(retryAfter?: number): ApiError {
  return new ApiError(400, "Throttling", "Rate exceeded", retryHeader(retryAfter));
}

/** The refusal of a fault; null for those that do not refuse. */
export function refusalOf(fault: Fault, echoed: string): ApiError | null {
  const headers = retryHeader(fault.retryAfter);
  if (fault.kind === "throttle") return throttled(fault.retryAfter);
  if (fault.kind === "unavailable") {
    const said = "The request has failed due to a temporary failure of the server.";
    return new ApiError(503, "ServiceUnavailable", said, headers);
  }
  if (fault.kind !== "error") return null;
  const {
    status = 500,
    code = "ServiceFailure",
    message = "We encountered an internal error.",
  } = fault;
  const text = fault.echo === true ? `${message} ${echoed}` : message;
  return new ApiError(status, code, text, headers);
}

function retryHeader(seconds: number | undefined): Readonly<Record<string, string>> {
  return seconds === undefined ? {} : { "Retry-After": String(seconds) };
}
