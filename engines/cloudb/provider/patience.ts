// How long one piece of work with the provider may take, and what of it is tried again: its steps, each
// on its own, until they succeed, fail for good, or the time is over.

import { SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Failure } from "@holdfast/shared/failure";
import { providerGaveUp } from "../failures.ts";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import { pause } from "@holdfast/shared/pause";
import { withDeadline } from "../../cloud/deadline.ts";
import { retried } from "../../cloud/retry.ts";
import { ThrottledFailure } from "@holdfast/plugin-sdk/failure";
import type { ProviderError } from "../../cloud/provider-error.ts";

export interface PatienceOptions {
  readonly within: Nanos;
  /** Ends it early: the engine closes, a job is over. */
  readonly stop: readonly AbortSignal[];
  /** How often one step may be throttled before whoever asked is told. Default: as time allows. */
  readonly throttled?: number;
  /** How often the provider may fail at one step, or not be reached. Default 5. */
  readonly faults?: number;
}

interface World {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

/** Whether what stands in the way of a step may pass by itself: what was just made is not yet seen. */
export type Passing = (error: ProviderError) => boolean;

const NEVER: Passing = () => false;
const FIRST_PAUSES = 2; // then it is likely to be there any moment
const RETRY_AFTER = 5; // seconds, where the provider says nothing
const MARGIN: Nanos = 500_000_000n; // spreads those that were told the same time

/** Gives time for one piece of work, which also ends when the engine closes. */
export type Patiently = <T>(
  within: Nanos,
  work: (patience: Patience) => Promise<T>,
  options?: Partial<Omit<PatienceOptions, "within">>,
) => Promise<T>;

export function withPatience<T>(
  world: World,
  options: PatienceOptions,
  work: (patience: Patience) => Promise<T>,
): Promise<T> {
  const { within, stop } = options;
  return withDeadline(
    world.timers,
    within,
    (signal) => work(new Patience(world, options, signal)),
    stop,
  );
}

export class Patience {
  readonly #world: World;
  readonly #options: PatienceOptions;
  readonly #end: Nanos;
  readonly signal: AbortSignal;

  constructor(world: World, options: PatienceOptions, signal: AbortSignal) {
    this.#world = world;
    this.#options = options;
    this.#end = world.clock.elapsed() + options.within;
    this.signal = signal;
  }

  get left(): Nanos {
    return this.#end - this.#world.clock.elapsed();
  }

  /** Throws the provider's last error, as it is where that will not pass. */
  step<T>(
    call: (signal: AbortSignal, tries: number) => Promise<T>,
    passing: Passing = NEVER,
  ): Promise<T> {
    const { throttled: maxThrottled = Infinity, faults: maxFaults = 5 } = this.#options;
    let faults = 0;
    let throttled = 0;
    const goesOn = (failed: ProviderError) => {
      if (failed.kind === "throttled") return ++throttled <= maxThrottled;
      return passing(failed) || (isFault(failed) && ++faults <= maxFaults);
    };
    return retried((tries) => call(this.signal, tries), {
      timers: this.#world.timers,
      signal: this.signal,
      pauseAfter: (failed, tries) => (goesOn(failed) ? this.#pause(failed, tries) : null),
      left: () => this.left,
      timeOver: (_, last) => this.#gaveUp(last),
    });
  }

  /** Once, but for answers that ask to come back later. */
  throttledStep<T>(call: () => Promise<T>): Promise<T> {
    const { throttled = Infinity } = this.#options;
    return retried(call, {
      timers: this.#world.timers,
      signal: this.signal,
      pauseAfter: (failed, tries) =>
        failed.kind === "throttled" && tries < throttled ? this.#pause(failed, tries) : null,
    });
  }

  /** False when the time was over before that. */
  wait(length: Nanos): Promise<boolean> {
    return pause(this.#world.timers, length, this.signal);
  }

  #pause({ retryAfter }: ProviderError, tries: number): Nanos {
    if (retryAfter !== null) return BigInt(retryAfter) * SECOND + this.#upTo(MARGIN);
    return tries < FIRST_PAUSES
      ? 2n * SECOND + this.#upTo(5n * SECOND)
      : SECOND + this.#upTo(SECOND);
  }

  #upTo(length: Nanos): Nanos {
    return (length * BigInt(this.#world.random.bytes(4).readUInt32LE())) >> 32n;
  }

  /** Says which step it was and what the provider said last: a bare time-out helps nobody. */
  #gaveUp(last: ProviderError): Failure {
    const text = `${last.message}; gave up after ${showDuration(this.#options.within)}`;
    if (last.kind === "throttled")
      return new ThrottledFailure(text, last.retryAfter ?? RETRY_AFTER);
    return providerGaveUp(text, { cause: last });
  }
}

/** Whatever the step: the provider or the way to it is at fault. What may not be called never will. */
function isFault(error: ProviderError): boolean {
  if (error.kind === "forbidden") return false;
  if (error.kind === "unreachable") return error.code === "unreachable";
  if (error.status === 0) return error.code === "lost";
  return [500, 502, 503, 504].includes(error.status) || error.has("Directory_ConcurrencyViolation");
}
