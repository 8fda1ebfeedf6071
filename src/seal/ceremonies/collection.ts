// Distinct shares until some of them fit together: the core of every ceremony. Whoever gives a wrong share
// must not undo what the others gave, so shares that open nothing are kept, and the next one is tried
// with all that is there. When as many came as three whole sets have, they are dropped. Pure: shares
// that are no longer needed come back in `dropped`, and whoever performs the step wipes them.

import { sameBytes } from "../../base/same-bytes.ts";
import { invariant } from "@holdfast/shared/invariant";

const MAX_SETS = 3;
/** Bounds the sets of one try: 6435 at most, 8 of 16 with the newest among them. */
const MAX_KEPT = 16;

export interface Collection {
  readonly required: number;
  readonly shares: readonly Buffer[];
}

export type Event =
  | { readonly do: "give"; readonly share: Buffer }
  /** No set with the newest share was right. */
  | { readonly do: "fail" };

export interface Step {
  readonly collection: Collection;
  /** `enough`: sets with the newest share are to be tried. `spent`: all were dropped. */
  readonly outcome: "counted" | "enough" | "repeated" | "kept" | "spent";
  readonly dropped: readonly Buffer[];
}

export function collect(required: number): Collection {
  return { required, shares: [] };
}

export function step(collection: Collection, event: Event): Step {
  const { required, shares } = collection;
  switch (event.do) {
    case "give": {
      invariant(
        shares.length < maxTries(required),
        "a full collection is judged before it takes more",
      );
      if (holds(shares, event.share)) {
        return { collection, outcome: "repeated", dropped: [event.share] };
      }
      const after = { required, shares: [...shares, event.share] };
      const enough = after.shares.length >= required;
      return { collection: after, outcome: enough ? "enough" : "counted", dropped: [] };
    }
    case "fail":
      if (shares.length < maxTries(required)) return { collection, outcome: "kept", dropped: [] };
      return { collection: collect(required), outcome: "spent", dropped: shares };
  }
}

/** As people count: all that are required only when they were right, so one less is the most. */
export function progressOf({ required, shares }: Collection): number {
  return Math.min(shares.length, required - 1);
}

/** Every set of `required` shares that has the newest one: the others were tried before it came. */
export function* sets({ required, shares }: Collection): Generator<readonly Buffer[]> {
  const newest = shares.at(-1);
  if (newest === undefined || shares.length < required) return;
  for (const others of chosen(shares.slice(0, -1), required - 1)) yield [...others, newest];
}

function* chosen(shares: readonly Buffer[], count: number): Generator<readonly Buffer[]> {
  if (count === 0) {
    yield [];
    return;
  }
  for (let first = 0; first + count <= shares.length; first++) {
    for (const rest of chosen(shares.slice(first + 1), count - 1)) yield [shares[first]!, ...rest];
  }
}

function maxTries(required: number): number {
  return Math.max(required, Math.min(MAX_SETS * required, MAX_KEPT));
}

/** Looks at all of them, so that the time does not tell which one it was. */
function holds(shares: readonly Buffer[], share: Buffer): boolean {
  let found = false;
  for (const other of shares) found = sameBytes(other, share) || found;
  return found;
}
