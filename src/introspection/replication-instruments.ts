// Metrics of replication and of the log that it is made of. A label names a secondary as operators have: whoever watches
// has to know which of them it is, and there are few.

import type { Registry } from "../base/metrics.ts";
import type { PeerReading, Readings, ReplicationReading } from "../house/readings.ts";

const KIND = { name: "kind", values: ["dr", "performance"] };
const ROLES = ["disabled", "primary", "secondary", "fenced"] as const;
const ROLE = { name: "role", values: ROLES };
const RESUMED = { name: "result", values: ["ok", "trimmed", "diverged"] };
const MAX_SECONDARIES = 128;

export function readReplication(
  registry: Registry,
  {
    replication: read = () => null,
    storageIndexes,
  }: Pick<Readings, "storageIndexes"> & Partial<Pick<Readings, "replication">>,
): void {
  const replication = (): readonly ReplicationReading[] => read() ?? [];
  readLog(registry, storageIndexes);
  registry.readsEach(
    { name: "holdfast_replication_role", help: "1 for what this cluster is, else 0." },
    "gauge",
    [KIND, ROLE],
    () =>
      replication().flatMap(({ kind, role: own }) =>
        ROLES.map((role) => ({ at: [kind, role] as const, value: Number(role === own) })),
      ),
  );
  const ofPeers = (name: string, help: string, pick: (peer: PeerReading) => number | null) =>
    registry.readsPairs({ name, help }, ["kind", "secondary"], () =>
      replication().flatMap(({ kind, peers }) =>
        peers.slice(0, MAX_SECONDARIES).flatMap((peer) => {
          const value = pick(peer);
          return value === null ? [] : [{ at: [kind, peer.id], value }];
        }),
      ),
    );
  ofPeers(
    "holdfast_replication_connected",
    "Whether a secondary and its primary are connected.",
    ({ connected }) => Number(connected),
  );
  ofPeers(
    "holdfast_replication_remote_index",
    "The last index of the primary that a secondary has.",
    ({ remoteIndex }) => remoteIndex,
  );
  ofPeers(
    "holdfast_replication_lag_entries",
    "Entries of the log that a secondary lacks.",
    ({ lagEntries }) => lagEntries,
  );
  ofPeers(
    "holdfast_replication_lag_seconds",
    "For how long it lacks them, or is not connected.",
    ({ lagSeconds }) => lagSeconds,
  );
  ofPeers(
    "holdfast_replication_heartbeat_age_seconds",
    "Since the other side was last heard of.",
    ({ heartbeatAge }) => heartbeatAge,
  );
  registry.readsPairs(
    {
      name: "holdfast_replication_stand_in_ready",
      help: "At the primary of regions: whether who stands in for one streams, and lacks nothing that is older than a minute.",
    },
    ["region", "stand_in"],
    () =>
      replication()
        .flatMap(({ standIns }) => standIns)
        .slice(0, MAX_SECONDARIES)
        .map(({ region, name, isReady }) => ({ at: [region, name], value: Number(isReady) })),
  );
  registry.readsPairs(
    {
      name: "holdfast_replication_withheld",
      help: "Mounts and namespaces that a performance secondary is not sent.",
    },
    ["secondary"],
    () =>
      replication()
        .flatMap(({ withheld }) => withheld)
        .slice(0, MAX_SECONDARIES)
        .map(({ id, count: value }) => ({ at: [id], value })),
  );
  registry.readsEach(
    {
      name: "holdfast_replication_stream_resume_total",
      help: "Logs that went on where they were, had to be compared, or had gone apart.",
    },
    "counter",
    [KIND, RESUMED],
    () =>
      replication().flatMap(({ kind, resumed }) =>
        resumed.map(({ result, count }) => ({ at: [kind, result] as const, value: count })),
      ),
  );
  registry.readsEach(
    {
      name: "holdfast_replication_diff_seconds",
      help: "Time that the last comparison with the primary took.",
    },
    "gauge",
    [KIND],
    () =>
      replication().flatMap(({ kind, diffSeconds: value }) =>
        value === null ? [] : [{ at: [kind] as const, value }],
      ),
  );
  registry.readsEach(
    {
      name: "holdfast_replication_sync_rows_total",
      help: "Rows that were copied from the primary without their entries.",
    },
    "counter",
    [KIND],
    () => replication().map(({ kind, rows: value }) => ({ at: [kind] as const, value })),
  );
  registry.reads(
    {
      name: "holdfast_merkle_check_failures_total",
      help: "Checks and comparisons in which the trees did not add up.",
    },
    "counter",
    () => read()?.reduce((sum, { checkFailures }) => sum + checkFailures, 0) ?? null,
  );
}

function readLog(registry: Registry, storageIndexes: Readings["storageIndexes"]): void {
  registry.reads(
    { name: "holdfast_log_retained_entries", help: "Entries of the log that are kept." },
    "gauge",
    () => {
      const { last, oldest = null } = storageIndexes() ?? { last: 0n };
      return oldest === null ? null : Number(last - oldest + 1n);
    },
  );
  registry.reads({ name: "holdfast_log_retained_bytes", help: "Their size." }, "gauge", () => {
    const { logBytes = null } = storageIndexes() ?? {};
    return logBytes === null ? null : Number(logBytes);
  });
}
