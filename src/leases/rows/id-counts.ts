// How many leases have ids that begin in some way. Counted once by looking at them all, and from then on
// by what changes: a quota on a path is asked at every issue.

import type { Timers } from "@holdfast/shared/world";
import { RECORDS, recordsOf } from "./lease-keys.ts";
import type { LeaseRows } from "./lease-rows.ts";

const PAGE = 1000;
const MAX_COUNTS = 1000; // as many as there are quotas; more are counted anew when they are asked for

export class IdCounts {
  readonly #rows: LeaseRows;
  /** By the beginning of their keys: what follows it. */
  readonly #known = new Map<string, Set<string>>();
  #unwatch: (() => void) | null = null;

  constructor(rows: LeaseRows) {
    this.#rows = rows;
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = null;
    this.#known.clear();
  }

  /** How many there are; where they are more than `max`, some number above it. */
  upTo(namespaceId: string, prefix: string, max: number): number {
    const start = recordsOf(namespaceId) + prefix;
    const known = this.#known.get(start);
    if (known !== undefined) return known.size;
    this.#unwatch ??= this.#rows.local.watch(RECORDS, ({ keys }) => this.#follow(keys));
    const found = new Set<string>();
    for (const keys of this.#pages(start)) {
      for (const key of keys) found.add(key.slice(start.length));
      if (found.size > max) return found.size; // not all of them: nothing to go on from
    }
    this.#keep(start, found);
    return found.size;
  }

  /** All of them, whatever their number. */
  async count(namespaceId: string, prefix: string, timers: Timers): Promise<number> {
    let count = 0;
    for (const keys of this.#pages(recordsOf(namespaceId) + prefix)) {
      count += keys.length;
      await timers.turn();
    }
    return count;
  }

  #keep(start: string, found: Set<string>): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_COUNTS && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(start, found);
  }

  *#pages(start: string): Generator<readonly string[]> {
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const keys = this.#rows.local.keys(start, page);
      yield keys;
      after = keys.at(-1);
      if (keys.length < PAGE) return;
    }
  }

  #follow(keys: readonly string[]): void {
    for (const key of keys) {
      let isThere: boolean | undefined;
      for (const [start, found] of this.#known) {
        if (!key.startsWith(start)) continue;
        isThere ??= this.#rows.local.keys(key, { limit: 1 })[0] === key;
        if (isThere) found.add(key.slice(start.length));
        else found.delete(key.slice(start.length));
      }
    }
  }
}
