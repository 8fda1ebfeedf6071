// Leases in data that is older than what it replaces. Those that it does not know were handed out since: what they stand
// for is still there outside, and must end. They are taken over as due, where the mount that can end them is there too.
// Those that it knows and that have ended since are due as well: a lease on something that is gone promises what nobody has.

import type { View } from "../barrier/view.ts";
import type { Log } from "@holdfast/shared/log";
import type { Instant } from "@holdfast/shared/world";
import type { Lease, LeaseCause, LeasePlace } from "./lease.ts";
import { placeBelow, RECORDS } from "./rows/lease-keys.ts";
import { LeaseRows } from "./rows/lease-rows.ts";

const PAGE = 64;

export interface AdoptionOptions {
  /** Of everything below local/: of the data that goes, and of that which comes. */
  readonly from: View;
  readonly to: View;
  /** Whether the data that comes has this mount. */
  readonly hasMount: (uuid: string) => boolean;
  /** Why a lease has ended here, by its receipt; null where it has not, or nobody knows. */
  readonly endedFor: (place: LeasePlace) => LeaseCause | "expiry" | null;
  readonly now: Instant;
  readonly log: Log;
}

export interface Adopted {
  readonly adopted: number;
  /** Those that nobody can end: their mount is not there, or they cannot be read. */
  readonly left: number;
}

export async function adoptLeases(options: AdoptionOptions): Promise<Adopted> {
  await hastenEnded(options);
  const { from, to, hasMount, now, log } = options;
  const before = new LeaseRows(from, log);
  const after = new LeaseRows(to, log);
  let adopted = 0;
  let left = 0;
  for (const places of placesIn(from)) {
    const unknown = places.filter((place) => !after.isThere(place));
    const leases = unknown.map((place) => before.readable(place));
    const taken = leases.filter((lease) => lease !== null && hasMount(lease.mountUuid));
    if (taken.length > 0) {
      await to.write((tx) => {
        for (const lease of taken) if (lease !== null) after.add(tx, dueNow(lease, now));
      });
    }
    adopted += taken.length;
    left += unknown.length - taken.length;
  }
  return { adopted, left };
}

/** By their receipts and not by their absence: data of a copy of this server may have leases that were never here. */
async function hastenEnded({ from, to, endedFor, now, log }: AdoptionOptions): Promise<void> {
  const before = new LeaseRows(from, log);
  const after = new LeaseRows(to, log);
  for (const places of placesIn(to)) {
    const ended: [Lease, Lease][] = [];
    for (const place of places) {
      const why = before.isThere(place) ? null : endedFor(place);
      const lease = why === null ? null : after.readable(place);
      if (why === null || lease === null) continue;
      ended.push([lease, { ...dueAt(now, lease), ending: why === "expiry" ? undefined : why }]);
    }
    if (ended.length === 0) continue;
    await to.write((tx) => {
      for (const [lease, due] of ended) after.change(tx, lease, due, now);
    });
  }
}

function* placesIn(data: View): Generator<readonly LeasePlace[]> {
  for (let last: string | undefined; ;) {
    const page = { limit: PAGE, ...(last === undefined ? {} : { after: last }) };
    const keys = data.keys(RECORDS, page);
    last = keys.at(-1);
    if (last === undefined) return;
    yield keys.map((key) => placeBelow(RECORDS, key));
  }
}

/** Whoever restores older data asks for the end of what that does not know, unless its end had come anyway. */
function dueNow(lease: Lease, now: Instant): Lease {
  const ending = lease.ending ?? (lease.expires > now ? "revoke" : undefined);
  return { ...dueAt(now, lease), ending };
}

function dueAt(now: Instant, lease: Lease): Lease {
  const expires = lease.expires < now ? lease.expires : now;
  return { ...lease, expires, due: now, attempts: 0, error: "", irrevocable: false };
}
