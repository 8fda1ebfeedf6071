// Decrypted entries, least recently used out first, bounded by bytes. It holds durable values only
// and is told of every commit before anybody reads on. The bytes are its own: whatever leaves is
// wiped, since a key may be among them.

import { wipe } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { RecentMap } from "@holdfast/shared/recent-map";

const ENTRY_COST = 1024; // of buffer, map and path, as measured in resident memory

interface Value {
  readonly codec: Codec<unknown>;
  readonly value: unknown;
}

export class EntryCache {
  readonly #entries = new RecentMap<string, Uint8Array>();
  /** What was made of the bytes of an entry: it goes with them. */
  readonly #values = new WeakMap<Uint8Array, Value>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(path: string): Uint8Array | undefined {
    return this.#entries.get(path);
  }

  /** Takes the bytes over. */
  put(path: string, value: Uint8Array): void {
    const cost = costOf(path, value);
    this.drop(path);
    if (cost > this.#maxBytes / 8) {
      wipe(value); // one large entry must not empty the cache
      return;
    }
    this.#entries.set(path, value);
    this.#bytes += cost;
    for (const [oldest] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break;
      this.drop(oldest);
    }
  }

  /** What an entry says, made of its bytes once; undefined where there is no such entry. Not wiped: no secret may be in it. */
  valueOf<T>(path: string, codec: Codec<T>): T | undefined {
    const bytes = this.#entries.get(path);
    if (bytes === undefined) return undefined;
    const known = this.#values.get(bytes);
    if (known?.codec === codec) return known.value as T; // that codec has made it
    const value = codec.decode(new Uint8Array(bytes)); // it may keep what it is given
    this.#values.set(bytes, { codec, value });
    return value;
  }

  has(path: string): boolean {
    return this.#entries.peek(path) !== undefined;
  }

  /** Something else is stored now, and is taken over; null when it is not known what. What was let go
   *  meanwhile stays out. */
  follow(path: string, plain: Uint8Array | null): void {
    if (plain !== null && this.has(path)) this.put(path, plain);
    else this.drop(path);
  }

  drop(path: string): void {
    const value = this.#entries.peek(path);
    if (value === undefined) return;
    this.#entries.delete(path);
    this.#bytes -= costOf(path, value);
    wipe(value);
  }

  /** Forgets everything: at sealing. */
  wipe(): void {
    for (const [path] of this.#entries) this.drop(path);
  }
}

function costOf(path: string, value: Uint8Array): number {
  return path.length + value.length + ENTRY_COST;
}
