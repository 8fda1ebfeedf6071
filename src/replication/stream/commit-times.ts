// When entries were committed here, as far as somebody may still wait for them: so a primary can say for how long a
// secondary lacks what it lacks. A bounded number of moments, further apart the longer ago they are.

import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { Store } from "../../storage/store.ts";

const STEP: Nanos = 10n * MILLISECOND;
const MAX_MOMENTS = 4096;
/** What is told too long is at most two such parts of it; some thousand moments are left of any time. */
const FINENESS = 64n;

interface Moment {
  /** The last that was committed, and when the first of them was that the moment before does not have. */
  readonly index: bigint;
  readonly at: Nanos;
}

export class CommitTimes {
  readonly #store: Pick<Store, "index" | "onCommit">;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #unwatch: () => void;
  #moments: Moment[] = [];

  constructor(store: Pick<Store, "index" | "onCommit">, clock: Pick<Clock, "elapsed">) {
    this.#store = store;
    this.#clock = clock;
    this.#unwatch = store.onCommit(() => this.#note());
    this.#note(); // what was before counts from here
  }

  close(): void {
    this.#unwatch();
    this.#moments = [];
  }

  /** For how long the first entry after this one is there; 0 where there is none. */
  waiting(index: bigint): Nanos {
    const at = this.#find(index);
    return at === null ? 0n : this.#clock.elapsed() - at;
  }

  #find(index: bigint): Nanos | null {
    let [low, high] = [0, this.#moments.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#moments[middle]!.index > index) high = middle;
      else low = middle + 1;
    }
    return this.#moments[low]?.at ?? null;
  }

  #note(): void {
    const { index } = this.#store;
    const now = this.#clock.elapsed();
    const last = this.#moments.at(-1);
    if (last !== undefined && now - last.at < STEP) {
      this.#moments[this.#moments.length - 1] = { index, at: last.at };
      return;
    }
    this.#moments.push({ index, at: now });
    if (this.#moments.length > MAX_MOMENTS) this.#thin();
  }

  /** Moments that are close together, for how long ago they are, become one. */
  #thin(): void {
    const now = this.#clock.elapsed();
    const kept: Moment[] = [];
    for (const { index, at } of this.#moments) {
      const last = kept.at(-1);
      const isClose = last !== undefined && (at - last.at) * FINENESS <= now - at;
      if (isClose) kept[kept.length - 1] = { index, at: last.at };
      else kept.push({ index, at });
    }
    this.#moments = kept;
  }
}
