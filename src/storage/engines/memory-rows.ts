// The rows of one store in memory: five ordered families, their reads, and the application of one
// batch. Whether the batch may be applied, and when, is the engine's business.

import { hex } from "@holdfast/shared/bytes";
import { OrderedMap } from "./ordered-map.ts";
import { EngineError } from "./engine.ts";
import type {
  Batch,
  Leaf,
  LeafRow,
  LogRow,
  Range,
  Reads,
  Row,
  ScopeRow,
  SumRow,
} from "./engine.ts";

export class MemoryRows implements Reads {
  #data = new OrderedMap<Uint8Array>();
  #leaves = new OrderedMap<LeafRow>();
  #sums = new OrderedMap<SumRow>();
  #log = new OrderedMap<LogRow>();
  #meta = new OrderedMap<Uint8Array>();

  /** The same rows now, and independent from now on. */
  copy(): MemoryRows {
    const twin = new MemoryRows();
    twin.#data = this.#data.copy();
    twin.#leaves = this.#leaves.copy();
    twin.#sums = this.#sums.copy();
    twin.#log = this.#log.copy();
    twin.#meta = this.#meta.copy();
    return twin;
  }

  get(key: string): Uint8Array | null {
    return copyOf(this.#data.get(key) ?? null);
  }

  rows(range: Range): Row[] {
    const found = this.#data.entries(range);
    return found.map(([key, value]) => ({ key, value: new Uint8Array(value) }));
  }

  keys(range: Range): string[] {
    return this.#data.entries(range).map(([key]) => key);
  }

  leaf(slot: number, key: string): Leaf | null {
    const found = this.#leaves.get(leafPlace(slot, key));
    if (found === undefined) return null;
    return { hash: new Uint8Array(found.hash), scope: new Uint8Array(found.scope) };
  }

  leaves(after: { slot: number; key: string } | null, limit: number): LeafRow[] {
    // The NUL makes it the next place: legal keys hold none.
    const from = after === null ? "" : `${leafPlace(after.slot, after.key)}\u0000`;
    return this.#leaves.entries({ from, to: null, limit }).map(([, row]) => ({
      ...row,
      hash: new Uint8Array(row.hash),
      scope: new Uint8Array(row.scope),
    }));
  }

  scopes(after: { slot: number; key: string } | null, limit: number): ScopeRow[] {
    return this.leaves(after, limit).map(({ slot, key, scope }) => ({
      slot,
      key,
      scope: hex(scope),
    }));
  }

  sums(from?: number, limit: number = Infinity): SumRow[] {
    const start = from === undefined ? "" : slotPlace(from);
    const found = this.#sums.entries({ from: start, to: null, limit });
    return found.map(([, row]) => ({ ...row, sum: new Uint8Array(row.sum) }));
  }

  logs(from: bigint, limit: number): LogRow[] {
    const found = this.#log.entries({ from: logPlace(from), to: null, limit });
    return found.map(([, row]) => ({ ...row, entry: new Uint8Array(row.entry) }));
  }

  lastLog(): bigint | null {
    const last = this.#log.entries({ from: "", to: null, limit: 1, reverse: true });
    return last[0]?.[1].index ?? null;
  }

  meta(name: string): Uint8Array | null {
    return copyOf(this.#meta.get(name) ?? null);
  }

  /** Throws where a leaf is there that the batch takes for fresh. */
  assertFresh(batch: Batch): void {
    for (const { slot, key, fresh } of batch.leaves) {
      if (fresh && this.leaf(slot, key) !== null) throw new EngineError("a fresh leaf was there");
    }
  }

  /** Keeps the batch's bytes: the caller hands over copies. */
  apply(batch: Batch): void {
    this.assertFresh(batch);
    for (const { key, value } of batch.data) put(this.#data, key, value);
    for (const { slot, key, leaf } of batch.leaves) {
      put(this.#leaves, leafPlace(slot, key), leaf === null ? null : { slot, key, ...leaf });
    }
    for (const row of batch.sums) this.#sums.set(slotPlace(row.slot), row);
    if (batch.cutLogAbove !== null) this.#removeLog(logPlace(batch.cutLogAbove + 1n), null);
    for (const row of batch.log) this.#log.set(logPlace(row.index), row);
    if (batch.trimLogBelow !== null) this.#removeLog("", logPlace(batch.trimLogBelow));
    for (const { name, value } of batch.meta) put(this.#meta, name, value);
  }

  #removeLog(from: string, to: string | null): void {
    const range = { from, to, limit: Infinity };
    for (const [place] of this.#log.entries(range)) this.#log.delete(place);
  }
}

/** The batch with bytes of its own, so that neither side can change the other's later. */
export function copyBatch(batch: Batch): Batch {
  return {
    expect: { name: batch.expect.name, value: copyOf(batch.expect.value) },
    data: batch.data.map(({ key, value }) => ({ key, value: copyOf(value) })),
    leaves: batch.leaves.map(({ leaf, ...place }) => ({
      ...place,
      leaf: leaf && { hash: new Uint8Array(leaf.hash), scope: new Uint8Array(leaf.scope) },
    })),
    sums: batch.sums.map(({ slot, sum, count }) => ({ slot, sum: new Uint8Array(sum), count })),
    cutLogAbove: batch.cutLogAbove,
    log: batch.log.map(({ index, entry }) => ({ index, entry: new Uint8Array(entry) })),
    trimLogBelow: batch.trimLogBelow,
    meta: batch.meta.map(({ name, value }) => ({ name, value: copyOf(value) })),
  };
}

function copyOf(value: Uint8Array | null): Uint8Array | null {
  return value === null ? null : new Uint8Array(value);
}

function put<V>(map: OrderedMap<V>, key: string, value: V | null): void {
  if (value === null) map.delete(key);
  else map.set(key, value);
}

// Numbers become text of fixed width, so that their order is that of the text.

function slotPlace(slot: number): string {
  return slot.toString(16).padStart(5, "0"); // 17 bits
}

function leafPlace(slot: number, key: string): string {
  return slotPlace(slot) + key;
}

function logPlace(index: bigint): string {
  return index.toString(16).padStart(16, "0"); // 63 bits
}
