// Which mount a path leads to: a tree of segments for each namespace. No mount lies inside another, so
// the first one on the way is the one; the cost is that of the path, not of the number of mounts.

export interface Placed<M> {
  readonly mount: M;
  /** Segments of the path that are the mount's own. */
  readonly taken: number;
}

interface Node<M> {
  readonly children: Map<string, Node<M>>;
  placed: Placed<M> | null;
}

export class MountTree<M> {
  readonly #tops = new Map<string, Node<M>>(); // by the namespace's id

  put(namespaceId: string, segments: readonly string[], mount: M): void {
    let node = childOf(this.#tops, namespaceId);
    for (const segment of segments) node = childOf(node.children, segment);
    node.placed = { mount, taken: segments.length };
  }

  /** Only where this very mount is: another may have come to its place. */
  remove(namespaceId: string, segments: readonly string[], mount: M): void {
    const top = this.#tops.get(namespaceId);
    if (top === undefined) return;
    prune(top, segments, 0, mount);
    if (isEmpty(top)) this.#tops.delete(namespaceId);
  }

  find(namespaceId: string, segments: readonly string[]): Placed<M> | null {
    let node = this.#tops.get(namespaceId);
    for (const segment of segments) {
      node = node?.children.get(segment);
      if (node === undefined) return null;
      if (node.placed !== null) return node.placed;
    }
    return null;
  }

  /** Those at the path, above it and below it. */
  inTheWay(namespaceId: string, segments: readonly string[]): M[] {
    const found: M[] = [];
    let node = this.#tops.get(namespaceId);
    for (const segment of segments) {
      node = node?.children.get(segment);
      if (node === undefined) return found;
      if (node.placed !== null) found.push(node.placed.mount);
    }
    if (node !== undefined) for (const child of node.children.values()) addAll(child, found);
    return found;
  }

  clear(): void {
    this.#tops.clear();
  }
}

function addAll<M>({ placed, children }: Node<M>, to: M[]): void {
  if (placed !== null) to.push(placed.mount);
  for (const child of children.values()) addAll(child, to);
}

function prune<M>(node: Node<M>, segments: readonly string[], at: number, mount: M): void {
  const segment = segments[at];
  if (segment === undefined) {
    if (node.placed?.mount === mount) node.placed = null;
    return;
  }
  const next = node.children.get(segment);
  if (next === undefined) return;
  prune(next, segments, at + 1, mount);
  if (isEmpty(next)) node.children.delete(segment);
}

/** Made where there is none. */
function childOf<M>(nodes: Map<string, Node<M>>, name: string): Node<M> {
  const known = nodes.get(name);
  if (known !== undefined) return known;
  const made: Node<M> = { children: new Map(), placed: null };
  nodes.set(name, made);
  return made;
}

function isEmpty<M>(node: Node<M>): boolean {
  return node.placed === null && node.children.size === 0;
}
