// How often an address may do in a minute what needs no token. In the memory of this node, for a bounded number of
// addresses.

import { RecentMap } from "@holdfast/shared/recent-map";
import { clientOf } from "@holdfast/shared/text/client-address";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { tooOften } from "./failures.ts";

const MAX_ADDRESSES = 16_384;

export class PerMinute {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #step: Nanos;
  // By address, when its allowance will be whole again: each one puts that off by a step.
  readonly #wholeAt = new RecentMap<string, Nanos>();

  constructor(clock: Pick<Clock, "elapsed">, count: number) {
    this.#clock = clock;
    this.#step = MINUTE / BigInt(count);
  }

  /** Counts one, or refuses it. */
  take(address: string): void {
    const client = clientOf(address);
    const now = this.#clock.elapsed();
    const wholeAt = this.#wholeAt.peek(client) ?? 0n;
    const next = (wholeAt > now ? wholeAt : now) + this.#step;
    const over = next - now - MINUTE;
    if (over > 0n) throw tooOften(Number((over + SECOND - 1n) / SECOND));
    this.#wholeAt.set(client, next);
    const { oldest } = this.#wholeAt;
    if (oldest !== null && this.#wholeAt.size > MAX_ADDRESSES) this.#wholeAt.delete(oldest.key);
  }
}
