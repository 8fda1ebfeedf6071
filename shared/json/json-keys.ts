// The keys of the objects that are open while a JSON text is scanned, and the search for one given
// twice. Places and hashes only: nothing is decoded unless it has to be.

import { utf8 } from "../bytes.ts";

const FEW = 48; // up to here comparing each with each is cheaper than sorting

export class OpenKeys {
  readonly #bytes: Buffer;
  readonly #foldCase: boolean;
  // Stacks side by side; the keys of the innermost open object are the topmost. Plain arrays of
  // small integers: making typed ones would cost more than scanning a common body.
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #hashes: number[] = [];
  readonly #names: (string | null)[] = []; // of keys with escapes
  #size = 0;

  constructor(bytes: Buffer, foldCase: boolean) {
    this.#bytes = bytes;
    this.#foldCase = foldCase;
  }

  get size(): number {
    return this.#size;
  }

  /** A key without escapes, its bytes from `start` to `end`. */
  push(start: number, end: number): void {
    const hash = hashOf(this.#bytes, start, end, this.#foldCase);
    // Beyond ASCII case is more than one bit.
    this.#put(start, end, hash ?? hashOfText(fold(this.#slice(start, end))), null);
  }

  /** A key with escapes, `name` being what they stand for. */
  pushEscaped(start: number, end: number, name: string): void {
    this.#put(start, end, hashOfText(this.#foldCase ? fold(name) : name), name);
  }

  /** Drops the keys above `from`. Gives the place of one that was there before, or -1. */
  close(from: number): number {
    const found = this.#mayRepeat(from) ? this.#repeated(from) : -1;
    this.#size = from;
    return found;
  }

  #mayRepeat(from: number): boolean {
    const hashes = this.#hashes;
    const size = this.#size;
    if (size - from <= FEW) {
      for (let i = from + 1; i < size; i++) {
        for (let j = from; j < i; j++) if (hashes[i] === hashes[j]) return true;
      }
      return false;
    }
    const sorted = Int32Array.from(hashes.slice(from, size)).sort();
    for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) return true;
    return false;
  }

  // The hash above has no secret in it, so a body can be made of collisions. Those end here, in a
  // table of the runtime, whose hash does: never in comparing each with each.
  #repeated(from: number): number {
    const names = new Set<string>();
    for (let i = from; i < this.#size; i++) {
      const start = this.#starts[i] ?? 0;
      const name = this.#names[i] ?? this.#slice(start, this.#ends[i] ?? 0);
      names.add(this.#foldCase ? fold(name) : name);
      if (names.size <= i - from) return start;
    }
    return -1;
  }

  #slice(start: number, end: number): string {
    return this.#bytes.toString("utf8", start, end);
  }

  #put(start: number, end: number, hash: number, name: string | null): void {
    this.#starts[this.#size] = start;
    this.#ends[this.#size] = end;
    this.#hashes[this.#size] = hash;
    this.#names[this.#size] = name;
    this.#size++;
  }
}

/** FNV-1a; null where case is to be folded and there is more than ASCII. */
function hashOf(bytes: Buffer, start: number, end: number, foldCase: boolean): number | null {
  let hash = -2128831035;
  for (let at = start; at < end; at++) {
    let byte = bytes[at] ?? 0;
    if (foldCase) {
      if (byte >= 0x80) return null;
      if (byte >= 0x41 && byte <= 0x5a) byte |= 0x20;
    }
    hash = Math.imul(hash ^ byte, 16777619);
  }
  return hash;
}

function hashOfText(name: string): number {
  const bytes = utf8(name);
  return hashOf(bytes, 0, bytes.length, false) ?? 0;
}

/** Up and down again, because some readers take the Kelvin sign for a K and a long s for an S. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}
