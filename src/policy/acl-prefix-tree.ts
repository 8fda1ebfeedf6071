// Texts by which other texts may begin, found in one walk along the other text however many there
// are: a tree whose edges are pieces of text.

interface Node<T> {
  edge: string;
  value: T | null;
  readonly below: Map<number, Node<T>>; // by the first unit of their edge
}

export class PrefixTree<T> {
  readonly #root: Node<T> = { edge: "", value: null, below: new Map() };

  set(text: string, value: T): void {
    let node = this.#root;
    let rest = text;
    while (rest !== "") {
      const next = node.below.get(rest.charCodeAt(0));
      if (next === undefined) {
        node.below.set(rest.charCodeAt(0), { edge: rest, value, below: new Map() });
        return;
      }
      const common = commonLength(next.edge, rest);
      node = common === next.edge.length ? next : split(node, next, common);
      rest = rest.slice(common);
    }
    node.value = value;
  }

  /** Visits the values of all texts that `text` begins with, the shortest first. */
  visit(text: string, call: (value: T) => void): void {
    let node = this.#root;
    let at = 0;
    for (;;) {
      if (node.value !== null) call(node.value);
      const next = at < text.length ? node.below.get(text.charCodeAt(at)) : undefined;
      if (next === undefined || !text.startsWith(next.edge, at)) return;
      at += next.edge.length;
      node = next;
    }
  }

  longest(text: string): T | null {
    let found: T | null = null;
    this.visit(text, (value) => {
      found = value;
    });
    return found;
  }
}

function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  return length;
}

/** Cuts the edge to a node in two; gives the node in the middle. */
function split<T>(above: Node<T>, node: Node<T>, at: number): Node<T> {
  const { edge } = node;
  const below = new Map([[edge.charCodeAt(at), node]]);
  const middle: Node<T> = { edge: edge.slice(0, at), value: null, below };
  node.edge = edge.slice(at);
  above.below.set(edge.charCodeAt(0), middle);
  return middle;
}
