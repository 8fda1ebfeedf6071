// Generations in memory, for dev mode and tests: what is replaced is forgotten.

import type { StorageEngine } from "../engines/engine.ts";
import { MemoryEngine } from "../engines/memory.ts";
import type { Generations, NextGeneration } from "./generations.ts";

export class MemoryGenerations implements Generations {
  readonly #make: () => StorageEngine;
  #inUse: StorageEngine;

  constructor(first?: StorageEngine, make: () => StorageEngine = () => new MemoryEngine()) {
    this.#make = make;
    this.#inUse = first ?? make();
  }

  async open(): Promise<StorageEngine> {
    return this.#inUse;
  }

  async begin(): Promise<NextGeneration> {
    const engine = this.#make();
    return {
      engine,
      takeIntoUse: async () => {
        this.#inUse = engine;
      },
      discard: () => engine.close(),
    };
  }

  async removeReplaced(): Promise<void> {}

  async close(): Promise<void> {}
}
