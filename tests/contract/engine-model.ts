// The naive storage that engines are compared with: plain maps, sorted whenever somebody looks.

import assert from "node:assert/strict";
import { hex } from "@holdfast/shared/bytes";
import { compareKeys } from "../../src/storage/key.ts";
import type { Batch, Leaf, Range, Reads } from "../../src/storage/engines/engine.ts";

export class EngineModel {
  readonly data = new Map<string, Uint8Array>();
  readonly leaves = new Map<string, Leaf & { slot: number; key: string }>();
  readonly sums = new Map<number, { slot: number; sum: Uint8Array; count: number }>();
  readonly log = new Map<bigint, Uint8Array>();
  readonly meta = new Map<string, Uint8Array>();

  apply(batch: Batch): void {
    for (const { key, value } of batch.data) setOrDelete(this.data, key, value);
    for (const { slot, key, leaf } of batch.leaves) {
      setOrDelete(this.leaves, `${slot} ${key}`, leaf && { slot, key, ...leaf });
    }
    for (const row of batch.sums) this.sums.set(row.slot, row);
    for (const index of this.log.keys()) {
      if (batch.cutLogAbove !== null && index > batch.cutLogAbove) this.log.delete(index);
    }
    for (const row of batch.log) this.log.set(row.index, row.entry);
    for (const index of this.log.keys()) {
      if (batch.trimLogBelow !== null && index < batch.trimLogBelow) this.log.delete(index);
    }
    for (const { name, value } of batch.meta) setOrDelete(this.meta, name, value);
  }

  copy(): EngineModel {
    const twin = new EngineModel();
    for (const [key, value] of this.data) twin.data.set(key, value);
    for (const [key, value] of this.leaves) twin.leaves.set(key, value);
    for (const [key, value] of this.sums) twin.sums.set(key, value);
    for (const [key, value] of this.log) twin.log.set(key, value);
    for (const [key, value] of this.meta) twin.meta.set(key, value);
    return twin;
  }

  /** Fails unless the reads give exactly the rows of the model, in order. */
  compare(reads: Reads): void {
    this.compareRange(reads, { from: "", to: null, limit: 1_000_000 });
    for (const [key, value] of this.data) assert.deepEqual(reads.get(key), plain(value));
    const leaves = [...this.leaves.values()]
      .toSorted((a, b) => a.slot - b.slot || compareKeys(a.key, b.key))
      .map((row) => ({ ...row, hash: plain(row.hash), scope: plain(row.scope) }));
    assert.deepEqual(reads.leaves(null, 1_000_000), leaves);
    const scopes = leaves.map(({ slot, key, scope }) => ({ slot, key, scope: hex(scope) }));
    assert.deepEqual(reads.scopes(null, 1_000_000), scopes);
    for (const { slot, key, hash, scope } of leaves) {
      assert.deepEqual(reads.leaf(slot, key), { hash, scope });
    }
    const sums = [...this.sums.values()]
      .toSorted((a, b) => a.slot - b.slot)
      .map((row) => ({ ...row, sum: plain(row.sum) }));
    assert.deepEqual(reads.sums(), sums);
    const log = [...this.log].toSorted(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(
      reads.logs(0n, 1_000_000),
      log.map(([index, entry]) => ({ index, entry: plain(entry) })),
    );
    assert.equal(reads.lastLog(), log.at(-1)?.[0] ?? null);
    for (const [name, value] of this.meta) assert.deepEqual(reads.meta(name), plain(value));
  }

  compareRange(reads: Reads, range: Range): void {
    const { from, to, limit, reverse = false } = range;
    const keys = [...this.data.keys()]
      .filter((key) => compareKeys(key, from) >= 0 && (to === null || compareKeys(key, to) < 0))
      .toSorted((a, b) => (reverse ? compareKeys(b, a) : compareKeys(a, b)))
      .slice(0, limit);
    assert.deepEqual(reads.keys(range), keys);
    const rows = keys.map((key) => ({ key, value: plain(this.data.get(key)!) }));
    assert.deepEqual(reads.rows(range), rows);
  }
}

/** A Uint8Array that is no Buffer: what engines return, and what deepEqual tells apart. */
function plain(value: Uint8Array): Uint8Array {
  return new Uint8Array(value);
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V | null): void {
  if (value === null) map.delete(key);
  else map.set(key, value);
}
