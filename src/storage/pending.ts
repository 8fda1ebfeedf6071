// Writes that are accepted and on their way to the disk. Later transactions see them; reads outside
// a transaction do not, because a crash could still take them back.

import { RenewedMap } from "@holdfast/shared/renewed-map";
import type { Leaf, Range, Row } from "./engines/engine.ts";
import { classOf } from "./key.ts";
import { slotOf } from "./rows/merkle.ts";
import { OrderedMap } from "./engines/ordered-map.ts";
import type { Changed } from "./overlay.ts";

const FEW = 16; // rows that are put in order as soon as they are looked at

interface PendingRow {
  readonly value: Uint8Array | null;
  readonly leaf: Leaf | null;
  readonly sequence: number; // of the transaction that wrote it last
}

export class Pending {
  readonly #rows = new RenewedMap<string, PendingRow>();
  #ordered: OrderedMap<PendingRow> | null = null; // the same in order, since something was listed

  get size(): number {
    return this.#rows.size;
  }

  find(key: string): PendingRow | undefined {
    return this.#rows.get(key);
  }

  put(key: string, row: PendingRow): void {
    this.#rows.set(key, row);
    this.#ordered?.set(key, row);
  }

  /** Forgets a row that has become durable, unless a later transaction has changed it again. */
  settle(key: string, sequence: number): void {
    if (this.#rows.get(key)?.sequence !== sequence) return;
    this.#rows.delete(key);
    this.#ordered?.delete(key);
    // Most transactions list nothing: who does so once is not kept in mind for good.
    if (this.#rows.size < FEW) this.#ordered = null;
  }

  /** Leaf changes by slot. */
  leavesBySlot(): Map<number, [key: string, leaf: Leaf | null][]> {
    const found = new Map<number, [string, Leaf | null][]>();
    const all = { from: "", to: null, limit: Math.max(1, this.#rows.size) };
    for (const [key, { leaf }] of this.#inOrder().entries(all)) {
      const slot = slotOf(classOf(key), key);
      if (slot === null) continue;
      const group = found.get(slot);
      if (group === undefined) found.set(slot, [[key, leaf]]);
      else group.push([key, leaf]);
    }
    return found;
  }

  changes(range: Range): Changed<Row>[] {
    const found = this.#inOrder().entries(range);
    return found.map(([key, { value }]) => [key, value === null ? null : { key, value }]);
  }

  #inOrder(): OrderedMap<PendingRow> {
    if (this.#ordered === null) {
      this.#ordered = new OrderedMap();
      for (const [key, row] of this.#rows) this.#ordered.set(key, row);
    }
    return this.#ordered;
  }
}
