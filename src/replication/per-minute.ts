// How often somebody may do a thing in a minute: an address that shows no token, a member of the set. In the memory of this
// node, for a bounded number of them.

import { RecentMap } from "@holdfast/shared/recent-map";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";

const MAX_NAMES = 16_384;

export class PerMinute {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #step: Nanos;
  // By name, when its allowance will be whole again: each one puts that off by a step.
  readonly #wholeAt = new RecentMap<string, Nanos>();

  constructor(clock: Pick<Clock, "elapsed">, count: number) {
    this.#clock = clock;
    this.#step = MINUTE / BigInt(count);
  }

  /** Counts one and gives 0; or, where that would be too many, in how many seconds there is room again. */
  take(name: string): number {
    const now = this.#clock.elapsed();
    const wholeAt = this.#wholeAt.peek(name) ?? 0n;
    const next = (wholeAt > now ? wholeAt : now) + this.#step;
    const over = next - now - MINUTE;
    if (over > 0n) return Number((over + SECOND - 1n) / SECOND);
    this.#wholeAt.set(name, next);
    const { oldest } = this.#wholeAt;
    if (oldest !== null && this.#wholeAt.size > MAX_NAMES) this.#wholeAt.delete(oldest.key);
    return 0;
  }
}
