// What becomes of the place in a performance set when the cluster that stood in for another takes its data over, or leaves with them. The rows of
// that place came with the data; they change in the transaction in which the role in disaster recovery does.

import type { Clock, Random } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import { issueMember } from "../../cluster/authority.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { PLACE } from "../applied/applied-place.ts";
import { HEARD } from "../heard.ts";
import { forgetMembership } from "../joining/membership.ts";
import { forgetPrimary, storedMaterial } from "../joining/primary-rows.ts";
import { type Former, forgetFormer, keepStoodIn } from "../links/upstream.ts";
import { isFenced } from "../roles/role.ts";
import { forgetRole, stepIn } from "../roles/stored-role.ts";
import { GIVING_UP } from "./surplus-rows.ts";

export interface StandIn extends Pick<Former, "addresses" | "cluster" | "isHeard"> {
  /** The first index of the epoch of the log that has begun. */
  readonly first: string;
  /** Of the cluster port, for others; empty: that of the listener. */
  readonly address: string;
}

export interface StandingInWorld {
  readonly kind: ReplicationKind;
  readonly view: View;
  readonly own: View;
  readonly clock: Clock;
  readonly random: Random;
  readonly clusterId: () => string;
}

/** Gives what is written when the data is this cluster's. A primary leads in the next epoch, with the authority and the members that it has; who
 *  was stood in for is to hear of it, and hears it by a certificate of that authority. */
export async function standingIn(
  world: StandingInWorld,
  { first, address, ...former }: StandIn,
): Promise<(tx: Tx) => void> {
  const { kind, view, own, clock } = world;
  const cluster = world.clusterId();
  const authority = storedMaterial(view, kind)?.authority ?? null;
  const issued = authority === null ? null : await issueMember(authority, cluster, world);
  return (tx) => {
    const role = stepIn(tx.on(view), { do: "stand-in", cluster, first, address }, kind);
    forgetOwn(tx.on(own));
    const leads = role.mode === "primary" && !isFenced(role);
    if (!leads || authority === null || issued === null) return;
    if (former.cluster === "" || former.cluster === cluster) return; // nobody else has led
    const { set, certificate } = authority;
    const member = { set, kind, id: cluster, authority: certificate, ...issued };
    keepStoodIn(tx.on(view), member, former, clock.now());
  };
}

/** This cluster leaves: others go on in the set, and it is none of them. What was shared is its own. */
export function leavingWith({ view, own }: Pick<StandingInWorld, "view" | "own">, tx: Tx): void {
  const rows = tx.on(view);
  forgetRole(rows);
  forgetPrimary(rows);
  forgetMembership(rows);
  forgetFormer(rows);
  forgetOwn(tx.on(own));
}

/** What this disk has of before is of other data: rows are compared when a primary is followed. */
function forgetOwn(tx: Tx): void {
  for (const row of [PLACE, HEARD, GIVING_UP]) tx.delete(row);
}
