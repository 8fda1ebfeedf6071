// Whom a cluster calls before it is promoted, by what they know it by: those that follow, or have followed, the same primary, by the
// certificates of that one; and where it has led and follows nobody since, its own secondaries, by its authority.

import type { Random } from "@holdfast/shared/world";
import type { View, ViewReads } from "../../barrier/view.ts";
import { issueMember } from "../../cluster/authority.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { membershipOf } from "../joining/membership.ts";
import {
  type KnownSecondary,
  storedMaterial,
  storedRevoked,
  storedRevokedClusters,
  storedSecondaries,
} from "../joining/primary-rows.ts";
import { formerPlace } from "../joining/whose-id.ts";
import { addressesOf, type Secondary } from "../roles/role.ts";
import type { Sibling } from "../stream/messages.ts";
import type { Others } from "./asking.ts";
import type { FencingWorld } from "./fencing.ts";
import { storedAllRevoked, storedBeside, storedFormer, storedSiblings } from "./upstream.ts";

export interface OthersWorld extends Pick<FencingWorld, "clock" | "clusterId"> {
  readonly kind: ReplicationKind;
  /** Of the rows of that kind. */
  readonly view: View;
  readonly random: Random;
}

export async function othersOf(role: Secondary, world: OthersWorld): Promise<readonly Others[]> {
  const own = role.id === "" ? await ownSecondaries(role.set, world) : null;
  const beside = besides(role, world.view, world.kind);
  if (beside === null) return own === null ? [] : [own];
  if (own === null) return [beside];
  // Who has followed this cluster since knows it by that.
  const clusters = new Set(own.siblings.map(({ cluster }) => cluster));
  const siblings = beside.siblings.filter(({ cluster }) => !clusters.has(cluster));
  return [{ ...beside, siblings }, own];
}

function besides(role: Secondary, reads: ViewReads, kind: ReplicationKind): Others | null {
  const member = storedBeside(reads, kind);
  if (member === null) return null;
  const former = role.id === "" ? (storedFormer(reads, kind)?.addresses ?? []) : addressesOf(role);
  return {
    member,
    siblings: storedSiblings(reads),
    revoked: storedAllRevoked(reads),
    revokedClusters: storedRevokedClusters(reads),
    primary: role.final === null ? [] : former,
  };
}

/** It has no certificate of its own authority: it issues one, and proves that it is the one that can. */
export async function ownSecondaries(set: string, world: OthersWorld): Promise<Others | null> {
  const { view, clusterId } = world;
  const authority = storedMaterial(view, world.kind)?.authority;
  const siblings = byCluster(storedSecondaries(view));
  if (authority?.set !== set || siblings.length === 0) return null;
  const { kind } = authority;
  const id = clusterId();
  const issued = await issueMember(authority, id, world);
  const place = { set, kind, serial: issued.serial, clusterId: id };
  return {
    member: membershipOf({ set, kind, id, authority: authority.certificate, ...issued }),
    formers: [formerPlace(authority, place)],
    siblings,
    revoked: Array.from(storedRevoked(view), ({ serial }) => serial),
    revokedClusters: storedRevokedClusters(view),
    primary: [],
  };
}

/** Each cluster once, under the id that it came with last: it answers by the certificates of one of them. */
function byCluster(known: readonly KnownSecondary[]): readonly Sibling[] {
  const found = new Map<string, Sibling>();
  const came = known.filter(({ used }) => used !== null);
  for (const one of came.toSorted((a, b) => Number(a.used! - b.used!))) {
    const { id, clusterId: cluster, certificates, addresses } = one;
    const before = found.get(cluster) ?? { serials: [], addresses: [] };
    const serials = [...before.serials, ...certificates.map(({ serial }) => serial)];
    const where = addresses.length === 0 ? before.addresses : addresses;
    found.set(cluster, { id, cluster, serials, addresses: where, digests: [] }); // of our own authority
  }
  return [...found.values()];
}
