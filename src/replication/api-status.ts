// The endpoints that tell what this cluster is among others.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { ReplicationKind } from "../cluster/names.ts";
import type { ClusterStatus } from "./status/cluster-status.ts";

/** Of both kinds. */
export type Statuses = Readonly<Record<ReplicationKind, ClusterStatus>>;

const endpoint = endpointsOf<Statuses>();

const status = (of: string) =>
  out.anyObject(
    `${of}: mode (disabled, primary or secondary), and for a cluster that replicates its set, state, indexes, peers and trees`,
  );

/** Names of versions and clusters are for who holds a token that may do anything here. */
function statusFor(
  cluster: ClusterStatus,
  { caller }: RequestContext,
  withHistory: boolean,
): Promise<JsonObject> {
  if (caller === null) return cluster.forAnybody(withHistory);
  return cluster.of(caller.type === "management", withHistory);
}

const history = wire
  .query("history")
  .boolean("With lag_history of each secondary: the last hour, a point every ten seconds")
  .default(false);

const ofNode = {
  onDrSecondary: true,
  inAnyState: true,
  audited: false,
  runs: "here",
} as const;

export const statusApi = [
  endpoint({
    ...ofNode,
    access: access.openWithCaller,
    name: "readReplicationStatus",
    method: "GET",
    path: "/sys/replication/status",
    summary: "Show what this cluster is among others, of both kinds",
    rootOnly: true,
    input: { history },
    output: out.object({ dr: status("Disaster recovery"), performance: status("Performance") }),
    handler: async ({ dr, performance }, input, context) => ({
      dr: await statusFor(dr, context, input.history),
      performance: await statusFor(performance, context, input.history),
    }),
  }),

  endpoint({
    ...ofNode,
    access: access.openWithCaller,
    everywhere: true,
    name: "readDrStatus",
    method: "GET",
    path: "/sys/replication/dr/status",
    summary: "Show what this cluster is in disaster-recovery replication",
    input: { history },
    output: status("Disaster recovery"),
    handler: ({ dr }, input, context) => statusFor(dr, context, input.history),
  }),

  endpoint({
    ...ofNode,
    access: access.openWithCaller,
    everywhere: true,
    name: "readPerformanceStatus",
    method: "GET",
    path: "/sys/replication/performance/status",
    summary: "Show what this cluster is in performance replication",
    input: { history },
    output: status("Performance"),
    handler: ({ performance }, input, context) => statusFor(performance, context, input.history),
  }),
];
