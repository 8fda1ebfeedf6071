// The memory engine, for dev mode and tests: the semantics of the others without a disk. Engines
// that share one MemoryDisk are nodes of one cluster on one storage.

import { CommitConflict, EngineError } from "./engine.ts";
import { equalBytes } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { copyBatch, MemoryRows } from "./memory-rows.ts";
import { HeldView, ReadsBehind } from "./reads-behind.ts";
import type { Batch, StorageEngine, Limits, Reads, ReadView } from "./engine.ts";

type Listener = (keys: readonly string[]) => void;

/** What a disk is to the other engines: it outlives the engines that use it. */
export class MemoryDisk {
  readonly rows: MemoryRows;
  readonly #watches = new Set<{ readonly user: MemoryEngine; readonly listener: Listener }>();

  constructor(rows = new MemoryRows()) {
    this.rows = rows;
  }

  watch(user: MemoryEngine, listener: Listener): () => void {
    const watch = { user, listener };
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  unwatch(user: MemoryEngine): void {
    for (const watch of this.#watches) if (watch.user === user) this.#watches.delete(watch);
  }

  /** Applies the batch and tells everybody but the writer, each commit in a microtask of its own. */
  write(writer: MemoryEngine, batch: Batch): void {
    this.rows.apply(batch);
    const keys = batch.data.map((row) => row.key);
    queueMicrotask(() => {
      for (const watch of this.#watches) if (watch.user !== writer) watch.listener(keys);
    });
  }
}

export class MemoryEngine extends ReadsBehind implements StorageEngine {
  readonly kind = "memory";
  readonly limits: Limits = { operations: 8192, bytes: 64 * 1024 * 1024 };
  readonly #disk: MemoryDisk;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(disk = new MemoryDisk()) {
    super();
    this.#disk = disk;
  }

  protected override source(): Reads {
    if (this.#closed) throw new EngineError("the storage is closed");
    return this.#disk.rows;
  }

  async commit(batch: Batch): Promise<void> {
    this.source();
    invariant(this.#running === null, "a commit was started before the last one had settled");
    const own = copyBatch(batch); // now: the caller may reuse its bytes as soon as it has called
    this.#running = Promise.resolve().then(() => this.#apply(own));
    await this.#running;
  }

  /** Costs nothing when taken; the first write to a chunk afterwards copies that chunk. */
  async viewApart(): Promise<null> {
    return null;
  }

  snapshot(): ReadView {
    this.source();
    return new HeldView(this.#disk.rows.copy(), () => {});
  }

  watch(listener: Listener): () => void {
    this.source();
    return this.#disk.watch(this, listener);
  }

  /** What is removed is nowhere. */
  scrub(): void {}

  freeBytes(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#disk.unwatch(this);
    await this.#running?.catch(() => {}); // whoever called commit() hears of it
  }

  #apply(batch: Batch): void {
    this.#running = null;
    const { name, value } = batch.expect;
    const found = this.#disk.rows.meta(name);
    const same = found === null || value === null ? found === value : equalBytes(found, value);
    if (!same) throw new CommitConflict();
    this.#disk.write(this, batch);
  }
}
