// Generations of data that lose their power at once: the one in use, and one that is being filled beside it.

import { EngineError, type StorageEngine } from "../../../src/storage/engines/engine.ts";
import type { Generations, NextGeneration } from "../../../src/storage/generations/generations.ts";

export class PoweredGenerations implements Generations {
  readonly #inner: Generations;
  #inUse: StorageEngine | null = null;
  #next: StorageEngine | null = null;
  #hasPower = true;

  constructor(inner: Generations) {
    this.#inner = inner;
  }

  async open(): Promise<StorageEngine> {
    this.#check();
    this.#inUse = await this.#inner.open();
    return this.#inUse;
  }

  async begin(): Promise<NextGeneration> {
    this.#check();
    const next = await this.#inner.begin();
    const { engine } = next;
    this.#next = engine;
    const end = async (work: () => Promise<void>) => {
      this.#check();
      await work();
      this.#next = null;
    };
    return {
      engine,
      takeIntoUse: () => end(() => next.takeIntoUse()),
      discard: () => end(() => next.discard()),
    };
  }

  async removeReplaced(): Promise<void> {
    this.#check();
    await this.#inner.removeReplaced();
  }

  /** Also without power: what is locked is free when its process is gone. */
  close(): Promise<void> {
    return this.#inner.close();
  }

  /** From here on nothing is read or written. */
  async fail(): Promise<void> {
    this.#hasPower = false;
    await Promise.all([this.#inUse?.close(), this.#next?.close()]);
  }

  #check(): void {
    if (!this.#hasPower) throw new EngineError("the power has failed");
  }
}
