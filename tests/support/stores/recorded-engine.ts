// A storage in memory that keeps what it held after each commit: where the power may fail. A store is opened
// on any of these moments as it would be after that.

import type { Batch } from "../../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import type { MemoryRows } from "../../../src/storage/engines/memory-rows.ts";
import { type MadeStore, openedStore } from "../made/made-store.ts";
import { WatchedEngine } from "./watched-engine.ts";

export class RecordedEngine extends MemoryEngine {
  readonly moments: MemoryRows[] = [];
  readonly #disk: MemoryDisk;

  constructor(disk = new MemoryDisk()) {
    super(disk);
    this.#disk = disk;
  }

  override async commit(batch: Batch): Promise<void> {
    await super.commit(batch);
    this.moments.push(this.#disk.rows.copy());
  }
}

/** The store as it is found when the power is back; locked. */
export function afterPowerCut(moment: MemoryRows): MadeStore {
  return openedStore(new WatchedEngine(new MemoryEngine(new MemoryDisk(moment.copy()))));
}
