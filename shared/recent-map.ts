// A map that knows what was used last: the ground of every cache that lets the least recently used go.
// A Map whose entries are deleted and set again on each use knows it too, but leaves a dead entry in
// the chain of its bucket each time: one hot key among ten thousand then costs 30 µs and more.

import { RenewedMap } from "./renewed-map.ts";

interface Node<K, V> {
  readonly key: K;
  value: V;
  older: Node<K, V> | null;
  younger: Node<K, V> | null;
}

export class RecentMap<K, V> {
  readonly #nodes = new RenewedMap<K, Node<K, V>>();
  #oldest: Node<K, V> | null = null;
  #youngest: Node<K, V> | null = null;

  get size(): number {
    return this.#nodes.size;
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const node = this.#nodes.get(key);
    if (node === undefined) return undefined;
    if (node !== this.#youngest) {
      this.#unlink(node);
      this.#append(node);
    }
    return node.value;
  }

  /** The value, without counting as a use. */
  peek(key: K): V | undefined {
    return this.#nodes.get(key)?.value;
  }

  set(key: K, value: V): void {
    const known = this.#nodes.get(key);
    if (known !== undefined) {
      known.value = value;
      this.get(key);
      return;
    }
    const node: Node<K, V> = { key, value, older: null, younger: null };
    this.#nodes.set(key, node);
    this.#append(node);
  }

  delete(key: K): boolean {
    const node = this.#nodes.get(key);
    if (node === undefined) return false;
    this.#nodes.delete(key);
    this.#unlink(node);
    node.older = node.younger = null; // what is dead must keep no neighbour alive
    return true;
  }

  clear(): void {
    this.#nodes.clear();
    this.#oldest = null;
    this.#youngest = null;
  }

  /** What was not used for the longest time. */
  get oldest(): { readonly key: K; readonly value: V } | null {
    return this.#oldest;
  }

  /** From the oldest to the youngest. The entry that is being looked at may be deleted. */
  *[Symbol.iterator](): Generator<readonly [K, V]> {
    for (let node = this.#oldest; node !== null;) {
      const next = node.younger;
      yield [node.key, node.value];
      node = next;
    }
  }

  #append(node: Node<K, V>): void {
    node.older = this.#youngest;
    node.younger = null;
    if (this.#youngest === null) this.#oldest = node;
    else this.#youngest.younger = node;
    this.#youngest = node;
  }

  #unlink(node: Node<K, V>): void {
    if (node.older === null) this.#oldest = node.younger;
    else node.older.younger = node.younger;
    if (node.younger === null) this.#youngest = node.older;
    else node.younger.older = node.older;
  }
}
