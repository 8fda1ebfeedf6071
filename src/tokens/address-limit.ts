// How often one address may try something that costs us and gives it nothing: exchanges, secrets that
// nobody has, logins that fail. Secrets have 122 random bits, so this is about load and not about guessing.
// In the memory of this node alone, for a bounded number of addresses.

import { clientOf } from "@holdfast/shared/text/client-address";
import { SECOND } from "@holdfast/shared/text/duration";
import { RecentMap } from "@holdfast/shared/recent-map";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { tooOften } from "./failures.ts";

export interface AddressLimitOptions {
  readonly clock: Clock;
  /** Default 10. */
  readonly perSecond?: number;
  /** How many at once, after a rest. Default 50. */
  readonly burst?: number;
  /** How many addresses are remembered. Default 65,536, about 12 MB. */
  readonly maxAddresses?: number;
}

export class AddressLimit {
  readonly #clock: Clock;
  readonly #step: Nanos;
  readonly #allowance: Nanos;
  readonly #maxAddresses: number;
  // By address, when its allowance will be whole again: each attempt puts that off by one step.
  readonly #wholeAt = new RecentMap<string, Nanos>();

  constructor({ clock, perSecond = 10, burst = 50, maxAddresses = 65_536 }: AddressLimitOptions) {
    this.#clock = clock;
    this.#step = SECOND / BigInt(perSecond);
    this.#allowance = this.#step * BigInt(burst);
    this.#maxAddresses = maxAddresses;
  }

  get size(): number {
    return this.#wholeAt.size;
  }

  /** Counts an attempt, or refuses it: for what costs the same whether it succeeds or not. */
  take(address: string): void {
    this.check(address);
    this.count(address);
  }

  /** Refuses while the address has used its allowance up; counts nothing. */
  check(address: string): void {
    const used = this.#used(address);
    const over = used + this.#step - this.#allowance;
    if (over > 0n) throw tooOften(Number((over + SECOND - 1n) / SECOND));
  }

  /** Counts what has failed, once that is known. */
  count(address: string): void {
    const used = this.#used(address) + this.#step;
    const kept = used > this.#allowance ? this.#allowance : used;
    this.#wholeAt.set(clientOf(address), this.#clock.elapsed() + kept);
    const { oldest } = this.#wholeAt;
    // Whoever comes from so many addresses has as many allowances to begin with.
    if (oldest !== null && this.#wholeAt.size > this.#maxAddresses)
      this.#wholeAt.delete(oldest.key);
  }

  #used(address: string): Nanos {
    const used = (this.#wholeAt.peek(clientOf(address)) ?? 0n) - this.#clock.elapsed();
    return used > 0n ? used : 0n;
  }
}
