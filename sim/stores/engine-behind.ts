// An engine that hands everything on to another one: the base of decorators.

import type {
  Batch,
  StorageEngine,
  Limits,
  Reads,
  ReadView,
  ViewApart,
} from "../../src/storage/engines/engine.ts";
import { ReadsBehind } from "../../src/storage/engines/reads-behind.ts";

export class EngineBehind extends ReadsBehind implements StorageEngine {
  protected readonly inner: StorageEngine;

  constructor(inner: StorageEngine) {
    super();
    this.inner = inner;
  }

  protected override source(): Reads {
    return this.inner;
  }

  get kind(): string {
    return this.inner.kind;
  }

  get limits(): Limits {
    return this.inner.limits;
  }

  commit(batch: Batch): Promise<void> {
    return this.inner.commit(batch);
  }

  viewApart(metas: readonly string[]): Promise<ViewApart | null> {
    return this.inner.viewApart(metas);
  }

  snapshot(): ReadView {
    return this.inner.snapshot();
  }

  watch(listener: (keys: readonly string[]) => void): () => void {
    return this.inner.watch(listener);
  }

  scrub(): void {
    this.inner.scrub();
  }

  freeBytes(): number | null {
    return this.inner.freeBytes();
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
