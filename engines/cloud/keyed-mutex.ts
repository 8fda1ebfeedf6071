// One at a time by key: what is done under one key waits for what was begun under it before, in order.
// Keys that nobody uses are forgotten.

export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `fn` once everything begun under this key has ended, however it ended. */
  run<T>(key: string, fn: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const running = before === undefined ? fn() : before.then(fn, fn);
    this.#last.set(key, running);
    const forget = () => {
      if (this.#last.get(key) === running) this.#last.delete(key);
    };
    running.then(forget, forget);
    return running;
  }

  /** How many keys are in use. */
  get size(): number {
    return this.#last.size;
  }
}
