// Whom a cluster calls before it is promoted, by what they know it by: those that follow, or have followed, the same primary, by the
// certificates of that one; and where it has led and follows nobody since, its own secondaries, by its authority.

import type { Random } from "@holdfast/shared/world";
import type { View, ViewReads } from "../../barrier/view.ts";
import { issueMember } from "../../cluster/authority.ts";
import { membershipOf } from "../joining/membership.ts";
import {
  type KnownSecondary,
  storedMaterial,
  storedRevoked,
  storedSecondaries,
} from "../joining/primary-rows.ts";
import { formerPlace } from "../joining/whose-id.ts";
import { addressesOf, type Secondary } from "../roles/role.ts";
import type { Sibling } from "../stream/messages.ts";
import type { Others } from "./asking.ts";
import type { FencingWorld } from "./fencing.ts";
import {
  storedBeside,
  storedFormer,
  storedFormerRevoked,
  storedSiblings,
  storedSiblingsRevoked,
} from "./upstream.ts";

export interface OthersWorld extends Pick<FencingWorld, "clock" | "clusterId"> {
  /** Of core/replication/dr/. */
  readonly view: View;
  readonly random: Random;
}

export async function othersOf(role: Secondary, world: OthersWorld): Promise<readonly Others[]> {
  const own = await ownSecondaries(role, world);
  const beside = besides(role, world.view);
  if (beside === null) return own === null ? [] : [own];
  if (own === null) return [beside];
  // Who has followed this cluster since knows it by that.
  const clusters = new Set(own.siblings.map(({ cluster }) => cluster));
  const siblings = beside.siblings.filter(({ cluster }) => !clusters.has(cluster));
  return [{ ...beside, siblings }, own];
}

function besides(role: Secondary, reads: ViewReads): Others | null {
  const member = storedBeside(reads);
  if (member === null) return null;
  const former = role.id === "" ? (storedFormer(reads)?.addresses ?? []) : addressesOf(role);
  return {
    member,
    siblings: storedSiblings(reads),
    revoked: [...storedSiblingsRevoked(reads), ...storedFormerRevoked(reads)],
    primary: role.final === null ? [] : former,
  };
}

/** It has no certificate of its own authority: it issues one, and proves that it is the one that can. */
async function ownSecondaries(role: Secondary, world: OthersWorld): Promise<Others | null> {
  const { view, clusterId } = world;
  const authority = role.id === "" ? storedMaterial(view, "dr")?.authority : undefined;
  const siblings = byCluster(storedSecondaries(view));
  if (authority?.set !== role.set || siblings.length === 0) return null;
  const { set, kind } = authority;
  const id = clusterId();
  const issued = await issueMember(authority, id, world);
  const place = { set, kind, serial: issued.serial, clusterId: id };
  return {
    member: membershipOf({ set, kind, id, authority: authority.certificate, ...issued }),
    formers: [formerPlace(authority, place)],
    siblings,
    revoked: Array.from(storedRevoked(view), ({ serial }) => serial),
    primary: [],
  };
}

/** Each cluster once, under the id that it came with last: it answers by the certificates of one of them. */
function byCluster(known: readonly KnownSecondary[]): readonly Sibling[] {
  const found = new Map<string, Sibling>();
  const came = known.filter(({ used }) => used !== null);
  for (const one of came.toSorted((a, b) => Number(a.used! - b.used!))) {
    const { id, clusterId: cluster, certificates, addresses } = one;
    const before = found.get(cluster);
    const serials = [...(before?.serials ?? []), ...certificates.map(({ serial }) => serial)];
    const where = addresses.length === 0 ? (before?.addresses ?? []) : addresses;
    found.set(cluster, { id, cluster, serials, addresses: where });
  }
  return [...found.values()];
}
