// Generations of data that outlive the server, and whose engines may be cut off.

import {
  type Batch,
  EngineError,
  type StorageEngine,
} from "../../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import type { Generations, NextGeneration } from "../../../src/storage/generations/generations.ts";

/** Where what is carried to other keys lies; below `rows/` in clear. */
export const CLEAR = "core/carried/";

export class KeptGenerations implements Generations {
  disk = new MemoryDisk();
  /** Commits until the power fails. */
  left = Infinity;
  /** Bytes that can still be written; null: as many as anybody likes. */
  free: number | null = null;
  /** Hears of everything that is written. */
  seen: (data: Batch["data"]) => void = () => {};
  /** Whether the next data that is to be taken into use is not. */
  refusesSwitch = false;

  async open(): Promise<StorageEngine> {
    return this.#on(this.disk);
  }

  async begin(): Promise<NextGeneration> {
    const disk = new MemoryDisk();
    const engine = this.#on(disk);
    const takeIntoUse = async () => {
      if (this.refusesSwitch) throw new EngineError("this disk is not taken into use");
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
      if (this.left-- > 0) {
        this.seen(batch.data);
        return commit();
      }
      return Promise.reject(new EngineError(`no power for ${batch.data.length} rows`));
    };
    const free = () => this.free as null; // the memory engine has no limit of its own
    return new (class extends MemoryEngine {
      override freeBytes(): null {
        return free();
      }

      override commit(batch: Batch): Promise<void> {
        return cut(batch, () => super.commit(batch));
      }
    })(disk);
  }

  /** As it is now. What it gives puts it back, on a disk of its own. */
  saved(): () => void {
    const rows = this.disk.rows.copy();
    return () => (this.disk = new MemoryDisk(rows.copy()));
  }

  /** What is carried, whatever its name. */
  get clear(): string[] {
    const range = { from: CLEAR, to: `${CLEAR.slice(0, -1)}0`, limit: 1000 };
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
    this.write([{ key, value }]);
  }

  /** Somebody puts other rows into the place of those that lie there in clear. */
  replaceClear(rows: Iterable<{ readonly key: string; readonly value: Uint8Array }>): void {
    const next = [...rows];
    this.write(this.clear.map((key) => ({ key, value: null })));
    this.write(next);
  }

  /** Somebody with the disk writes; null removes. */
  write(data: Batch["data"]): void {
    this.disk.rows.apply({
      expect: { name: "none", value: null },
      data,
      leaves: [],
      sums: [],
      log: [],
      cutLogAbove: null,
      trimLogBelow: null,
      meta: [],
    });
  }
}
