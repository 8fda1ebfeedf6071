// Patterns with `+` segments, found by walking the segments of a path: a step goes to the child of
// that name and to the one for any name, so only what agrees with the path so far is ever looked at.

import { PrefixTree } from "./acl-prefix-tree.ts";

interface Node<T> {
  named: Map<string, Node<T>> | null;
  any: Node<T> | null;
  /** A pattern that ends here. */
  end: T | null;
  /** Patterns that end in a star, by what their last segment begins with. */
  tails: PrefixTree<T> | null;
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

  /** Visits the values of all patterns that match. */
  visit(path: string, call: (value: T) => void): void {
    if (!this.#empty) walk(this.#root, path.split("/"), 0, call);
  }
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

function* valuesBelow<T>({ named, any, end, tails }: Node<T>): Generator<T> {
  if (end !== null) yield end;
  if (tails !== null) yield* tails.values();
  for (const below of named?.values() ?? []) yield* valuesBelow(below);
  if (any !== null) yield* valuesBelow(any);
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
