// Who was in the set before this primary took over, and does not follow it yet. Pure.

import type { JsonObject } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { KnownSecondary } from "../joining/primary-rows.ts";
import type { Former } from "../links/upstream.ts";
import { clusterText } from "../roles/warnings.ts";
import type { Sibling } from "../stream/messages.ts";
import type { Standing } from "./informed.ts";

export interface Awaited extends Standing {
  /** As which the primary of before knew it; empty for that one itself, and where nobody knows. */
  readonly id: string;
  readonly cluster: string;
  readonly addresses: readonly string[];
  readonly was: "primary" | "secondary";
}

/** All that are known from before, whether they have come or not. `standing`: what each says of who leads; null is the primary. */
export function membersBefore(
  former: Pick<Former, "addresses" | "isHeard" | "cluster" | "isDisowned"> | null,
  siblings: readonly Sibling[],
  standing: (sibling: Sibling | null) => Standing,
): readonly Awaited[] {
  if (former === null) return [];
  const { addresses, cluster, isHeard, isDisowned } = former;
  const said = standing(null);
  const hasHeard = isHeard && !said.refuses;
  const primary = { id: "", cluster, addresses, was: "primary", ...said, hasHeard } as const;
  const others = siblings.map((one): Awaited => {
    const { id, cluster: of, addresses: where } = one;
    return { id, cluster: of, addresses: where, was: "secondary", ...standing(one) };
  });
  // Of one whose cluster is not known nobody could tell that it has come.
  return [...(isDisowned ? [] : [primary]), ...others].filter((one) => one.cluster !== "");
}

/** Beside that it has not come over. */
export function whereInstead(
  { follows, refuses }: Standing,
  nameOf: (cluster: string) => string,
): string {
  if (refuses) return ", and refuses this cluster: whom it follows has revoked it";
  return follows === "" ? "" : `, and takes ${clusterText(follows, nameOf)} for the primary`;
}

export function awaitedOf(
  before: readonly Awaited[],
  known: readonly Pick<KnownSecondary, "clusterId" | "used">[],
): readonly Awaited[] {
  const came = new Set(known.flatMap(({ clusterId, used }) => (used === null ? [] : [clusterId])));
  return before.filter(({ cluster }) => !came.has(cluster));
}

/** `since`: when this cluster took over; null where its log does not reach back so far. */
export function awaitedStatus(
  awaited: readonly Awaited[],
  since: Instant | null,
  nameOf: (cluster: string) => string,
): JsonObject {
  if (awaited.length === 0) return {};
  return {
    awaited_members: awaited.map(({ id, cluster, addresses, was, hasHeard, follows, refuses }) => ({
      // The primary of before may never have been anybody's secondary: then it goes by what revoking takes for it as well.
      node_id: id || nameOf(cluster) || cluster,
      cluster_id: cluster,
      cluster_address: addresses[0] ?? "",
      was,
      informed: hasHeard,
      ...(follows === "" ? {} : { follows }),
      ...(refuses ? { refuses } : {}),
      since: since === null ? null : showTime(since),
    })),
  };
}
