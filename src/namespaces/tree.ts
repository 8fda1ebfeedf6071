// The namespaces in memory, as far as they are durable. Finding one costs what its path is long, not
// what there are of them.

import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { MAX_PATH } from "./names.ts";
import { nameOf, type NamespaceRecord } from "./record.ts";

export interface Child {
  readonly ref: NamespaceRef;
  readonly name: string;
  readonly record: NamespaceRecord;
}

interface Held extends Child {
  readonly row: string; // its key in storage
}

export interface Found {
  readonly namespace: NamespaceRef;
  /** How many segments it took. */
  readonly taken: number;
}

export class Tree {
  readonly #byRow = new Map<string, Held>();
  // By the parent's id, which needs no parent to be there: rows arrive in any order.
  readonly #children = new Map<string, Map<string, Held>>();
  readonly #byId = new Map<string, Held>();
  #made: { readonly base: string; readonly created: readonly bigint[] } | null = null;
  readonly #isWithheld: (namespaceId: string) => boolean;

  /** `isWithheld`: another cluster does not send it here any more, and it goes. What was given by it may take a while to be revoked: it is found by its
   *  id for that, and by no path. */
  constructor(isWithheld: (namespaceId: string) => boolean = () => false) {
    this.#isWithheld = isWithheld;
  }

  get size(): number {
    return this.#byRow.size;
  }

  /** What the row holds now. */
  put(row: string, record: NamespaceRecord): void {
    this.#made = null;
    const before = this.#byRow.get(row);
    // The same object for as long as it is the same namespace.
    const ref = before?.ref.id === record.id ? before.ref : refOf(record);
    this.remove(row);
    const name = nameOf(record.path);
    const held = { ref, row, name, record };
    this.#byRow.set(row, held);
    this.#byId.set(ref.id, held);
    let siblings = this.#children.get(record.parent);
    if (siblings === undefined) this.#children.set(record.parent, (siblings = new Map()));
    siblings.set(name, held);
  }

  remove(row: string): void {
    this.#made = null;
    const held = this.#byRow.get(row);
    if (held === undefined) return;
    this.#byRow.delete(row);
    this.#byId.delete(held.ref.id);
    const siblings = this.#children.get(held.record.parent);
    siblings?.delete(held.name);
    if (siblings?.size === 0) this.#children.delete(held.record.parent);
  }

  clear(): void {
    this.#made = null;
    this.#byRow.clear();
    this.#byId.clear();
    this.#children.clear();
  }

  /** The longest namespace below `base` that the segments begin with. */
  resolve(base: NamespaceRef, segments: readonly string[]): Found {
    let namespace = base;
    let taken = 0;
    for (const segment of segments) {
      const held = this.#children.get(namespace.id)?.get(segment);
      if (held === undefined || !this.#isVisible(held)) break;
      namespace = held.ref;
      taken++;
    }
    return { namespace, taken };
  }

  /** By its full path, without slashes at the ends. */
  named(path: string): NamespaceRef | null {
    if (path === "") return ROOT_NAMESPACE;
    return path.length > MAX_PATH ? null : this.below(ROOT_NAMESPACE, path.split("/"));
  }

  /** Null for one that is being deleted. */
  byId(id: string): NamespaceRef | null {
    if (id === ROOT_NAMESPACE.id) return ROOT_NAMESPACE;
    const held = this.#byId.get(id);
    return held !== undefined && isActive(held) ? held.ref : null;
  }

  below(base: NamespaceRef, names: readonly string[]): NamespaceRef | null {
    const { namespace, taken } = this.resolve(base, names);
    return taken === names.length ? namespace : null;
  }

  /** Everything about one, or null. */
  recordOf(base: NamespaceRef, names: readonly string[]): NamespaceRecord | null {
    const parent = this.below(base, names.slice(0, -1));
    const held = parent === null ? null : this.#children.get(parent.id)?.get(names.at(-1) ?? "");
    return held && this.#isVisible(held) ? held.record : null;
  }

  /** The indices of the writes that made those below, in order. Kept for who asks next: mostly the same. */
  createdBelow(base: NamespaceRef): readonly bigint[] {
    if (this.#made?.base === base.id) return this.#made.created;
    const created: bigint[] = [];
    const left = [base.id];
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      for (const { ref } of this.#children.get(id)?.values() ?? []) {
        created.push(ref.created);
        left.push(ref.id);
      }
    }
    created.sort((a, b) => (a < b ? -1 : Number(a > b)));
    this.#made = { base: base.id, created };
    return created;
  }

  *deleting(): Generator<NamespaceRecord> {
    for (const held of this.#byRow.values()) if (!isActive(held)) yield held.record;
  }

  /** Direct children in the order of their names. */
  childrenOf(parent: NamespaceRef): Child[] {
    const siblings = this.#children.get(parent.id) ?? new Map<string, Held>();
    return [...siblings.values()]
      .filter((held) => this.#isVisible(held))
      .toSorted((a, b) => (a.row < b.row ? -1 : 1));
  }

  #isVisible(held: Held): boolean {
    return isActive(held) && !this.#isWithheld(held.ref.id);
  }
}

function isActive({ record }: Held): boolean {
  return record.state === "active";
}

function refOf({ id, path, created }: NamespaceRecord): NamespaceRef {
  return { id, path, created };
}
