// The endpoints that tell what this cluster is among others.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { ReplicationKind } from "../cluster/names.ts";
import type { SetMember } from "./stream/messages.ts";
import { topologyOf } from "./topology/set-members.ts";
import type { ClusterStatus } from "./status/cluster-status.ts";

/** Of both kinds. */
export interface Statuses extends Readonly<Record<ReplicationKind, ClusterStatus>> {
  /** The clusters of the set that are known here, this one first. */
  readonly members: () => readonly SetMember[];
}

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

const topology = wire
  .query("topology")
  .boolean("With topology: the clusters of the set that this one knows or was told of")
  .default(false);

const setMember = out.object({
  member: out.integer("By which others name it in follows; 0 is this cluster"),
  this_cluster: out.optional(out.boolean("There for this cluster alone")),
  name: out.string("As whom it follows knows it; empty where it follows nobody"),
  follows: out.nullable(out.integer("The member that it follows")),
  kind: out.nullable(out.string("In which it follows: dr or performance")),
  leads: out.list(out.string("dr or performance"), "The kinds of which it is the primary"),
  region: out.string("Empty where it is not known, or there are none"),
  state: out.string("As in status; or absent, awaited, doubled, led-by-another"),
  connected: out.boolean("To whom it follows"),
  wal_lag: out.nullable(out.integer("In entries of the log")),
  behind_ms: out.integer("For how long"),
  heard_ms_ago: out.nullable(
    out.integer("When it was heard of, by this cluster or by whoever has told of it"),
  ),
  withheld: out.integer("Mounts and namespaces that it is not sent"),
  tells_stand_ins: out.boolean("Whether it has said who stands in for it"),
  api_address: out.string("Where clients reach it; empty where it is not known"),
  cluster_id: out.optional(out.string("For management tokens")),
});

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
    input: { history, topology },
    output: out.object({
      dr: status("Disaster recovery"),
      performance: status("Performance"),
      topology: out.optional(out.object({ members: out.list(setMember, "This cluster first") })),
    }),
    handler: async ({ dr, performance, members }, input, context) => {
      const { caller } = context;
      // Who is told mode and state alone is not told of others.
      const mayKnow = input.topology && (caller !== null || dr.isOpen);
      const whole = caller?.type === "management";
      return {
        dr: await statusFor(dr, context, input.history),
        performance: await statusFor(performance, context, input.history),
        ...(mayKnow ? { topology: topologyOf(members(), whole) } : {}),
      };
    },
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
