// Leases in data that is older than what it replaces. Those that it does not know were handed out since: what they stand
// for is still there outside, and must end. They are taken over as due, where the mount that can end them is there too.
// Those that it knows and that have ended since are due as well: a lease on something that is gone promises what nobody has.

import type { Tx, View } from "../barrier/view.ts";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Timers } from "@holdfast/shared/world";
import { type Lease, type LeaseCause, leaseCodec, type LeasePlace } from "./lease.ts";
import { placeBelow, recordKey, RECORDS } from "./rows/lease-keys.ts";
import { LeaseRows } from "./rows/lease-rows.ts";

const PAGE = 64;
const ESSENTIAL = { essential: true }; // a full disk keeps nobody from ending what is outside

export interface AdoptionOptions {
  /** Of everything below local/: of the data that goes, and of that which comes. */
  readonly from: View;
  readonly to: View;
  /** Whether the data that comes has this mount. */
  readonly hasMount: (uuid: string) => boolean;
  readonly now: Instant;
  readonly timers: Timers;
  readonly log: Log;
  /** In the transaction that takes over the lease of this key. */
  readonly taken?: (tx: Tx, key: string) => void;
}

export interface Adopted {
  readonly adopted: number;
  /** Those that nobody can end: their mount is not there, or they cannot be read. */
  readonly left: number;
}

export async function adoptLeases(options: AdoptionOptions): Promise<Adopted> {
  const { from, to, hasMount, now, timers, log } = options;
  const before = new LeaseRows(from, log);
  const after = new LeaseRows(to, log);
  let adopted = 0;
  let left = 0;
  for (const places of placesIn(from)) {
    const unknown = places.filter((place) => !after.isThere(place));
    const leases = unknown.flatMap((place) => before.readable(place) ?? []);
    const ending = leases.filter(({ mountUuid }) => hasMount(mountUuid));
    if (ending.length > 0) {
      await to.write((tx) => {
        for (const lease of ending) {
          after.add(tx, dueNow(lease, now));
          options.taken?.(tx, recordKey(lease));
        }
      }, ESSENTIAL);
    }
    adopted += ending.length;
    left += unknown.length - ending.length;
    await timers.turn();
  }
  return { adopted, left };
}

/** A lease that other data does not know, as it is stored; null where nobody there could end it. */
export interface UnknownLease {
  /** Below local/. */
  readonly key: string;
  readonly value: Uint8Array | null;
}

export interface UnknownLeasesOptions {
  readonly hasKey: (key: string) => boolean;
  readonly hasMount: (uuid: string) => boolean;
  readonly log: Log;
}

/** Those that data does not know of which there are only keys. */
export function* unknownLeases(
  from: View,
  { hasKey, hasMount, log }: UnknownLeasesOptions,
): Generator<readonly UnknownLease[]> {
  const rows = new LeaseRows(from, log);
  for (const places of placesIn(from)) {
    const unknown = places.filter((place) => !hasKey(`local/${recordKey(place)}`));
    yield unknown.map((place) => {
      const lease = rows.readable(place);
      const goes = lease !== null && hasMount(lease.mountUuid);
      return { key: recordKey(place), value: goes ? leaseCodec.encode(lease) : null };
    });
  }
}

export interface HasteningOptions {
  /** Of everything below local/ of the data that has come. */
  readonly data: View;
  /** Why a lease has ended here, by its receipt; null where it has not, or nobody knows. */
  readonly endedFor: (place: LeasePlace) => LeaseCause | "expiry" | null;
  readonly now: Instant;
  readonly timers: Timers;
  readonly log: Log;
}

/** Leases that ended and were brought back. By their receipts and not by their absence before: data of a copy of this
 *  server may have leases that were never here. Nor by their presence: one that was brought back before may still be
 *  waiting for its end. */
export async function hastenEnded(options: HasteningOptions): Promise<void> {
  const { data, endedFor, now, timers, log } = options;
  const rows = new LeaseRows(data, log);
  for (const places of placesIn(data)) {
    const ended: [Lease, Lease][] = [];
    for (const place of places) {
      const why = endedFor(place);
      const lease = why === null ? null : rows.readable(place);
      if (why === null || lease === null) continue;
      ended.push([lease, { ...dueAt(now, lease), ending: why === "expiry" ? undefined : why }]);
    }
    if (ended.length > 0) {
      await data.write((tx) => {
        for (const [lease, due] of ended) rows.change(tx, lease, due, now);
      }, ESSENTIAL);
    }
    await timers.turn();
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
