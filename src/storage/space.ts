// The margin of a nearly full disk: below the reserve only deletions and essential writes are taken,
// so that revocation still works when nothing else does. A deletion that writes (it
// marks something deleted) has the upper half of the reserve; the lower is for what revokes.

import type { Clock, Nanos } from "../base/world.ts";
import type { Engine } from "./engines/engine.ts";
import { storageFull } from "./failures.ts";
import type { StoredChange } from "./transaction.ts";

const LOOK_EVERY: Nanos = 100_000_000n;

interface Asked {
  readonly bytes: number;
  readonly pendingBytes: number;
  readonly deletion: boolean;
}

export class SpaceGuard {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #reserveBytes: number;
  #free: number | null = null;
  #owed = 0; // accepted since the look, or before it and not durable then
  #lookAgainAt: Nanos | null = null;

  constructor(engine: Engine, clock: Clock, reserveBytes: number) {
    this.#engine = engine;
    this.#clock = clock;
    this.#reserveBytes = reserveBytes;
  }

  /**
   * Throws unless there is room or the changes only delete. `deletion`: they delete by writing. What was accepted since the last look
   * counts as written: a burst between two looks would use up the reserve otherwise.
   */
  check(changes: Iterable<StoredChange>, { bytes, pendingBytes, deletion }: Asked): void {
    const now = this.#clock.elapsed();
    if (this.#lookAgainAt === null || now >= this.#lookAgainAt) {
      this.#free = this.#engine.freeBytes();
      this.#owed = pendingBytes;
      this.#lookAgainAt = now + LOOK_EVERY;
    }
    if (this.#free === null) return;
    const left = Math.max(0, this.#free - this.#owed);
    const kept = deletion ? this.#reserveBytes / 2 : this.#reserveBytes;
    if (left - bytes >= kept) {
      this.#owed += bytes;
      return;
    }
    for (const { value } of changes) {
      if (value !== null) throw storageFull(left, this.#reserveBytes);
    }
  }
}
