// What a store must have written after a history of transactions, computed in the plainest way from
// scratch: big integers, no increments, no groups. Compared with the rows of the engine themselves.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import type { Reads } from "../../../src/storage/engines/engine.ts";
import {
  decodeHead,
  decodeTail,
  HEAD_ROW,
  headIsAuthentic,
  TAIL_ROW,
} from "../../../src/storage/rows/head.ts";
import { decodeEntry, firstChain, followsFrom } from "../../../src/storage/rows/log-entry.ts";
import { IDENTITY, TREE_KEY } from "../made/made-store.ts";

export interface ModelChange {
  readonly key: string;
  readonly value: string | null; // null deletes
  readonly scope: number;
}

interface ModelRow {
  readonly value: string;
  readonly scope: Buffer;
}

interface ModelEntry {
  readonly class: "shared" | "local";
  readonly key: string;
  readonly value: string | null;
  readonly scope: string;
}

export class StoreModel {
  readonly rows = new Map<string, ModelRow>();
  readonly entries: ModelEntry[][] = [];

  /** One transaction: what it leaves in the rows, and its log entry if it has one. */
  apply(changes: readonly ModelChange[]): void {
    const before = new Map(this.rows);
    const touched = new Map<string, ModelChange>();
    for (const change of changes) {
      touched.delete(change.key);
      touched.set(change.key, change);
    }
    const entry: ModelEntry[] = [];
    for (const { key, value, scope } of touched.values()) {
      const old = before.get(key);
      if (value === null && old === undefined) continue;
      const own = Buffer.alloc(16, scope);
      if (value === null) this.rows.delete(key);
      else this.rows.set(key, { value, scope: own });
      const cls = classOf(key);
      if (cls === "ignored") continue;
      const visible = value === null ? old!.scope : own;
      entry.push({ class: cls, key, value, scope: visible.toString("hex") });
    }
    if (entry.length > 0) this.entries.push(entry);
  }

  get index(): bigint {
    return BigInt(this.entries.length);
  }

  /** Everything the engine holds is exactly what the model says. */
  compare(engine: Reads): void {
    const all = { from: "", to: null, limit: 1_000_000 };
    const rows = engine.rows(all).map(({ key, value }) => ({ key, value: textOf(value) }));
    const expected = Array.from(this.rows, ([key, { value }]) => ({ key, value }));
    assert.deepEqual(rows.toSorted(byKey), expected.toSorted(byKey));

    const leaves = this.#leaves();
    const stored = engine.leaves(null, 1_000_000).map(({ slot, key, hash, scope }) => ({
      slot,
      key,
      hash: Buffer.from(hash).toString("hex"),
      scope: Buffer.from(scope).toString("hex"),
    }));
    assert.deepEqual(stored.toSorted(byKey), leaves.toSorted(byKey));

    const totals = this.#compareSums(engine, leaves);
    this.#compareLog(engine, totals);
  }

  #leaves(): { slot: number; key: string; hash: string; scope: string }[] {
    return [...this.rows].flatMap(([key, { value, scope }]) => {
      const cls = classOf(key);
      if (cls === "ignored") return [];
      const digest = createHash("sha256").update(value).digest();
      const mac = createHmac("sha256", TREE_KEY)
        .update(key)
        .update("\0")
        .update(scope)
        .update(digest);
      const place = createHash("sha256").update(key).digest().readUInt16BE(0);
      const slot = place + (cls === "local" ? 65_536 : 0);
      return [{ slot, key, hash: mac.digest("hex"), scope: scope.toString("hex") }];
    });
  }

  #compareSums(engine: Reads, leaves: readonly { slot: number; hash: string }[]) {
    const totals = { shared: { sum: 0n, count: 0 }, local: { sum: 0n, count: 0 } };
    const sums = new Map<number, { sum: bigint; count: number }>();
    for (const { slot, hash } of leaves) {
      const own = sums.get(slot) ?? { sum: 0n, count: 0 };
      sums.set(slot, { sum: own.sum + BigInt(`0x${hash}`), count: own.count + 1 });
      const total = totals[slot < 65_536 ? "shared" : "local"];
      total.sum += BigInt(`0x${hash}`);
      total.count++;
    }
    const stored = engine.sums().filter(({ sum, count }) => count > 0 || sum.some((b) => b > 0));
    assert.deepEqual(
      stored.map(({ slot, sum, count }) => [slot, Buffer.from(sum).toString("hex"), count]),
      [...sums]
        .toSorted(([a], [b]) => a - b)
        .map(([slot, { sum, count }]) => [slot, show(sum), count]),
    );
    return totals;
  }

  #compareLog(
    engine: Reads,
    totals: Record<"shared" | "local", { sum: bigint; count: number }>,
  ): void {
    const bytes = engine.meta(HEAD_ROW)!;
    assert.ok(headIsAuthentic(bytes, TREE_KEY));
    const head = decodeHead(bytes);
    const tail = decodeTail(engine.meta(TAIL_ROW)!);
    assert.equal(head.index, this.index);
    assert.deepEqual(head.lineage, IDENTITY.lineage);
    for (const name of ["shared", "local"] as const) {
      assert.equal(Buffer.from(head[name].sum).toString("hex"), show(totals[name].sum));
      assert.equal(head[name].count, totals[name].count);
    }
    let chain: Uint8Array = firstChain(IDENTITY.lineage);
    assert.deepEqual(tail, { first: 1n, chainBefore: chain, logBytesBefore: 0n });
    let size = 0n;
    const logs = engine.logs(0n, 1_000_000);
    assert.equal(logs.length, this.entries.length);
    for (const [i, row] of logs.entries()) {
      const entry = decodeEntry(row.entry);
      assert.equal(row.index, BigInt(i + 1));
      assert.equal(entry.index, row.index);
      assert.ok(followsFrom(entry, chain));
      const operations = entry.operations.map((op) => ({
        class: op.class,
        key: op.key,
        value: op.value === null ? null : Buffer.from(op.value).toString(),
        scope: Buffer.from(op.scope).toString("hex"),
      }));
      assert.deepEqual(operations, this.entries[i]);
      chain = entry.chain;
      size += BigInt(row.entry.length);
    }
    assert.deepEqual(head.chain, chain);
    assert.equal(head.logBytes, size);
    assert.equal(head.lastDr, this.index);
    const lastShared = this.entries.findLastIndex((ops) => ops.some((op) => op.class === "shared"));
    assert.equal(head.lastPerf, BigInt(lastShared + 1));
  }
}

function classOf(key: string): "shared" | "local" | "ignored" {
  if (key.startsWith("shared/")) return "shared";
  return key.startsWith("local/") ? "local" : "ignored";
}

function show(sum: bigint): string {
  return (sum % 2n ** 256n).toString(16).padStart(64, "0");
}

function textOf(value: Uint8Array): string {
  return Buffer.from(value).toString();
}

function byKey(a: { key: string }, b: { key: string }): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
