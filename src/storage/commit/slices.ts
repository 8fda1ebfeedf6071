// Long work on the event loop, cut into slices of about 5 ms so that requests go on in between.

import type { Clock, Nanos, Timers } from "@holdfast/shared/world";

const SLICE: Nanos = 5_000_000n;

export class Slices {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #signal: AbortSignal | undefined;
  readonly #length: Nanos;
  #began: Nanos;

  /** `length`: default 5 ms. */
  constructor(
    world: { readonly clock: Clock; readonly timers: Timers },
    signal?: AbortSignal,
    length: Nanos = SLICE,
  ) {
    this.#clock = world.clock;
    this.#timers = world.timers;
    this.#signal = signal;
    this.#length = length;
    this.#began = world.clock.elapsed();
  }

  /** Gives others a turn when the slice is used up; throws when the work was cancelled. */
  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    if (this.#clock.elapsed() - this.#began < this.#length) return;
    await this.#timers.turn();
    this.#began = this.#clock.elapsed();
  }
}
