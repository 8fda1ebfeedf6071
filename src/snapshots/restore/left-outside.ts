// What a restore could not take over: leases and write-ahead records of the data that it replaced, which nobody ends any
// more, and evidence. It is told for a while, so that somebody looks.

import { jsonCodec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { Left } from "../../carried/counts.ts";

/** Below core/snapshots/. */
const LEFT = "left";
const KEPT_FOR: Nanos = 30n * DAY;

interface Stored extends Left {
  readonly since: string; // nanoseconds
}

const stored = jsonCodec<Stored>();

export const NOTHING_LEFT: Left = { count: 0, isKnown: true, evidence: "whole" };

/** In core/snapshots/, added to what is still told of restores before. */
export function noteLeft(tx: Tx, { count, isKnown, evidence }: Left, now: Instant): void {
  if (count === 0 && isKnown && evidence === "whole") return;
  const before = leftAsOf(tx.get(LEFT, stored), now);
  const left = {
    count: before.count + count,
    isKnown: before.isKnown && isKnown,
    evidence: evidence === "whole" ? before.evidence : evidence,
  };
  tx.put(LEFT, { ...left, since: String(now) }, stored);
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

  asOf(now: Instant): Left {
    return leftAsOf(this.#note, now);
  }
}

/** Null for nothing. */
export function leftWarning({ count, isKnown }: Pick<Left, "count" | "isKnown">): string | null {
  if (count === 0 && isKnown) return null;
  const how = isKnown ? `${count} ` : count === 0 ? "an unknown number of " : `${count} or more `;
  return (
    `${how}leases and write-ahead records of the data that was replaced could not be taken over: ` +
    "what they stand for may still be there at the provider, and nobody ends it"
  );
}

function leftAsOf(note: Stored | null, now: Instant): Left {
  if (note === null || now - BigInt(note.since) >= KEPT_FOR) return NOTHING_LEFT;
  return { ...NOTHING_LEFT, ...note };
}
