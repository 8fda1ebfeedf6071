// Distinct shares until there are enough: the core of every ceremony. Pure: shares that are no longer
// needed come back in `dropped`, and whoever performs the step wipes them.

import { sameBytes } from "../base/bytes.ts";
import { invariant } from "../base/invariant.ts";

export interface Collection {
  readonly required: number;
  readonly shares: readonly Buffer[];
}

export type Event = { readonly do: "give"; readonly share: Buffer } | { readonly do: "clear" };

export interface Step {
  readonly collection: Collection;
  readonly outcome: "counted" | "complete" | "repeated" | "cleared";
  readonly dropped: readonly Buffer[];
}

export function collect(required: number): Collection {
  return { required, shares: [] };
}

export function step(collection: Collection, event: Event): Step {
  const { required, shares } = collection;
  switch (event.do) {
    case "give": {
      invariant(shares.length < required, "a complete collection is judged before it takes more");
      if (holds(shares, event.share)) {
        return { collection, outcome: "repeated", dropped: [event.share] };
      }
      const after = { required, shares: [...shares, event.share] };
      const complete = after.shares.length === required;
      return { collection: after, outcome: complete ? "complete" : "counted", dropped: [] };
    }
    case "clear":
      return { collection: collect(required), outcome: "cleared", dropped: shares };
  }
}

/** Looks at all of them, so that the time does not tell which one it was. */
function holds(shares: readonly Buffer[], share: Buffer): boolean {
  let found = false;
  for (const other of shares) found = sameBytes(other, share) || found;
  return found;
}
