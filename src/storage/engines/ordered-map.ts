// An ordered map from text keys (order of their UTF-8 bytes) to values, in memory: sorted chunks
// under one list, found by binary search. Copies are free: they share chunks until one side writes.
// It knows nothing of engines; the memory engine and the overlay of pending writes are made of it.

import { compareKeys } from "../key.ts";
import type { Range } from "./engine.ts";

// Measured with 100,000 keys: 64 to 256 entries are alike; smaller ones make the list of chunks
// long, larger ones make every insertion and every copy on write move more.
const MAX_NODE = 128;
const FEW = MAX_NODE / 4;

interface Chunk<V> {
  readonly owner: symbol; // only the map with the same mark may change it in place
  readonly keys: string[];
  readonly values: V[];
}

export class OrderedMap<V> {
  #chunks: Chunk<V>[] = []; // none is empty
  #listShared = false;
  #owner = Symbol("owner");
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const chunk = this.#chunks[this.#chunkFor(key)];
    if (chunk === undefined) return undefined;
    const at = lowerBound(chunk.keys, key);
    return chunk.keys[at] === key ? chunk.values[at] : undefined;
  }

  set(key: string, value: V): void {
    const index = this.#chunkFor(key);
    const chunk = this.#own(index);
    if (chunk === undefined) {
      this.#chunks.push({ owner: this.#owner, keys: [key], values: [value] });
      this.#size = 1;
      return;
    }
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] === key) {
      chunk.values[at] = value;
      return;
    }
    chunk.keys.splice(at, 0, key);
    chunk.values.splice(at, 0, value);
    this.#size++;
    if (chunk.keys.length > MAX_NODE) this.#split(index, chunk);
  }

  delete(key: string): boolean {
    const index = this.#chunkFor(key);
    const found = this.#chunks[index];
    if (found === undefined) return false;
    const at = lowerBound(found.keys, key);
    if (found.keys[at] !== key) return false; // and nothing was copied for it
    const chunk = this.#own(index)!;
    chunk.keys.splice(at, 1);
    chunk.values.splice(at, 1);
    this.#size--;
    if (chunk.keys.length < FEW) this.#join(index, chunk);
    return true;
  }

  clear(): void {
    this.#chunks = [];
    this.#listShared = false;
    this.#size = 0;
  }

  /** An independent map with the same entries. Values are shared, not copied. */
  copy(): OrderedMap<V> {
    const twin = new OrderedMap<V>();
    twin.#chunks = this.#chunks;
    twin.#size = this.#size;
    twin.#listShared = this.#listShared = true;
    this.#owner = Symbol("owner"); // the chunks of the old mark now belong to nobody
    return twin;
  }

  /** The entries of a range, in its order. */
  entries(range: Range): [key: string, value: V][] {
    const { from, to, limit, reverse = false } = range;
    const found: [string, V][] = [];
    const step = reverse ? -1 : 1;
    let [index, at] = reverse ? this.#before(to) : this.#place(from);
    for (let chunk = this.#chunks[index]; chunk !== undefined; chunk = this.#chunks[index]) {
      for (; at >= 0 && at < chunk.keys.length; at += step) {
        const key = chunk.keys[at]!;
        const inside = reverse
          ? compareKeys(key, from) >= 0
          : to === null || compareKeys(key, to) < 0;
        if (!inside || found.length >= limit) return found;
        found.push([key, chunk.values[at]!]);
      }
      index += step;
      at = reverse ? (this.#chunks[index]?.keys.length ?? 0) - 1 : 0;
    }
    return found;
  }

  /** Where the first key that is not below `key` is. */
  #place(key: string): [index: number, at: number] {
    const index = this.#chunkFor(key);
    const chunk = this.#chunks[index];
    return [index, chunk === undefined ? 0 : lowerBound(chunk.keys, key)];
  }

  /** Where the last key below `key` is; the position may be −1, which the walk steps over. */
  #before(key: string | null): [index: number, at: number] {
    if (key === null) {
      const last = this.#chunks.length - 1;
      return [last, (this.#chunks[last]?.keys.length ?? 0) - 1];
    }
    const [index, at] = this.#place(key);
    return [index, at - 1];
  }

  /** The last chunk that starts at or below the key, or the first one. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.#chunks[middle]!.keys[0]!, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, 0);
  }

  /** The chunk, made ours to change. */
  #own(index: number): Chunk<V> | undefined {
    this.#ownList();
    const chunk = this.#chunks[index];
    if (chunk === undefined || chunk.owner === this.#owner) return chunk;
    const { keys, values } = chunk;
    return (this.#chunks[index] = {
      owner: this.#owner,
      keys: keys.slice(),
      values: values.slice(),
    });
  }

  #ownList(): void {
    if (!this.#listShared) return;
    this.#chunks = this.#chunks.slice();
    this.#listShared = false;
  }

  #split(index: number, chunk: Chunk<V>): void {
    // Ascending insertion (the log) would leave every chunk half empty if cut in the middle.
    const appended = index === this.#chunks.length - 1;
    const cut = appended ? MAX_NODE - FEW : MAX_NODE / 2;
    const keys = chunk.keys.splice(cut);
    const values = chunk.values.splice(cut);
    this.#chunks.splice(index + 1, 0, { owner: this.#owner, keys, values });
  }

  /** Joins a chunk that has become small with the one after it, if both fit well in one. */
  #join(index: number, chunk: Chunk<V>): void {
    const next = this.#chunks[index + 1];
    if (next !== undefined && chunk.keys.length + next.keys.length <= MAX_NODE / 2) {
      chunk.keys.push(...next.keys);
      chunk.values.push(...next.values);
      this.#chunks.splice(index + 1, 1);
    }
    if (chunk.keys.length === 0) this.#chunks.splice(index, 1);
  }
}

/** The number of keys below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
