// An engine that hands everything on to another one, counts commits, can hold or fail them, and can
// fail reads: what a disk does to a store, at the moment a test chooses.

import {
  type Batch,
  type StorageEngine,
  EngineError,
  type Limits,
} from "../../../src/storage/engines/engine.ts";
import type { Reads, ReadView, ViewApart } from "../../../src/storage/engines/engine.ts";
import { nextTurn } from "../fake-world.ts";
import { MemoryEngine } from "../../../src/storage/engines/memory.ts";
import { ReadsBehind } from "../../../src/storage/engines/reads-behind.ts";

export class WatchedEngine extends ReadsBehind implements StorageEngine {
  readonly inner: StorageEngine;
  readonly kind = "watched";
  limits: Limits;
  /** Every batch that was handed over, in order. */
  readonly batches: Batch[] = [];
  /** Those of them that the engine below has committed. */
  readonly landed = new Set<Batch>();
  /** Overrides what the engine says. */
  free: number | null | undefined;
  failReads = false;
  failCommit: Error | null = null;
  /** Every commit takes so many turns of the event loop, like one on a disk. */
  turns = 0;
  closed = false;
  #gate: { promise: Promise<void>; open: () => void } | null = null;

  constructor(inner: StorageEngine = new MemoryEngine()) {
    super();
    this.inner = inner;
    this.limits = inner.limits;
  }

  /** From now on commits wait; what is returned lets them go. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const gate = { promise, open: resolve };
    this.#gate = gate;
    return () => {
      if (this.#gate === gate) this.#gate = null;
      gate.open();
    };
  }

  async commit(batch: Batch): Promise<void> {
    this.batches.push(batch);
    await this.#gate?.promise;
    for (let i = 0; i < this.turns; i++) await nextTurn();
    if (this.failCommit !== null) throw this.failCommit;
    await this.inner.commit(batch);
    this.landed.add(batch);
  }

  scrub(): void {
    this.inner.scrub();
  }

  onFailure(listener: (error: EngineError) => void): void {
    this.inner.onFailure?.(listener);
  }

  viewApart(metas: readonly string[]): Promise<ViewApart | null> {
    return this.inner.viewApart(metas);
  }

  snapshot(): ReadView {
    this.source();
    return this.inner.snapshot();
  }

  watch(listener: (keys: readonly string[]) => void): () => void {
    return this.inner.watch(listener);
  }

  freeBytes(): number | null {
    return this.free === undefined ? this.inner.freeBytes() : this.free;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.inner.close();
  }

  protected override source(): Reads {
    if (this.failReads) throw new EngineError("the disk does not answer");
    return this.inner;
  }
}

const NO_ROW = { name: "nothing is here", value: null };

/** A batch made by hand, past the store: how tests tamper. The store is idle meanwhile. */
export function tamper(
  engine: StorageEngine,
  batch: Partial<Omit<Batch, "expect">>,
): Promise<void> {
  const none = {
    data: [],
    leaves: [],
    sums: [],
    log: [],
    cutLogAbove: null,
    trimLogBelow: null,
    meta: [],
  };
  return engine.commit({ ...none, ...batch, expect: NO_ROW });
}
