// What somebody should look at of the rotations of a mount: those that fail again and again, and those that are
// long due. Kept in memory by whoever keeps how they stand.

import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { Concern } from "@holdfast/plugin-sdk/concern";
import type { RotationStanding } from "./rotation-terms.ts";

/** One try that fails is nothing: providers have their bad minutes. */
const FAILURES = 3;
/** What was due for so long is overdue: after a stop of the server many come at once, and take turns. */
const OVERDUE: Nanos = HOUR;

interface Known {
  /** Null: it is not rotated by itself. */
  readonly due: Instant | null;
  readonly failed: boolean;
}

export class RotationConcerns {
  readonly #clock: Pick<Clock, "now">;
  readonly #known = new Map<string, Known>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** `place` is the path below the mount that shows how it stands. An error without attempts is one that is not
   *  tried again before its next time. */
  know(
    place: string,
    how: {
      readonly due: Instant | null;
      readonly attempts: number;
      readonly error: string;
    },
  ): void {
    const failed = how.error !== "" && (how.attempts === 0 || how.attempts >= FAILURES);
    this.#known.set(place, { due: how.due, failed });
  }

  knowRoot(place: string, { due, attempts, error }: RotationStanding): void {
    this.know(place, { due: due === null ? null : BigInt(due) * SECOND, attempts, error });
  }

  forget(place: string): void {
    this.#known.delete(place);
  }

  clear(): void {
    this.#known.clear();
  }

  now(): Concern[] {
    const found: Concern[] = [];
    const longAgo = this.#clock.now() - OVERDUE;
    for (const [place, { due, failed }] of this.#known) {
      if (failed) found.push({ kind: "rotation-failed", place, count: 1 });
      if (due !== null && due < longAgo) found.push({ kind: "rotation-overdue", place, count: 1 });
    }
    return found;
  }
}
