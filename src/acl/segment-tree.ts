// Patterns with `+` segments, found by walking the segments of a path: a step goes to the child of
// that name and to the one for any name, so only what agrees with the path so far is ever looked at.

import { PrefixTree } from "./prefix-tree.ts";

interface Node<T> {
  named: Map<string, Node<T>> | null;
  any: Node<T> | null;
  /** A pattern that ends here. */
  end: T | null;
  /** Patterns that end in a star, by what their last segment begins with. */
  tails: PrefixTree<T> | null;
}

export interface Order<T> {
  weaker(a: T, b: T): boolean;
  /** Whether nothing with that many `+`, or more, and its first one in the same place, is stronger. */
  settles(best: T, pluses: number): boolean;
}

interface Search<T> {
  readonly segments: readonly string[];
  readonly order: Order<T>;
  readonly prunes: boolean;
  best: T | null;
}

export class SegmentTree<T> {
  readonly #root: Node<T> = node();
  #empty = true;

  /** Puts the value of a pattern, `text` without its star, in the place of the one it had, or null. */
  update(text: string, star: boolean, change: (before: T | null) => T): void {
    const segments = text.split("/");
    const tail = star ? segments.pop() : undefined;
    let at = this.#root;
    for (const segment of segments) at = child(at, segment);
    this.#empty = false;
    if (tail === undefined) at.end = change(at.end);
    else (at.tails ??= new PrefixTree<T>()).update(tail, change);
  }

  values(): Generator<T> {
    return valuesBelow(this.#root);
  }

  /**
   * The strongest of all that match. What cannot be it is mostly not looked at: where a named segment
   * leads to a match, patterns with a `+` in its place have their first wildcard earlier, and are
   * weaker; and so are those with more `+` than `settles` says that the best so far has to fear.
   */
  strongest(path: string, order: Order<T>): T | null {
    if (this.#empty) return null;
    // A `+` of the path's own is text for some patterns, and still counts as their first wildcard.
    const search = { segments: path.split("/"), order, prunes: !path.includes("+"), best: null };
    seek<T>(search, this.#root, 0, 0);
    return search.best;
  }

  /** Visits the values of all patterns that match. */
  visit(path: string, call: (value: T) => void): void {
    if (!this.#empty) walk(this.#root, path.split("/"), 0, call);
  }
}

function seek<T>(search: Search<T>, at: Node<T>, depth: number, pluses: number): void {
  const segment = search.segments[depth];
  if (segment === undefined) {
    if (at.end !== null) consider(search, at.end);
    return;
  }
  // Of patterns that differ in their last segment alone, the longest is the strongest.
  const tail = at.tails?.longest(segment) ?? null;
  if (tail !== null) consider(search, tail);
  const named = at.named?.get(segment);
  if (named !== undefined) seek(search, named, depth + 1, pluses);
  if (at.any === null) return;
  if (search.prunes && search.best !== null) {
    if (pluses === 0 || search.order.settles(search.best, pluses + 1)) return;
  }
  seek(search, at.any, depth + 1, pluses + 1);
}

function consider<T>(search: Search<T>, value: T): void {
  if (search.best === null || search.order.weaker(search.best, value)) search.best = value;
}

function walk<T>(
  at: Node<T>,
  segments: readonly string[],
  depth: number,
  call: (value: T) => void,
): void {
  const segment = segments[depth];
  if (segment === undefined) {
    if (at.end !== null) call(at.end);
    return;
  }
  at.tails?.visit(segment, call);
  const named = at.named?.get(segment);
  if (named !== undefined) walk(named, segments, depth + 1, call);
  if (at.any !== null) walk(at.any, segments, depth + 1, call);
}

/** Without recursion: a label may have more segments than a stack has room for. */
function* valuesBelow<T>(root: Node<T>): Generator<T> {
  const left = [root];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { named, any, end, tails } = next;
    if (end !== null) yield end;
    if (tails !== null) yield* tails.values();
    if (any !== null) left.push(any);
    if (named !== null) for (const below of named.values()) left.push(below);
  }
}

function node<T>(): Node<T> {
  return { named: null, any: null, end: null, tails: null };
}

function child<T>(at: Node<T>, segment: string): Node<T> {
  if (segment === "+") return (at.any ??= node());
  at.named ??= new Map();
  let next = at.named.get(segment);
  if (next === undefined) at.named.set(segment, (next = node()));
  return next;
}
