// The margin of a nearly full disk: below the reserve only deletions and essential writes are taken,
// so that revocation still works when nothing else does. A deletion that writes (it
// marks something deleted) has the upper half of the reserve; the lower is for what revokes.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { StorageEngine } from "./engines/engine.ts";
import { storageFull } from "./failures.ts";
import type { StoredChange } from "./transaction.ts";

const LOOK_EVERY: Nanos = 100_000_000n;

// Of the reserve, above it. What is refused there is refused for want of room and not for its own size; the
// end is told further up, so that the log has two lines a time and not two a write.
const FULL_MARGIN = 1.125;
const ROOM_MARGIN = 1.25;

interface Room {
  readonly bytes: number;
  readonly pendingBytes: number;
  readonly deletion: boolean;
}

export class SpaceGuard {
  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #reserveBytes: number;
  #free: number | null = null;
  #owed = 0; // accepted since the look, or before it and not durable then
  #lookAgainAt: Nanos | null = null;
  #reported = false; // that writes are refused

  constructor(engine: StorageEngine, clock: Clock, log: Log, reserveBytes: number) {
    this.#engine = engine;
    this.#clock = clock;
    this.#log = log;
    this.#reserveBytes = reserveBytes;
  }

  /**
   * Throws unless there is room or the changes only delete. `deletion`: they delete by writing. What was accepted since the last look
   * counts as written: a burst between two looks would use up the reserve otherwise.
   */
  check(changes: Iterable<StoredChange>, { bytes, pendingBytes, deletion }: Room): void {
    const now = this.#clock.elapsed();
    if (this.#lookAgainAt === null || now >= this.#lookAgainAt) {
      this.#free = this.#engine.freeBytes();
      this.#owed = pendingBytes;
      this.#lookAgainAt = now + LOOK_EVERY;
      if (this.#reported) this.#tellEnd();
    }
    if (this.#free === null) return;
    const left = Math.max(0, this.#free - this.#owed);
    const kept = deletion ? this.#reserveBytes / 2 : this.#reserveBytes;
    if (left - bytes >= kept) {
      this.#owed += bytes;
      return;
    }
    for (const { value } of changes) {
      if (value === null) continue;
      this.#tellBegin(left);
      throw storageFull(left, this.#reserveBytes);
    }
  }

  #tellBegin(left: number): void {
    if (this.#reported || left >= this.#reserveBytes * FULL_MARGIN) return;
    this.#reported = true;
    this.#log.error(
      "the disk is nearly full: writes are refused, but for deletions and revocations",
      {
        free_bytes: left,
        reserve_bytes: this.#reserveBytes,
      },
    );
  }

  #tellEnd(): void {
    const left = (this.#free ?? Infinity) - this.#owed;
    if (left < this.#reserveBytes * ROOM_MARGIN) return;
    this.#reported = false;
    this.#log.info("there is room on the disk again: writes are taken", { free_bytes: this.#free });
  }
}
