// Patterns with `+` segments, found by walking the segments of a path: a step goes to the child of
// that name and to the one for any name, so only what agrees with the path so far is ever looked at.

import { PrefixTree } from "./acl-prefix-tree.ts";

interface Node<T> {
  readonly named: Map<string, Node<T>>;
  any: Node<T> | null;
  /** A pattern that ends here. */
  end: T | null;
  /** Patterns that end in a star, by what their last segment begins with. */
  tails: PrefixTree<T> | null;
}

export class SegmentTree<T> {
  readonly #root: Node<T> = node();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** `text` without its star. */
  set(text: string, star: boolean, value: T): void {
    const segments = text.split("/");
    const tail = star ? segments.pop() : undefined;
    let at = this.#root;
    for (const segment of segments) at = child(at, segment);
    if (tail === undefined) at.end = value;
    else (at.tails ??= new PrefixTree()).set(tail, value);
    this.#size += 1;
  }

  /** Visits the values of all patterns that match. */
  visit(path: string, call: (value: T) => void): void {
    if (this.#size > 0) walk(this.#root, path.split("/"), 0, call);
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
  const named = at.named.get(segment);
  if (named !== undefined) walk(named, segments, depth + 1, call);
  if (at.any !== null) walk(at.any, segments, depth + 1, call);
}

function node<T>(): Node<T> {
  return { named: new Map(), any: null, end: null, tails: null };
}

function child<T>(at: Node<T>, segment: string): Node<T> {
  if (segment === "+") return (at.any ??= node());
  let next = at.named.get(segment);
  if (next === undefined) at.named.set(segment, (next = node()));
  return next;
}
