// One at a time by key: what is done under one key waits for what was begun under it before, in order.
// Keys that nobody uses are forgotten.

import type { Waiting } from "@holdfast/shared/waiting";

export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `fn` once everything begun under this key has ended, however it ended. A request that may not do it any
   *  more by then is refused, and `fn` is not run. */
  run<T>(key: string, request: Waiting, fn: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const running = before === undefined ? fn() : request.waitFor(before).then(fn);
    // Who leaves before its turn lets nobody in front of those that it waited for.
    const ended = Promise.allSettled([before, running]).then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    this.#last.set(key, ended);
    return running;
  }

  /** How many keys are in use. */
  get size(): number {
    return this.#last.size;
  }
}
