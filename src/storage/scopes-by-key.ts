// The scopes of all leaves by key, for whoever reads rows in the order of keys: leaves lie in another order, and to look
// for each by itself takes four times as long as to read them all once. In little memory whatever is stored: keys are
// known by 48 bits of a hash, and what is not known for sure is left to be looked for.

import { fromHex } from "@holdfast/shared/bytes";
import type { Reads, ScopeRow } from "./engines/engine.ts";

const PAGE = 128; // leaves
/** Of eight bytes each: 16 MiB hold one and a half million keys. */
const MAX_PLACES = 2 ** 21;
const MIN_PLACES = 2 ** 10;
const FULL = 0.75;
const MAX_SCOPES = 0xfffe;
const UNSURE = 0xffff; // two keys have this hash

/** Lets others have a turn, where there are others. */
export interface Pauses {
  pause(): Promise<void>;
}

export class ScopesByKey {
  readonly #low: Int32Array;
  readonly #high: Uint16Array;
  /** Number of the scope and one; 0 where nothing is. */
  readonly #which: Uint16Array;
  readonly #scopes: Uint8Array[] = [];
  readonly #numbers = new Map<string, number>();
  #left: number;
  #last = 0; // of the leaf before
  #lastScope = "";

  /** `expected`: how many leaves there may be. */
  private constructor(expected: number) {
    const places = Math.min(MAX_PLACES, Math.max(MIN_PLACES, Math.ceil(expected / FULL)));
    this.#low = new Int32Array(places);
    this.#high = new Uint16Array(places);
    this.#which = new Uint16Array(places);
    this.#left = Math.floor(places * FULL);
  }

  static async read(
    view: Pick<Reads, "scopes">,
    expected: number,
    pauses: Pauses,
  ): Promise<ScopesByKey> {
    const scopes = new ScopesByKey(expected);
    let after: ScopeRow | null = null;
    for (;;) {
      const page: ScopeRow[] = view.scopes(after, PAGE);
      for (const { key, scope } of page) scopes.#add(key, scope);
      after = page.at(-1) ?? null;
      if (page.length < PAGE || scopes.#left === 0) return scopes;
      await pauses.pause();
    }
  }

  /** Null where it is not known: then the leaf says it, if there is one. */
  of(key: string): Uint8Array | null {
    const { low, high } = hashOf(key);
    const which = this.#which[this.#placeOf(low, high)]!;
    return which === 0 || which === UNSURE ? null : this.#scopes[which - 1]!;
  }

  #add(key: string, scope: string): void {
    const number = this.#numberOf(scope);
    if (this.#left === 0 || number === null) return;
    const { low, high } = hashOf(key);
    const at = this.#placeOf(low, high);
    if (this.#which[at] !== 0) {
      this.#which[at] = UNSURE;
      return;
    }
    this.#low[at] = low;
    this.#high[at] = high;
    this.#which[at] = number + 1;
    this.#left--;
  }

  /** Of this hash, or the free one where it would be. */
  #placeOf(low: number, high: number): number {
    const places = this.#which.length;
    let at = (low >>> 0) % places;
    while (this.#which[at] !== 0) {
      if (this.#low[at] === low && this.#high[at] === high) return at;
      at = at + 1 === places ? 0 : at + 1;
    }
    return at;
  }

  #numberOf(scope: string): number | null {
    if (scope === this.#lastScope) return this.#last;
    let number = this.#numbers.get(scope);
    if (number === undefined) {
      const bytes = fromHex(scope);
      if (bytes === null || this.#scopes.length === MAX_SCOPES) return null;
      number = this.#scopes.push(bytes) - 1;
      this.#numbers.set(scope, number);
    }
    this.#last = number;
    this.#lastScope = scope;
    return number;
  }
}

/** Fast and even; that two keys may have the same one is provided for. */
function hashOf(key: string): { readonly low: number; readonly high: number } {
  let low = 0x811c_9dc5 | 0;
  let high = key.length | 0;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x0100_0193);
    high = Math.imul(high ^ unit, 0x85eb_ca6b);
    high = (high << 13) | (high >>> 19);
  }
  low ^= low >>> 15;
  low = Math.imul(low, 0x2c1b_3c6d);
  low ^= low >>> 13;
  return { low, high: (high ^ (high >>> 16)) & 0xffff };
}
