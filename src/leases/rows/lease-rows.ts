// The stored rows of leases: changed together, in one transaction each, so that a lease is in every
// order or in none. A row by mount counts them, and says how late it was: at a restart the time of
// leases does not begin before that.

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import { type Lease, leaseCodec, type LeaseOwner, type LeasePlace } from "../lease.ts";
import * as keys from "./lease-keys.ts";

export interface LeaseCount {
  readonly leases: number;
  readonly irrevocable: number;
}

interface StoredCount extends LeaseCount {
  readonly seen: string; // an instant
}

const countCodec = jsonCodec<StoredCount>();
const NONE: LeaseCount = { leases: 0, irrevocable: 0 };

/** Orders beside that of the records, and whose row one of their keys is. */
const PLACE_OF: ReadonlyMap<string, (key: string) => LeasePlace> = new Map([
  [keys.TIMES, keys.timedPlace],
  [keys.OWNERS, keys.ownedPlace],
  [keys.STUCK, keys.stuckPlace],
]);
/** Every folder that has a row for each lease, or for some. */
export const FOLDERS: readonly string[] = [keys.RECORDS, ...PLACE_OF.keys()];

interface PlacesPage {
  readonly limit: number;
  readonly after?: string | undefined;
}

/** A place, and the key to go on after. */
export interface Found extends LeasePlace {
  readonly key: string;
}

export class LeaseRows {
  /** Of everything below local/. */
  readonly local: View;
  readonly #log: Log;

  constructor(local: View, log: Log) {
    this.local = local;
    this.#log = log;
  }

  // --- writing ---

  add(tx: Tx, lease: Lease): void {
    const local = tx.on(this.local);
    local.put(keys.recordKey(lease), lease, leaseCodec);
    mark(local, keys.timeKey(lease));
    if (lease.owner !== null) mark(local, keys.ownerKey(lease.owner, lease));
    this.#count(local, lease.mountUuid, { leases: 1, irrevocable: 0 }, lease.issued);
  }

  /** The same lease otherwise: its place, mount and owner are as before. */
  change(tx: Tx, before: Lease, after: Lease, now: Instant): void {
    const local = tx.on(this.local);
    local.put(keys.recordKey(after), after, leaseCodec);
    if (before.due !== after.due) {
      local.delete(keys.timeKey(before));
      mark(local, keys.timeKey(after));
    }
    if (before.irrevocable === after.irrevocable) return;
    if (after.irrevocable) mark(local, keys.stuckKey(after));
    else local.delete(keys.stuckKey(before));
    const irrevocable = after.irrevocable ? 1 : -1;
    this.#count(local, after.mountUuid, { leases: 0, irrevocable }, now);
  }

  remove(tx: Tx, lease: Lease, now: Instant): void {
    const local = tx.on(this.local);
    local.delete(keys.recordKey(lease));
    local.delete(keys.timeKey(lease));
    if (lease.owner !== null) local.delete(keys.ownerKey(lease.owner, lease));
    if (lease.irrevocable) local.delete(keys.stuckKey(lease));
    const irrevocable = lease.irrevocable ? -1 : 0;
    this.#count(local, lease.mountUuid, { leases: -1, irrevocable }, now);
  }

  /** The record alone, where it cannot be read and so does not say what else it has. */
  removeUnread(tx: Tx, place: LeasePlace): void {
    tx.on(this.local).delete(keys.recordKey(place));
  }

  /** A mount without leases has no count, whatever could not be read. */
  settleCount(tx: Tx, mountUuid: string): void {
    if (this.timed(mountUuid, { limit: 1 }, tx).length > 0) return;
    tx.on(this.local).delete(keys.COUNTS + mountUuid);
  }

  /** A row that nothing stands behind any more. */
  drop(tx: Tx, key: string): void {
    tx.on(this.local).delete(key);
  }

  /** Puts right what stands behind one row of those below `folder`: true when there was something. */
  tidy(tx: Tx, folder: string, key: string): boolean {
    const local = tx.on(this.local);
    if (folder === keys.RECORDS) {
      const lease = this.readable(keys.placeBelow(folder, key), tx);
      if (lease === null || local.get(keys.timeKey(lease), bytesCodec) !== null) return false;
      mark(local, keys.timeKey(lease));
      return true;
    }
    const place = PLACE_OF.get(folder)?.(key);
    if (place === undefined || (this.isThere(place, tx) && this.#belongs(key, place, tx))) {
      return false;
    }
    local.delete(key);
    return true;
  }

  #belongs(key: string, place: LeasePlace, tx: Tx): boolean {
    const lease = this.readable(place, tx);
    if (lease === null) return true; // it cannot be read: nobody knows
    const own = [keys.timeKey(lease)];
    if (lease.owner !== null) own.push(keys.ownerKey(lease.owner, lease));
    if (lease.irrevocable) own.push(keys.stuckKey(lease));
    return own.includes(key);
  }

  // --- reading ---

  at(place: LeasePlace, tx?: Tx): Lease | null {
    return this.#reads(tx).get(keys.recordKey(place), leaseCodec);
  }

  /** Also one that cannot be read. */
  isThere(place: LeasePlace, tx?: Tx): boolean {
    const key = keys.recordKey(place);
    return this.#reads(tx).keys(key, { limit: 1 })[0] === key;
  }

  /** Null also for one that cannot be read: it must not keep others from being revoked. */
  readable(place: LeasePlace, tx?: Tx): Lease | null {
    return readableLease(this.#reads(tx), place, this.#log);
  }

  /** Of a mount, in the order in which they are due. */
  timed(mountUuid: string, page: PlacesPage, tx?: Tx): (keys.TimedPlace & Found)[] {
    const found = this.#keys(keys.timesOf(mountUuid), page, tx);
    return found.map((key) => ({ ...keys.timedPlace(key), key }));
  }

  ownedBy(owner: LeaseOwner, page: PlacesPage, tx?: Tx): Found[] {
    return this.#below(keys.ownedBy(owner), page, tx);
  }

  /** In the order of their ids: those of a namespace that begin with `prefix`, which is empty or ends
   *  in a slash. */
  below(namespaceId: string, prefix: string, page: PlacesPage, tx?: Tx): Found[] {
    const folder = keys.recordsOf(namespaceId);
    const found = this.#keys(folder + prefix, page, tx);
    return found.map((key) => ({ namespaceId, id: key.slice(folder.length), key }));
  }

  /** Names one level below, folders with a slash. */
  names(
    namespaceId: string,
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): string[] {
    return this.local.list(keys.recordsOf(namespaceId) + prefix, page);
  }

  /** Those of a namespace that could not be revoked, each with its mount. */
  stuck(namespaceId: string, page: PlacesPage): (Found & { readonly mountUuid: string })[] {
    const folder = keys.stuckOf(namespaceId);
    return this.#below(folder, page).map(({ namespaceId: mountUuid, id, key }) => ({
      namespaceId,
      mountUuid,
      id,
      key,
    }));
  }

  /** Of each mount that has any. */
  counts(): Map<string, LeaseCount & { readonly seen: Instant }> {
    const found = new Map<string, LeaseCount & { readonly seen: Instant }>();
    for (let after: string | undefined; ;) {
      const page = { limit: 1000, ...(after === undefined ? {} : { after }) };
      const rows = this.local.records(keys.COUNTS, countCodec, page);
      for (const { key, value } of rows) {
        found.set(key.slice(keys.COUNTS.length), { ...value, seen: BigInt(value.seen) });
      }
      after = rows.at(-1)?.key;
      if (after === undefined) return found;
    }
  }

  countOf(mountUuid: string, tx?: Tx): LeaseCount {
    return this.#reads(tx).get(keys.COUNTS + mountUuid, countCodec) ?? NONE;
  }

  // --- inside ---

  #count(local: Tx, mountUuid: string, more: LeaseCount, now: Instant): void {
    const key = keys.COUNTS + mountUuid;
    const before = local.get(key, countCodec) ?? NONE;
    const leases = before.leases + more.leases;
    const irrevocable = before.irrevocable + more.irrevocable;
    if (leases <= 0) local.delete(key);
    else local.put(key, { leases, irrevocable, seen: String(now) }, countCodec);
  }

  #below(folder: string, page: PlacesPage, tx?: Tx): Found[] {
    return this.#keys(folder, page, tx).map((key) => ({ ...keys.placeBelow(folder, key), key }));
  }

  #keys(prefix: string, { limit, after }: PlacesPage, tx: Tx | undefined): string[] {
    const page = after === undefined ? { limit } : { limit, after };
    return this.#reads(tx).keys(prefix, page);
  }

  #reads(tx: Tx | undefined): ViewReads {
    return tx === undefined ? this.local : tx.on(this.local);
  }
}

/** Null for one that is not there, and for one that cannot be read. */
export function readableLease(
  reads: Pick<ViewReads, "get">,
  place: LeasePlace,
  log: Log,
): Lease | null {
  try {
    return reads.get(keys.recordKey(place), leaseCodec);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "damaged") throw error;
    log.error("a lease cannot be read", { cause: describe(error) });
    return null;
  }
}

/** A row whose key says everything. */
function mark(local: Tx, key: string): void {
  local.put(key, EMPTY, bytesCodec);
}
