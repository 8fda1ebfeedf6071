// A network on which a cluster joins, and gets nothing then: its first copy is stuck.

import type { Net } from "@holdfast/shared/world";
import { SystemNet } from "../../../src/system/net.ts";

/** Nobody is reached after the first connection, until it opens. */
export class OnceNet implements Net {
  readonly #real = new SystemNet();
  #connections = 0;
  isOpen = false;

  listen(...args: Parameters<Net["listen"]>): ReturnType<Net["listen"]> {
    return this.#real.listen(...args);
  }

  connect(...args: Parameters<Net["connect"]>): ReturnType<Net["connect"]> {
    this.#connections += 1;
    if (this.#connections > 1 && !this.isOpen) return Promise.reject(new Error("ECONNREFUSED"));
    return this.#real.connect(...args);
  }
}
