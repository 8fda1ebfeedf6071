// Generations of data that outlive the server, and whose engines may be cut off.

import {
  type Batch,
  EngineError,
  type StorageEngine,
} from "../../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import type { Generations, NextGeneration } from "../../../src/storage/generations/generations.ts";

/** Where evidence lies in clear. */
export const CLEAR = "core/evidence-carried/";

export class KeptGenerations implements Generations {
  disk = new MemoryDisk();
  /** Commits until the power fails. */
  left = Infinity;

  async open(): Promise<StorageEngine> {
    return this.#on(this.disk);
  }

  async begin(): Promise<NextGeneration> {
    const disk = new MemoryDisk();
    const engine = this.#on(disk);
    const takeIntoUse = async () => {
      await engine.close();
      this.disk = disk;
    };
    return { engine, takeIntoUse, discard: () => engine.close() };
  }

  async removeReplaced(): Promise<void> {}

  async close(): Promise<void> {}

  /** Rows as they lie there. */
  below(prefix: string) {
    return this.disk.rows.rows({ from: prefix, to: `${prefix}~`, limit: 1000 });
  }

  #on(disk: MemoryDisk): StorageEngine {
    const cut = (batch: Batch, commit: () => Promise<void>): Promise<void> => {
      if (this.left-- > 0) return commit();
      return Promise.reject(new EngineError(`no power for ${batch.data.length} rows`));
    };
    return new (class extends MemoryEngine {
      override commit(batch: Batch): Promise<void> {
        return cut(batch, () => super.commit(batch));
      }
    })(disk);
  }

  /** What lies there in clear. */
  get clear(): string[] {
    const range = { from: CLEAR, to: `${CLEAR}~`, limit: 1000 };
    return this.disk.rows.keys(range);
  }

  /** The same with their values. */
  rows(): readonly { readonly key: string; readonly value: Uint8Array }[] {
    return this.clear.map((key) => ({ key, value: Buffer.from(this.disk.rows.get(key)!) }));
  }

  /** Somebody changes a byte of a row. */
  change(key: string): void {
    const value = Buffer.from(this.disk.rows.get(key)!);
    value[value.length >> 1]! ^= 1;
    this.#write([{ key, value }]);
  }

  /** Somebody puts other rows into the place of those that lie there in clear. */
  replaceClear(rows: Iterable<{ readonly key: string; readonly value: Uint8Array }>): void {
    const next = [...rows];
    this.#write(this.clear.map((key) => ({ key, value: null })));
    this.#write(next);
  }

  #write(data: Batch["data"]): void {
    this.disk.rows.apply({
      expect: { name: "none", value: null },
      data,
      leaves: [],
      sums: [],
      log: [],
      trimLogBelow: null,
      meta: [],
    });
  }
}
