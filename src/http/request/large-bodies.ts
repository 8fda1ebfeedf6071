// Large bodies go on one in a turn of the event loop. Reading one takes up to 30 ms, and as many as come in
// together would otherwise be read together, with everybody else waiting for all of them. Addresses take turns:
// whoever sends a thousand is between nobody else's.

import { clientOf } from "@holdfast/shared/text/client-address";
import type { Timers } from "@holdfast/shared/world";
import { Rotation } from "../../base/rotation.ts";

const LARGE = 8 * 1024; // bytes; below, reading takes less than half a millisecond

export class LargeBodies {
  readonly #timers: Pick<Timers, "turn">;
  readonly #waiting = new Rotation<() => void>();
  #running = false;

  constructor(timers: Pick<Timers, "turn">) {
    this.#timers = timers;
  }

  /** Gives the body back when it is its turn; a small one at once. */
  inTurn(body: Uint8Array, address: string): Uint8Array | Promise<Uint8Array> {
    if (body.length <= LARGE) return body;
    return new Promise((resolve) => {
      this.#waiting.add({ tenant: "", client: clientOf(address) }, () => resolve(body));
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      await this.#timers.turn();
      this.#waiting.take()?.();
    }
    this.#running = false;
  }
}
