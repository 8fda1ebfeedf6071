// Up to which index the log of the primary is here, by kind.

import type { LinkedOptions } from "../options.ts";
import { type Fork, forksOf, type Role, type Secondary } from "../roles/role.ts";
import { isOfOneIndex, PLACE, placesIn, type PlaceViews, wasTorn } from "./applied-place.ts";

/** Who has led, and has followed nobody since, has all of it: it has written it. */
export function appliedHere(options: LinkedOptions, role: Role): bigint {
  const { kind, store } = options;
  const hasLed = role.mode === "secondary" && role.id === "" && role.led === true;
  if (kind === "dr" || hasLed || role.mode !== "secondary") return store.index;
  return placesIn(options).read()?.index ?? 0n;
}

/** Which primary of the set has written what is shared here, up to there; 0: nobody has kept that. */
export function writtenBy(views: PlaceViews, role: Role): number {
  if (role.mode === "disabled") return 0;
  if (role.mode !== "secondary") return role.epoch.number;
  return role.surplus?.epoch ?? placesIn(views).read()?.of ?? 0;
}

/** From which index on whoever takes the place of the last primary now goes on by itself, by that one's log: behind what is here of it. Where
 *  rows here are those of an earlier primary, nothing is that later ones have written since they parted from it. */
export function nextFirst(options: LinkedOptions, role: Secondary): bigint {
  const { surplus } = role;
  const here = surplus === undefined ? appliedHere(options, role) : options.store.index;
  const of = writtenBy(options, role);
  const later: Fork[] = of === 0 ? [] : forksOf(role).filter(({ number }) => number > of);
  // An earlier version has not kept whose place it is.
  if (of === 0 && role.superseded === true) later.push(role.epoch);
  return later.map(({ first }) => BigInt(first)).reduce(least, here + 1n);
}

function least(one: bigint, other: bigint): bigint {
  return other < one ? other : one;
}

/** Whether the shared rows here are those of one index of the primary's. */
export function isWhole(views: PlaceViews): boolean {
  const place = placesIn(views).read();
  return place !== null && isOfOneIndex(place);
}

/** Whether they are of different ones, whoever is followed by now: nobody is answered from those. Where nothing was ever applied they are
 *  this cluster's own, or not there yet; or those of a cluster whose place was taken, which has left word. */
export function isTorn(views: PlaceViews): boolean {
  const place = placesIn(views).read();
  return place === null ? wasTorn(views) : !isOfOneIndex(place);
}

/** Whenever that may have changed. */
export function onApplied({ own }: Pick<LinkedOptions, "own">, call: () => void): () => void {
  return own.watch(PLACE, call);
}
