// Which of many patterns have a path in common with another one: found by walking its segments, so that
// only what agrees with it so far is looked at. A few that begin alike stand together, told apart when
// they are asked for: a place for every segment of every pattern would be large.

import type { Sliced } from "@holdfast/shared/sliced";
import type { Pattern } from "./pattern.ts";

/** A pattern in segments. */
export interface Segments {
  /** Null for `+`. Of an open one the last is what that segment begins with. */
  readonly parts: readonly (string | null)[];
  /** Whatever follows. */
  readonly open: boolean;
}

export function segmentsOf({ kind, star, text }: Pattern): Segments {
  const parts: (string | null)[] = text.split("/");
  if (kind === "segments") {
    const closed = star ? parts.length - 1 : parts.length;
    for (let i = 0; i < closed; i++) if (parts[i] === "+") parts[i] = null;
  }
  return { parts, open: star };
}

/** How much has been looked at, of all searches together. */
export interface Steps {
  /** Counts one more; whether others should have their turn. */
  readonly due: boolean;
  /** It was so much that no more is looked at. */
  readonly spent: boolean;
}

interface Patterned {
  readonly pattern: Pattern;
}

const MAX_TOGETHER = 16;
const DEEPEST = 64;

export class Overlaps<T extends Patterned> {
  readonly #root = new Place<T>({ depth: 0, at: 0, hasPlus: false });

  add(one: T): void {
    this.#root.add(one);
  }

  /**
   * Whether one that `counts` has a path in common with a pattern, of which no stronger one counts. True
   * where it would take too long to find out.
   */
  *some(segments: Segments, counts: (one: T) => boolean, steps: Steps): Sliced<boolean> {
    const left: Found<T>[] = [{ place: this.#root, whole: false }];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { place, whole } = next;
      for (const one of place.candidates(segments, whole)) {
        if (steps.due) yield;
        if (steps.spent) return true;
        if (counts(one) && (whole || agree(one.pattern, place, segments))) return true;
      }
      for (const below of place.below(segments, whole)) {
        if (steps.due) yield;
        if (steps.spent) return true;
        left.push(below);
      }
    }
    return false;
  }
}

/** A place, and whether everything in it has a path in common. */
interface Found<T extends Patterned> {
  readonly place: Place<T>;
  readonly whole: boolean;
}

interface Where {
  /** Segments that lead here. */
  readonly depth: number;
  /** Where the next one begins in the text of each pattern; beyond its end, if there is none. */
  readonly at: number;
  /** Whether a `+` stands before it. */
  readonly hasPlus: boolean;
}

class Place<T extends Patterned> implements Where {
  readonly depth: number;
  readonly at: number;
  readonly hasPlus: boolean;
  /** All of them, while they are few; then those that end here, or go on with a beginning and a star. */
  #here: T[] = [];
  #few = true;
  readonly #named = new Map<string, Place<T>>();
  readonly #odd = new Map<string, Place<T>>(); // of the named, those with a `+` in their text
  #any: Place<T> | null = null;

  constructor({ depth, at, hasPlus }: Where) {
    this.depth = depth;
    this.at = at;
    this.hasPlus = hasPlus;
  }

  add(one: T): void {
    if (this.#few) {
      this.#here.push(one);
      if (this.#here.length <= MAX_TOGETHER || this.depth >= DEEPEST) return;
      const all = this.#here;
      this.#here = [];
      this.#few = false;
      for (const each of all) this.#tellApart(each);
    } else this.#tellApart(one);
  }

  #tellApart(one: T): void {
    const { kind, star, text } = one.pattern;
    const slash = text.indexOf("/", this.at);
    if (slash < 0 && (star || this.at > text.length)) this.#here.push(one);
    else this.#child(text.slice(this.at, slash < 0 ? undefined : slash), kind).add(one);
  }

  #child(segment: string, kind: Pattern["kind"]): Place<T> {
    if (segment === "+" && kind === "segments") return (this.#any ??= this.#next(segment));
    let next = this.#named.get(segment);
    if (next === undefined) {
      next = this.#next(segment);
      this.#named.set(segment, next);
      if (segment.includes("+")) this.#odd.set(segment, next);
    }
    return next;
  }

  #next(segment: string): Place<T> {
    const hasPlus = this.hasPlus || segment.includes("+");
    return new Place({ depth: this.depth + 1, at: this.at + segment.length + 1, hasPlus });
  }

  candidates({ parts }: Segments, whole: boolean): readonly T[] {
    return whole || this.depth <= parts.length ? this.#here : [];
  }

  *below({ parts, open }: Segments, whole: boolean): Generator<Found<T>> {
    const part = parts[this.depth];
    if (part === undefined && !whole) return;
    const last = open && this.depth === parts.length - 1;
    const all = whole || last;
    if (this.#any !== null) yield { place: this.#any, whole: all };
    if (!all && typeof part === "string") {
      const named = this.#named.get(part);
      if (named !== undefined) yield { place: named, whole: false };
      return;
    }
    // What is literal where the other has a wildcard has its own first one later: it is the stronger.
    const several = whole || this.hasPlus ? this.#named : this.#odd;
    for (const [segment, place] of several) {
      if (whole || !last || segment.startsWith(part ?? "")) yield { place, whole: all };
    }
  }
}

/** Whether a pattern that leads to a place, as the segments do, has a path in common with them. */
function agree({ kind, star, text }: Pattern, place: Where, { parts, open }: Segments): boolean {
  let { at } = place;
  for (let { depth } = place; ; depth++) {
    const part = parts[depth];
    if (part === undefined || at > text.length) return part === undefined && at > text.length;
    const slash = text.indexOf("/", at);
    const tail = star && slash < 0 ? text.slice(at) : null;
    const end = slash < 0 ? text.length : slash;
    const plus = kind === "segments" && tail === null && end === at + 1 && text[at] === "+";
    if (open && depth === parts.length - 1) {
      if (part === null || plus) return true;
      return text.startsWith(part, at) || (tail !== null && part.startsWith(tail));
    }
    if (tail !== null) return part === null || part.startsWith(tail);
    const same = part === null || plus || (end === at + part.length && text.startsWith(part, at));
    if (!same) return false;
    at = end + 1;
  }
}
