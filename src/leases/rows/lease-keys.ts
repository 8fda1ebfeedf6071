// Where leases are stored, relative to local/. The order of time is kept for each mount by itself: a
// mount whose leases cannot be revoked never stands in front of another's, and everything of a mount is
// found without a further index.

import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import type { Lease, LeaseOwner, LeasePlace } from "../lease.ts";

/** In the order of ids: the record. */
export const RECORDS = "leases/records/";
/** In the order in which they are due; the key says everything. */
export const TIMES = "leases/by-time/";
export const OWNERS = "leases/by-owner/";
export const STUCK = "leases/irrevocable/";
/** How many each mount has. */
export const COUNTS = "leases/counts/";
/** What is to be queued for revocation: the leases of a token that ended, or below a prefix. */
export const SWEEPS = "leases/sweeps/";

const DIGITS = 20; // of the largest 64-bit number

export function recordKey({ namespaceId, id }: LeasePlace): string {
  return recordsOf(namespaceId) + id;
}

export function recordsOf(namespaceId: string): string {
  return `${RECORDS}${namespaceId}/`;
}

export function timesOf(mountUuid: string): string {
  return `${TIMES}${mountUuid}/`;
}

export function timeKey({ mountUuid, due, namespaceId, id }: Lease): string {
  return `${timesOf(mountUuid)}${digits(due)}/${namespaceId}/${id}`;
}

export interface TimedPlace extends LeasePlace {
  readonly mountUuid: string;
  readonly due: Instant;
}

export function timedPlace(key: string): TimedPlace {
  const [mountUuid, due, namespaceId, ...id] = key.slice(TIMES.length).split("/");
  invariant(mountUuid !== undefined && due !== undefined && namespaceId !== undefined, "time key");
  return { mountUuid, due: BigInt(due), namespaceId, id: id.join("/") };
}

export function mountOfTime(key: string): string {
  return key.slice(TIMES.length, key.indexOf("/", TIMES.length));
}

export function ownedBy({ namespaceId, accessor }: LeaseOwner): string {
  return `${OWNERS}${namespaceId}/${accessor}/`;
}

export function ownerKey(owner: LeaseOwner, { namespaceId, id }: LeasePlace): string {
  return `${ownedBy(owner)}${namespaceId}/${id}`;
}

export function stuckOf(namespaceId: string): string {
  return `${STUCK}${namespaceId}/`;
}

export function stuckKey({ namespaceId, mountUuid, id }: Lease): string {
  return `${stuckOf(namespaceId)}${mountUuid}/${id}`;
}

/** The place at the end of a key that begins with `folder`. */
export function placeBelow(folder: string, key: string): LeasePlace {
  const rest = key.slice(folder.length);
  const at = rest.indexOf("/");
  return { namespaceId: rest.slice(0, at), id: rest.slice(at + 1) };
}

/** Whose row in the order of owners, or among the irrevocable ones, it is. */
export function ownedPlace(key: string): LeasePlace {
  const [, , namespaceId = "", ...id] = key.slice(OWNERS.length).split("/");
  return { namespaceId, id: id.join("/") };
}

export function stuckPlace(key: string): LeasePlace {
  const [namespaceId = "", , ...id] = key.slice(STUCK.length).split("/");
  return { namespaceId, id: id.join("/") };
}

export function ownerSweepKey({ namespaceId, accessor }: LeaseOwner): string {
  return `${SWEEPS}owner/${namespaceId}/${accessor}`;
}

/** Of one length, so that their order as text is that of the numbers. */
function digits(value: bigint): string {
  return String(value).padStart(DIGITS, "0");
}
