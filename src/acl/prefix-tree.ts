// Texts by which other texts may begin, found in one walk along the other text however many there
// are: a tree whose edges are pieces of text.

interface Node<T> {
  edge: string;
  value: T | null;
  below: Map<number, Node<T>> | null; // by the first unit of their edge; most nodes have none
}

export class PrefixTree<T> {
  readonly #root: Node<T> = { edge: "", value: null, below: null };

  /** Puts the value of a text in the place of the one it had, or null. */
  update(text: string, change: (before: T | null) => T): void {
    let node = this.#root;
    let rest = text;
    while (rest !== "") {
      const below: Map<number, Node<T>> = (node.below ??= new Map());
      const next = below.get(rest.charCodeAt(0));
      if (next === undefined) {
        below.set(rest.charCodeAt(0), { edge: rest, value: change(null), below: null });
        return;
      }
      const common = commonLength(next.edge, rest);
      node = common === next.edge.length ? next : split(below, next, common);
      rest = rest.slice(common);
    }
    node.value = change(node.value);
  }

  get isEmpty(): boolean {
    return this.#root.value === null && this.#root.below === null;
  }

  values(): Generator<T> {
    return valuesBelow(this.#root);
  }

  /** Visits the values of all texts that `text` begins with, the shortest first. */
  visit(text: string, call: (value: T) => void): void {
    let node = this.#root;
    let at = 0;
    for (;;) {
      if (node.value !== null) call(node.value);
      const next = at < text.length ? node.below?.get(text.charCodeAt(at)) : undefined;
      if (next === undefined || !text.startsWith(next.edge, at)) return;
      at += next.edge.length;
      node = next;
    }
  }

  longest(text: string): T | null {
    let found: T | null = null;
    let node = this.#root;
    let at = 0;
    for (;;) {
      found = node.value ?? found;
      const next = at < text.length ? node.below?.get(text.charCodeAt(at)) : undefined;
      if (next === undefined || !text.startsWith(next.edge, at)) return found;
      at += next.edge.length;
      node = next;
    }
  }
}

/** Without recursion: each of many texts may be the beginning of the next. */
function* valuesBelow<T>(root: Node<T>): Generator<T> {
  const left = [root];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next.value !== null) yield next.value;
    if (next.below !== null) for (const node of next.below.values()) left.push(node);
  }
}

function commonLength(a: string, b: string): number {
  const max = Math.min(a.length, b.length);
  let length = 0;
  while (length < max && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  return length;
}

/** Cuts the edge to a node in two; gives the node in the middle. */
function split<T>(beside: Map<number, Node<T>>, node: Node<T>, at: number): Node<T> {
  const { edge } = node;
  const below = new Map([[edge.charCodeAt(at), node]]);
  const middle: Node<T> = { edge: edge.slice(0, at), value: null, below };
  node.edge = edge.slice(at);
  beside.set(edge.charCodeAt(0), middle);
  return middle;
}
