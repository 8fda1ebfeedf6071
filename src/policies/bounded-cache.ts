// What was used last, bounded by number and by cost, so that no caller can make it grow: the least
// recently used goes first. The newest always stays, or the largest would be made anew each time.

import { RecentMap } from "@holdfast/shared/recent-map";

export interface CacheBounds {
  readonly entries: number;
  readonly cost: number;
}

export class BoundedCache<T> {
  readonly #entries = new RecentMap<string, { readonly value: T; readonly cost: number }>();
  readonly #bounds: CacheBounds;
  #cost = 0;

  constructor(bounds: CacheBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  put(key: string, value: T, cost: number): void {
    this.drop(key);
    this.#entries.set(key, { value, cost });
    this.#cost += cost;
    for (const [oldest] of this.#entries) {
      const fits = this.#entries.size <= this.#bounds.entries && this.#cost <= this.#bounds.cost;
      if (fits || this.#entries.size === 1) break;
      this.drop(oldest);
    }
  }

  drop(key: string): void {
    const entry = this.#entries.peek(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#cost -= entry.cost;
  }

  dropWhere(unwanted: (value: T) => boolean): void {
    for (const [key, { value }] of this.#entries) if (unwanted(value)) this.drop(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#cost = 0;
  }
}
