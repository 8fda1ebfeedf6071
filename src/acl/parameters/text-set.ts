// Whether one of many texts occurs in another, found in one walk along the other text however many
// there are (Aho and Corasick). Children of a place stand side by side in the order of their units, so
// a step is a short search in an array: nothing is hashed, and no choice of texts makes it slow.

import { atOnce, type Sliced } from "@holdfast/shared/sliced";

const AT_ONCE = 255; // places, a power of two less one

/** Texts with a common beginning, from one to before another. */
interface Range {
  readonly from: number;
  readonly to: number;
  /** Length of the beginning. */
  readonly depth: number;
}

export class TextSearch {
  readonly #units: Uint16Array; // that lead to each place
  readonly #children: Int32Array; // where those of each place begin; they end where the next one's do
  readonly #fails: Int32Array; // the longest end of what was read that leads somewhere, too
  readonly #found: Uint8Array;

  private constructor(max: number) {
    this.#units = new Uint16Array(max);
    this.#children = new Int32Array(max + 1);
    this.#fails = new Int32Array(max);
    this.#found = new Uint8Array(max);
  }

  static of(texts: Iterable<string>): TextSearch {
    return atOnce(TextSearch.build(texts));
  }

  /** The same in slices. */
  static *build(texts: Iterable<string>): Sliced<TextSearch> {
    const sorted = [...new Set(texts)].toSorted(byUnits);
    const search = new TextSearch(sorted.reduce((sum, { length }) => sum + length, 1));
    yield;
    yield* search.#link(yield* search.#lay(sorted));
    return search;
  }

  /** Level by level, in the order of the texts; returns how many places there are. */
  *#lay(sorted: readonly string[]): Sliced<number> {
    const places: Range[] = [{ from: 0, to: sorted.length, depth: 0 }];
    for (const [node, { from, to, depth }] of places.entries()) {
      if ((node & AT_ONCE) === AT_ONCE) yield;
      this.#children[node] = places.length;
      if (sorted[from]?.length === depth) {
        this.#found[node] = 1;
        continue; // whatever goes on from here is found already
      }
      for (let first = from; first < to;) {
        const unit = sorted[first]?.charCodeAt(depth) ?? 0;
        let next = first + 1;
        while (next < to && sorted[next]?.charCodeAt(depth) === unit) next += 1;
        this.#units[places.length] = unit;
        places.push({ from: first, to: next, depth: depth + 1 });
        first = next;
      }
    }
    this.#children[places.length] = places.length;
    return places.length;
  }

  /** What a place falls back to is less deep, so it stands before it. */
  *#link(places: number): Sliced<void> {
    for (let node = 0; node < places; node += 1) {
      if ((node & AT_ONCE) === AT_ONCE) yield;
      const end = this.#children[node + 1] ?? 0;
      for (let child = this.#children[node] ?? 0; child < end; child += 1) {
        const unit = this.#units[child] ?? 0;
        const fallen = node === 0 ? 0 : this.#step(this.#fails[node] ?? 0, unit);
        this.#fails[child] = fallen;
        if (this.#found[fallen] === 1) this.#found[child] = 1;
      }
    }
  }

  isIn(text: string): boolean {
    const found = this.#found;
    if (found[0] === 1) return true; // the empty text
    const [units, children, fails] = [this.#units, this.#children, this.#fails];
    let node = 0;
    for (let at = 0; at < text.length; at += 1) {
      node = step(units, children, fails, node, text.charCodeAt(at));
      if (found[node] === 1) return true;
    }
    return false;
  }

  #step(from: number, unit: number): number {
    return step(this.#units, this.#children, this.#fails, from, unit);
  }
}

/** To the child for a unit, of the place itself or of one that it falls back to; else to the beginning. */
function step(
  units: Uint16Array,
  children: Int32Array,
  fails: Int32Array,
  from: number,
  unit: number,
): number {
  for (let node = from; ; node = fails[node] ?? 0) {
    let low = children[node] ?? 0;
    let high = children[node + 1] ?? 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = units[middle] ?? 0;
      if (there === unit) return middle;
      if (there < unit) low = middle + 1;
      else high = middle;
    }
    if (node === 0) return 0;
  }
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
