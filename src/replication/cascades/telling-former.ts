// A performance secondary that follows another cluster in the place of its primary tells that one so, with what the authority of both has
// signed: the new primary may not reach it. For ten minutes, in which it is tried every five seconds; who leads goes on telling it.

import type { Log } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { Recurring } from "../../base/recurring.ts";

const EVERY: Nanos = 5n * SECOND;
const TIMES = 120;

export interface TellingFormerParts {
  readonly timers: Timers;
  readonly log: Log;
  /** Gives null where nobody has answered. */
  readonly exchange: (addresses: readonly string[]) => Promise<unknown>;
}

export class TellingFormer {
  readonly #parts: TellingFormerParts;
  readonly #telling: Recurring;
  #addresses: readonly string[] = [];
  #left = 0;

  constructor(parts: TellingFormerParts) {
    this.#parts = parts;
    this.#telling = new Recurring({
      trouble: "could not tell the primary of before that another cluster leads",
      run: () => this.#tell(),
      period: EVERY,
      atOnce: false,
      timers: parts.timers,
      log: parts.log,
    });
  }

  open(): void {
    this.#telling.open();
  }

  async close(): Promise<void> {
    await this.#telling.close();
  }

  /** Where the one of before is, or was. */
  tell(addresses: readonly string[]): void {
    this.#addresses = addresses;
    this.#left = TIMES;
    this.#telling.wake();
  }

  async #tell(): Promise<void> {
    if (this.#left === 0) return;
    this.#left--;
    if ((await this.#parts.exchange(this.#addresses)) !== null) this.#left = 0;
  }
}
