// Callers by the hash of their secret, least recently used out first. Only tokens that are there get
// in: a stream of made-up secrets must leave nothing behind (T-B25).

import { RecentMap } from "@holdfast/shared/recent-map";
import type { Caller } from "@holdfast/shared/endpoint/request";

export interface Known {
  readonly caller: Caller;
  readonly hash: string;
}

export class TokenCache {
  readonly #byHash = new RecentMap<string, Known>();
  readonly #byAccessor = new Map<string, Known>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#byHash.size;
  }

  get(hash: string): Caller | undefined {
    return this.#byHash.get(hash)?.caller;
  }

  put(hash: string, caller: Caller): void {
    this.drop(caller.accessor);
    const known = { caller, hash };
    this.#byHash.set(hash, known);
    this.#byAccessor.set(caller.accessor, known);
    const { oldest } = this.#byHash;
    if (oldest !== null && this.#byHash.size > this.#max) this.drop(oldest.value.caller.accessor);
  }

  drop(accessor: string): void {
    const known = this.#byAccessor.get(accessor);
    if (known === undefined) return;
    this.#byAccessor.delete(accessor);
    this.#byHash.delete(known.hash);
  }

  clear(): void {
    this.#byHash.clear();
    this.#byAccessor.clear();
  }
}
