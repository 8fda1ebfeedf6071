// Reading ordered rows through changes that lie above them: a transaction's own, and those that are
// accepted but not durable yet.

import type { Range } from "./engines/engine.ts";
import { afterKey, compareKeys } from "./key.ts";

/** A change of one row; null hides it. */
export type Changed<T> = readonly [key: string, row: T | null];

/**
 * One page of `below` with the changes of `over` laid over it. Both are asked for pages of the range,
 * in its direction, and again where hidden rows leave a gap: what is read grows with what is given.
 */
export function mergeRange<T>(
  range: Range,
  below: (range: Range) => readonly T[],
  keyOf: (row: T) => string,
  over: (range: Range) => readonly Changed<T>[],
): T[] {
  const changes = new Pages(range, over, ([key]) => key);
  if (changes.peek(1) === undefined) return [...below(range)];
  const rows = new Pages(range, below, keyOf);
  const sign = range.reverse ? -1 : 1;
  const out: T[] = [];
  while (out.length < range.limit) {
    const wanted = range.limit - out.length;
    const row = rows.peek(wanted);
    const change = changes.peek(wanted);
    if (row === undefined && change === undefined) break;
    const order =
      row === undefined ? 1 : change === undefined ? -1 : sign * compareKeys(keyOf(row), change[0]);
    if (order <= 0) rows.take();
    if (order >= 0) changes.take();
    const found = order < 0 ? row : change![1];
    if (found !== null && found !== undefined) out.push(found);
  }
  return out;
}

const MIN_REFETCH = 8;
const MAX_REFETCH = 256;

/** Walks a range page by page. */
class Pages<R> {
  readonly #ask: (range: Range) => readonly R[];
  readonly #keyOf: (row: R) => string;
  #rest: Range;
  #page: readonly R[] = [];
  #at = 0;
  #min = 1;
  #exhausted = false;

  constructor(range: Range, ask: (range: Range) => readonly R[], keyOf: (row: R) => string) {
    this.#rest = range;
    this.#ask = ask;
    this.#keyOf = keyOf;
  }

  /** The next one, or undefined at the end; `wanted` says how many the caller still needs. */
  peek(wanted: number): R | undefined {
    if (this.#at === this.#page.length && !this.#exhausted) {
      // Twice as many each time, so that thousands of hidden rows do not cost a look each.
      const limit = Math.max(wanted, this.#min);
      this.#min = Math.min(Math.max(2 * this.#min, MIN_REFETCH), MAX_REFETCH);
      this.#page = this.#ask({ ...this.#rest, limit });
      this.#at = 0;
      this.#exhausted = this.#page.length < limit;
      const last = this.#page.at(-1);
      if (last !== undefined) this.#rest = beyond(this.#rest, this.#keyOf(last));
    }
    return this.#page[this.#at];
  }

  take(): void {
    this.#at++;
  }
}

function beyond(range: Range, key: string): Range {
  return range.reverse ? { ...range, to: key } : { ...range, from: afterKey(key) };
}

/** The changes of rows as changes of their keys. */
export function keysOf(changes: readonly Changed<unknown>[]): Changed<string>[] {
  return changes.map(([key, row]) => [key, row === null ? null : key]);
}

export function inRange(range: Range, key: string): boolean {
  if (compareKeys(key, range.from) < 0) return false;
  return range.to === null || compareKeys(key, range.to) < 0;
}
