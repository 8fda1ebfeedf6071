// Endpoints that tell how the node is and who leads.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Nanos } from "@holdfast/shared/world";
import { anyState, type SealServices } from "./api.ts";
import { HEALTH_CODES, healthStatus } from "./health.ts";

const endpoint = endpointsOf<SealServices>();

const codeOf = (name: keyof typeof HEALTH_CODES, state: string) =>
  wire
    .query(name)
    .integer(`Status when the node is ${state}`, { min: 100, max: 599 })
    .default(HEALTH_CODES[name]);

function millis(nanos: Nanos = 0n): number {
  return Number(nanos / MILLISECOND);
}

export const nodeApi = [
  endpoint({
    name: "health",
    anyStatus: true,
    forMonitoring: true,
    method: "GET",
    path: "/sys/health",
    summary: "Tell the health of the node, by status and body",
    ...anyState,
    rootOnly: true,
    rateLimited: false,
    head: true,
    input: {
      standbyOk: wire.query("standbyok").boolean("Count a standby as healthy").default(false),
      perfStandbyOk: wire
        .query("perfstandbyok")
        .boolean("Count a standby that serves reads as healthy")
        .default(false),
      removedcode: codeOf("removedcode", "removed from its cluster"),
      uninitcode: codeOf("uninitcode", "not initialised"),
      sealedcode: codeOf("sealedcode", "sealed"),
      drsecondarycode: codeOf("drsecondarycode", "a member of a disaster-recovery secondary"),
      haunhealthycode: codeOf("haunhealthycode", "a standby without word of the active node"),
      performancestandbycode: codeOf(
        "performancestandbycode",
        "a standby that serves reads, or a primary that does nothing else: superseded, or without word of its secondaries",
      ),
      standbycode: codeOf("standbycode", "a standby"),
      activecode: codeOf("activecode", "active"),
    },
    output: out.object({
      initialized: out.boolean("Whether the server was initialised"),
      sealed: out.boolean("Whether the node has no keys"),
      standby: out.boolean("Whether another node is active"),
      performance_standby: out.boolean("Whether it is a standby that serves reads"),
      replication_dr_mode: out.string(
        "disabled, bootstrapping, primary or secondary; unknown while sealed",
      ),
      replication_dr_fenced: out.boolean(
        "Whether it is a primary that writes nothing: another was promoted, or primary_lease has lapsed",
      ),
      replication_performance_mode: out.string(
        "disabled, bootstrapping, primary or secondary; unknown while sealed",
      ),
      replication_performance_fenced: out.boolean(
        "Whether it is a primary that writes nothing of what is shared: another was promoted",
      ),
      server_time_utc: out.integer("The server's clock, in seconds since 1970"),
      version: out.string("Version of the server"),
      cluster_name: out.optional(out.string("Name of the cluster; only while unsealed")),
      cluster_id: out.optional(out.string("Id of the cluster; only while unsealed")),
      region: out.string("Name of the region"),
      last_wal: out.integer("Index of the last durable write"),
      ha_connection_healthy: out.boolean("Whether the active node was heard of lately"),
      last_request_forwarding_heartbeat_ms: out.integer("Age of the last heartbeat"),
      clock_skew_ms: out.integer("How far the clock of the replication primary is ahead"),
      echo_duration_ms: out.integer("Time of a round trip to it"),
      replication_primary_canary_age_ms: out.integer("Lag behind the replication primary"),
      removed_from_cluster: out.boolean("Whether the node was removed from its cluster"),
      acl_bootstrap_open: out.boolean("Whether anybody may still take the first management token"),
      last_proven_restore: out.nullable(
        out.time(
          "When a stored snapshot was last proven to restore; null before, and while sealed",
        ),
      ),
    }),
    handler: ({ keeper, clock, health }, { standbyOk, perfStandbyOk, ...codes }) => {
      const facts = health();
      const { version, clusterName, clusterId } = keeper.status();
      const status = healthStatus(facts, codes, { standbyOk, perfStandbyOk });
      return reply(
        {
          initialized: facts.initialised,
          sealed: facts.sealed,
          standby: facts.role !== "active",
          performance_standby: facts.role === "performance-standby",
          replication_dr_mode: facts.drMode,
          replication_dr_fenced: facts.drFenced,
          replication_performance_mode: facts.performanceMode,
          replication_performance_fenced: facts.performanceFenced,
          server_time_utc: Number(clock.now() / 1_000_000_000n),
          version,
          cluster_name: clusterName,
          cluster_id: clusterId,
          region: facts.region,
          last_wal: Number(facts.lastWal),
          ha_connection_healthy: facts.activeReachable,
          last_request_forwarding_heartbeat_ms: 0,
          clock_skew_ms: millis(facts.heartbeat?.clockSkew),
          echo_duration_ms: millis(facts.heartbeat?.echoDuration),
          replication_primary_canary_age_ms: millis(facts.heartbeat?.age),
          removed_from_cluster: facts.removed,
          acl_bootstrap_open: facts.bootstrapOpen,
          last_proven_restore:
            facts.lastProvenRestore === null ? null : showTime(facts.lastProvenRestore),
        },
        { status },
      );
    },
  }),

  endpoint({
    name: "leader",
    method: "GET",
    path: "/sys/leader",
    summary: "Tell which node is active",
    ...anyState,
    rootOnly: true,
    input: {},
    output: out.object({
      ha_enabled: out.boolean("Whether there are several nodes"),
      is_self: out.boolean("Whether it is this one"),
    }),
    handler: ({ health }) => ({ ha_enabled: false, is_self: health().role === "active" }),
  }),

  endpoint({
    name: "stepDown",
    method: "POST",
    path: "/sys/step-down",
    summary: "Give up leadership",
    description: "Without a cluster of several nodes nothing happens.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: () => undefined,
  }),
];
