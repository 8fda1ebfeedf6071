// Services of the host by their numbers: said on a stream, and needed by calls that may come before it.

import { OwnError } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";

const WITHIN: Nanos = 5n * SECOND;

export class Numbered {
  readonly #timers: Pick<Timers, "after">;
  readonly #addresses = new Map<number, string>();
  readonly #waiting = new Map<number, PromiseWithResolvers<string>>();

  constructor(timers: Pick<Timers, "after">) {
    this.#timers = timers;
  }

  announced(id: number, address: string): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting === undefined) this.#addresses.set(id, address);
    else waiting.resolve(address);
  }

  /** Each is reached once. */
  async address(id: number): Promise<string> {
    const known = this.#addresses.get(id);
    this.#addresses.delete(id);
    if (known !== undefined) return known;
    const waiting = Promise.withResolvers<string>();
    this.#waiting.set(id, waiting);
    const timer = this.#timers.after(WITHIN, () => {
      this.#waiting.delete(id);
      waiting.reject(new OwnError("the server did not say where it is to be reached"));
    });
    try {
      return await waiting.promise;
    } finally {
      timer.cancel();
    }
  }
}
