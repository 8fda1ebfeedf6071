// A primary behind a way that can be cut, and secondaries of it that know each other; and what a member says to others beyond what the
// product would say.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { DialledMember } from "../../../src/replication/links/dialing.ts";
import { linkTo } from "../../../src/replication/links/dialing.ts";
import {
  type FenceAnswer,
  type FenceWords,
  sendFence,
} from "../../../src/replication/joining/calls.ts";
import { storedSiblings, storedUpstream } from "../../../src/replication/links/upstream.ts";
import type { Epoch } from "../../../src/replication/roles/role.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { until } from "../until.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  startPrimaryBehind,
} from "./clusters.ts";
import { HURRIED } from "./hurried-world.ts";
import { viewOf, WORLD } from "./siblings.ts";

export async function withSiblings(
  t: TestContext,
  ids: readonly string[],
  options: ClusterOptions = WORLD,
) {
  const { primary: a, way } = await startPrimaryBehind(t, options);
  const others: Cluster[] = [];
  for (const id of ids) others.push(await joined(t, a, id, options));
  for (const one of others) {
    await inSync(a, one);
    const known = () =>
      storedSiblings(viewOf(one)).filter(({ addresses }) => addresses.length > 0).length;
    await until(() => known() === ids.length - 1);
  }
  return { a, others, way };
}

/** To the primary, or where `to` serves its siblings. */
export function placeOf(by: Cluster, to?: Cluster): DialledMember & { readonly address: string } {
  const upstream = storedUpstream(viewOf(by), "dr");
  assert.ok(upstream !== null);
  const { role } = by.replication;
  assert.ok(role.mode === "secondary");
  if (to === undefined) return { ...upstream.member, address: role.address };
  const serial = storedUpstream(viewOf(to), "dr")?.member.serial ?? "";
  const sibling = storedSiblings(viewOf(by)).find(({ serials }) => serials.includes(serial));
  const { addresses = [], serials = [] } = sibling ?? {};
  return { ...upstream.member, beside: true, serials, address: addresses[0] ?? "" };
}

/** It greets as itself, with its own certificate and the keys of the set, and says this. */
export async function says(
  by: Cluster,
  { address, ...member }: ReturnType<typeof placeOf>,
  epoch: Epoch,
  { from, ...words }: FenceWords & { readonly from: string },
): Promise<FenceAnswer> {
  const link = linkTo(address, member, { ...HURRIED, net: new SystemNet() });
  try {
    await link.open({ clusterId: await by.clusterId(), version: "0.1.0" });
    const { rootKey } = by.server.server.barrier;
    return await sendFence(link, member, epoch, { rootKey, from, ...words });
  } finally {
    await link.close();
  }
}
