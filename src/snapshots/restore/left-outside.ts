// What a restore could not take over and nobody ends any more: leases and write-ahead records of the data that it
// replaced. Their number is kept for a while, so that somebody looks at the provider.

import { jsonCodec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";

/** Below core/snapshots/. */
const LEFT = "left";
const KEPT_FOR: Nanos = 30n * DAY;

interface Stored {
  readonly count: number;
  readonly since: string; // nanoseconds
}

const stored = jsonCodec<Stored>();

/** In core/snapshots/, added to those of restores before that are still told. */
export function noteLeft(tx: Tx, count: number, now: Instant): void {
  if (count === 0) return;
  const before = tx.get(LEFT, stored);
  const known = before === null || isOld(before, now) ? 0 : before.count;
  tx.put(LEFT, { count: known + count, since: String(now) }, stored);
}

/** In memory, for who looks often. */
export class LeftOutside {
  readonly #view: View;
  #note: Stored | null = null;

  constructor(view: View) {
    this.#view = view;
  }

  load(): void {
    this.#note = this.#view.get(LEFT, stored);
  }

  count(now: Instant): number {
    return this.#note === null || isOld(this.#note, now) ? 0 : this.#note.count;
  }
}

export function leftWarning(count: number): string {
  return (
    `${count} leases and write-ahead records of the data that was replaced could not be taken over: ` +
    "what they stand for may still be there at the provider, and nobody ends it"
  );
}

function isOld({ since }: Stored, now: Instant): boolean {
  return now - BigInt(since) >= KEPT_FOR;
}
