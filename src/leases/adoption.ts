// Leases in data that is older than what it replaces. Those that it does not know were handed out since: what they stand
// for is still there outside, and must end. They are taken over as due, where the mount that can end them is there too.
// Those that it knows and that have ended since are due as well: a lease on something that is gone promises what nobody has.

import type { View } from "../barrier/view.ts";
import type { OutsideKind, OutsideReads } from "../carried/outside-rows.ts";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Timers } from "@holdfast/shared/world";
import { type Lease, type LeaseCause, leaseCodec, type LeasePlace } from "./lease.ts";
import { placeBelow, recordKey, RECORDS } from "./rows/lease-keys.ts";
import { isKeyText, isLeaseIdIn } from "./rows/lease-id.ts";
import { LeaseRows, readableLease } from "./rows/lease-rows.ts";

const PAGE = 64;
const ESSENTIAL = { essential: true }; // a full disk keeps nobody from ending what is outside

export interface OutsideLeasesOptions {
  /** Of everything below local/ of the data that goes. */
  readonly from: OutsideReads;
  /** Whether the data that comes has this mount. */
  readonly hasMount: (uuid: string) => boolean;
  readonly now: Instant;
  readonly log: Log;
}

export function outsideLeases(options: OutsideLeasesOptions): OutsideKind<Lease> {
  const { from, hasMount, now, log } = options;
  return {
    pages: () => recordsIn(from),
    read: (key) => {
      const place = placeBelow(RECORDS, key);
      if (recordKey(place) !== key) return null; // no lease has this name
      const lease = readableLease(from, place, log);
      return lease !== null && hasMount(lease.mountUuid) ? lease : null;
    },
    encode: (lease) => leaseCodec.encode(lease),
    put: (tx, to, _key, lease) => new LeaseRows(to, log).add(tx, dueNow(lease, now)),
  };
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
  for (const keys of recordsIn(data)) yield keys.map((key) => placeBelow(RECORDS, key));
}

function* recordsIn(data: OutsideReads): Generator<readonly string[]> {
  for (let last: string | undefined; ;) {
    const page = { limit: PAGE, ...(last === undefined ? {} : { after: last }) };
    const keys = data.keys(RECORDS, page);
    last = keys.at(-1);
    if (last === undefined) return;
    yield keys;
  }
}

/** Whoever restores older data asks for the end of what that does not know, unless its end had come anyway. Nothing was
 *  issued after now, whatever the clock was there: the time of leases goes by what they say. */
function dueNow(lease: Lease, now: Instant): Lease {
  const ending = lease.ending ?? (lease.expires > now ? "revoke" : undefined);
  const issued = lease.issued < now ? lease.issued : now;
  return { ...dueAt(now, lease), issued, ending };
}

function dueAt(now: Instant, lease: Lease): Lease {
  const expires = lease.expires < now ? lease.expires : now;
  return { ...lease, expires, due: now, attempts: 0, error: "", irrevocable: false };
}

/** Whether a key below local/ is that of a lease. */
export function isLeaseKey(key: string): boolean {
  return key.startsWith(RECORDS);
}

const MAX_TEXT = 4096;
const INSTANT = /^\d{1,19}$/;

/** Whether what another cluster says of a lease is one, of this key: only our own code is trusted with less. */
export function isWholeLease(key: string, value: JsonValue): boolean {
  const { namespaceId, id } = placeBelow(RECORDS, key);
  if (!isObject(value) || value["namespaceId"] !== namespaceId || value["id"] !== id) return false;
  const { owner, origin, renewed, ending } = value;
  return (
    isLeaseIdIn(namespaceId, id) &&
    isName(value["path"]) &&
    isSegment(value["mountUuid"]) &&
    isName(value["secretType"]) &&
    ["issued", "expires", "due"].every((name) => isInstant(value[name])) &&
    (renewed === null || isInstant(renewed)) &&
    isObject(value["internal"]) &&
    (owner === null || isOwner(owner)) &&
    (origin === undefined || isOrigin(origin)) &&
    (ending === undefined || ending === "revoke" || ending === "token" || ending === "unmount") &&
    typeof value["renewable"] === "boolean" &&
    typeof value["irrevocable"] === "boolean" &&
    typeof value["error"] === "string" &&
    Number.isSafeInteger(value["attempts"])
  );
}

function isOwner(value: JsonValue | undefined): boolean {
  return isObject(value) && isSegment(value["namespaceId"]) && isSegment(value["accessor"]);
}

function isOrigin(value: JsonValue): boolean {
  if (!isObject(value) || !isSegment(value["namespaceId"])) return false;
  const { mount, accessor, name } = value;
  if (typeof name !== "string" || (accessor !== undefined && !isSegment(accessor))) return false;
  return mount === null || isSegment(mount);
}

/** Part of a key. */
function isName(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT && isKeyText(value);
}

function isSegment(value: JsonValue | undefined): boolean {
  return isName(value) && !value.includes("/");
}

function isInstant(value: JsonValue | undefined): boolean {
  return typeof value === "string" && INSTANT.test(value);
}
