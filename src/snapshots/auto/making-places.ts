// How many archives are made at a time: each reads the whole store. Who finds no place waits for the next one, in the
// order of coming. What comes after that, the upload, holds none: a store that hangs keeps nobody waiting.

export class MakingPlaces {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether whoever comes now has to wait. */
  get areTaken(): boolean {
    return this.#taken >= this.#max;
  }

  /** Throws what the signal says where that comes first. */
  async within<T>(signal: AbortSignal, make: () => Promise<T>): Promise<T> {
    if (this.areTaken) await this.#wait(signal);
    else this.#taken++;
    try {
      return await make();
    } finally {
      this.#leave();
    }
  }

  /** The place of who leaves is that of the next. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stopped = () => {
      if (this.#waiting.delete(resolve)) reject(signal.reason as Error);
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", stopped, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", stopped);
    }
  }
}
