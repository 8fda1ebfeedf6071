// Seeded pseudo-randomness for the simulator and the crash harness: the same seed gives the same
// numbers on every platform. sfc32 (Doty-Humphrey, PractRand) does well in statistical tests and
// needs only 32-bit integer arithmetic. Predictable by design: never a source of keys.

export class Prng {
  readonly #seed: string;
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;

  /** Any finite number is a seed; two that differ give unrelated streams. */
  constructor(seed: number | string) {
    if (typeof seed === "number" && !Number.isFinite(seed)) {
      throw new RangeError(`a seed must be a finite number, not ${seed}`);
    }
    this.#seed = String(seed);
    this.#a = hash(this.#seed, 0x9e3779b9);
    this.#b = hash(this.#seed, 0x243f6a88);
    this.#c = hash(this.#seed, 0xb7e15162);
    // The author's advice: the first dozen outputs still show the seed.
    for (let i = 0; i < 12; i++) this.#word();
  }

  /** A number in [0, 1) with 53 random bits. */
  next(): number {
    const high = this.#word() >>> 5; // 27 bits
    const low = this.#word() >>> 6; // 26 bits
    return (high * 0x4000000 + low) / 0x20000000000000;
  }

  /** An integer in [0, n); n must be a positive safe integer. */
  int(n: number): number {
    if (!Number.isSafeInteger(n) || n < 1) {
      throw new RangeError(`int(n) needs a positive integer, not ${n}`);
    }
    return Math.floor(this.next() * n);
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  bytes(length: number): Buffer {
    const out = Buffer.alloc(length);
    let at = 0;
    for (; at + 4 <= length; at += 4) out.writeUInt32LE(this.#word(), at);
    for (let rest = at < length ? this.#word() : 0; at < length; at++, rest >>>= 8) out[at] = rest;
    return out;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError("pick needs at least one item");
    return items[this.int(items.length)] as T; // in range, whatever T includes
  }

  /** The same items in a new order (Fisher–Yates); the argument is left as it was. */
  shuffle<T>(items: readonly T[]): T[] {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(i + 1);
      [out[i], out[j]] = [out[j] as T, out[i] as T];
    }
    return out;
  }

  /**
   * A stream of its own for one purpose. It depends on this one's seed and the label, not on what
   * was drawn so far: a new draw in one place does not change the run everywhere else. Forking
   * twice with one label gives the same stream twice.
   */
  fork(label: string): Prng {
    return new Prng(`${this.#seed}/${label}`);
  }

  #word(): number {
    const out = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + out;
    this.#c |= 0;
    return out >>> 0;
  }
}

/** FNV-1a over UTF-16 units, finished with murmur3's mixer so that near seeds lie far apart. */
function hash(text: string, basis: number): number {
  let h = basis;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) | 0;
}
