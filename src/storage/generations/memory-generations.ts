// Generations in memory, for dev mode and tests: what is replaced is forgotten.

import type { StorageEngine } from "../engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../engines/memory.ts";
import type { Generations, NextGeneration } from "./generations.ts";

export class MemoryGenerations implements Generations {
  #inUse: () => StorageEngine;

  /** `first` is the engine that is given first. Default: an empty one. */
  constructor(first: StorageEngine = new MemoryEngine()) {
    this.#inUse = () => first;
  }

  async open(): Promise<StorageEngine> {
    return this.#inUse();
  }

  async begin(): Promise<NextGeneration> {
    const disk = new MemoryDisk();
    const engine = new MemoryEngine(disk);
    return {
      engine,
      takeIntoUse: async () => {
        await engine.close();
        this.#inUse = () => new MemoryEngine(disk);
      },
      discard: () => engine.close(),
    };
  }

  async removeReplaced(): Promise<void> {}

  async close(): Promise<void> {}
}
