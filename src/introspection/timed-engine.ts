// A storage engine with a stop-watch around it: the source of holdfast_storage_op_seconds. Everything
// else goes to the engine inside, unchanged.

import type { Histogram } from "../base/metrics.ts";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type * as engines from "../storage/engines/engine.ts";

const NANOS = 1e9;

export interface EngineTimes {
  readonly get: Histogram;
  readonly scan: Histogram;
  readonly commit: Histogram;
}

export class TimedEngine implements engines.StorageEngine {
  readonly kind: string;
  readonly limits: engines.Limits;
  readonly #inner: engines.StorageEngine;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #times: EngineTimes;

  constructor(inner: engines.StorageEngine, clock: Pick<Clock, "elapsed">, times: EngineTimes) {
    this.kind = inner.kind;
    this.limits = inner.limits;
    this.#inner = inner;
    this.#clock = clock;
    this.#times = times;
  }

  get(key: string): Uint8Array | null {
    const began = this.#clock.elapsed();
    const value = this.#inner.get(key);
    this.#observe(this.#times.get, began);
    return value;
  }

  rows(range: engines.Range): engines.Row[] {
    const began = this.#clock.elapsed();
    const rows = this.#inner.rows(range);
    this.#observe(this.#times.scan, began);
    return rows;
  }

  keys(range: engines.Range): string[] {
    const began = this.#clock.elapsed();
    const keys = this.#inner.keys(range);
    this.#observe(this.#times.scan, began);
    return keys;
  }

  /** A commit that fails took its time as well. */
  async commit(batch: engines.Batch): Promise<void> {
    const began = this.#clock.elapsed();
    try {
      await this.#inner.commit(batch);
    } finally {
      this.#observe(this.#times.commit, began);
    }
  }

  leaf(slot: number, key: string): engines.Leaf | null {
    return this.#inner.leaf(slot, key);
  }

  leaves(after: { slot: number; key: string } | null, limit: number): engines.LeafRow[] {
    return this.#inner.leaves(after, limit);
  }

  scopes(after: { slot: number; key: string } | null, limit: number): engines.ScopeRow[] {
    return this.#inner.scopes(after, limit);
  }

  sums(from?: number, limit?: number): engines.SumRow[] {
    return this.#inner.sums(from, limit);
  }

  logs(from: bigint, limit: number): engines.LogRow[] {
    return this.#inner.logs(from, limit);
  }

  lastLog(): bigint | null {
    return this.#inner.lastLog();
  }

  meta(name: string): Uint8Array | null {
    return this.#inner.meta(name);
  }

  snapshot(): engines.ReadView {
    return this.#inner.snapshot();
  }

  viewApart(metas: readonly string[]): Promise<engines.ViewApart | null> {
    return this.#inner.viewApart(metas);
  }

  scrub(): void {
    this.#inner.scrub();
  }

  onFailure(listener: (error: engines.EngineError) => void): void {
    this.#inner.onFailure?.(listener);
  }

  watch(listener: (keys: readonly string[]) => void): () => void {
    return this.#inner.watch(listener);
  }

  freeBytes(): number | null {
    return this.#inner.freeBytes();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #observe(histogram: Histogram, began: Nanos): void {
    histogram.observe(Number(this.#clock.elapsed() - began) / NANOS);
  }
}
