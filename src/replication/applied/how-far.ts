// Up to which index the log of the primary is here, by kind.

import type { LinkedOptions } from "../options.ts";
import type { Role } from "../roles/role.ts";
import { PLACE, placesIn } from "./applied-place.ts";

/** Who has led, and has followed nobody since, has all of it: it has written it. */
export function appliedHere({ kind, store, own }: LinkedOptions, role: Role): bigint {
  const hasLed = role.mode === "secondary" && role.id === "" && role.led === true;
  if (kind === "dr" || hasLed || role.mode !== "secondary") return store.index;
  return placesIn(own).read()?.index ?? 0n;
}

/** Whether the shared rows here are those of one index of the primary's. */
export function isWhole({ own }: Pick<LinkedOptions, "own">): boolean {
  const place = placesIn(own).read();
  return place !== null && place.half === null && place.until === null;
}

/** Whenever that may have changed. */
export function onApplied({ own }: Pick<LinkedOptions, "own">, call: () => void): () => void {
  return own.watch(PLACE, call);
}
