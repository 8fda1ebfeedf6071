// Every metric this server has, as far as something is there to be measured. Names are written out in full.
// Labels hold words of ours only: no path, name or address that a caller chose; the one exception are names
// of policies, which whoever may write policies chose. process_ and nodejs_ have no prefix of ours:
// dashboards know them by these names.

import {
  type Counter,
  type Family,
  type Histogram,
  type Label,
  type NamedCounters,
  Registry,
} from "../base/metrics.ts";
import type { LoopDelay, RuntimeReading } from "../system/runtime-stats.ts";
import type { Clock } from "@holdfast/shared/world";
import type { DrillReading, Readings, SnapshotReading } from "../house/readings.ts";
import type { EnforcementLevel, GoverningKind } from "../endpoint/judgement.ts";
import { EngineInstruments } from "./engine-instruments.ts";
import { readPlugins } from "./plugin-instruments.ts";
import { readReplication } from "./replication-instruments.ts";

const OPERATION = { name: "op", values: ["read", "list", "update", "patch", "delete", "help"] };
const MOUNT_TYPE = {
  name: "mount_type",
  values:
    "system token acl cubbyhole identity kv userpass approle clouda cloudb database plugin".split(
      " ",
    ),
};
const STATUS = {
  name: "status",
  values: (
    "200 202 204 307 400 403 404 405 409 412 413 415 421 429 431 " +
    "472 473 474 500 501 502 503 530"
  ).split(" "),
};
/** By kind and not by name: operators choose names, and there may be any number of them. */
const DEVICE = { name: "device", values: ["file", "socket", "syslog"] };
const RESULT = { name: "result", values: ["ok", "failed"] };
const STORAGE_OP = { name: "op", values: ["get", "scan", "commit"] };
const BARRIER_OP = { name: "op", values: ["seal", "open", "cached"] };
const INDEX_KIND = { name: "kind", values: ["last", "oldest", "last_dr", "last_performance"] };
const GOVERNING_KIND = { name: "kind", values: ["rgp", "egp"] };
const LEVEL = { name: "level", values: ["advisory", "soft-mandatory", "hard-mandatory"] };
const LEASE_STATE = { name: "state", values: ["live", "irrevocable"] };
const REVOCATION = { name: "result", values: ["ok", "failed", "throttled", "forced"] };
const SNAPSHOT_KIND = { name: "kind", values: ["manual", "automated"] };
const DRILL_RESULT = { name: "result", values: ["proven", "failed", "not-made"] };
const TOKEN_TYPE = { name: "type", values: ["client", "management"] };
const TOKEN_SCOPE = { name: "scope", values: ["global", "local"] };

// A read takes microseconds, a commit what the disk takes.
const STORAGE_BUCKETS: readonly number[] = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
  0.25, 1, 5,
];

// A program takes microseconds, one that uses up its budget some twenty milliseconds.
const PROGRAM_BUCKETS: readonly number[] = [
  0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.001, 0.005, 0.025, 0.1,
];
const MAX_MOUNTS = 1000; // of those that have orphans
const MAX_POLICIES = 1000; // told by name

type Needed =
  | "sealState"
  | "barrierEncryptions"
  | "barrierIntegrityErrors"
  | "storageIndexes"
  | "auditDevicesHealthy";

/** Whom to ask at a scrape. */
export interface InstrumentSources extends Pick<Readings, Needed>, Partial<Omit<Readings, Needed>> {
  readonly clock: Pick<Clock, "now">;
  readonly version: string;
  readonly runtime: () => RuntimeReading;
  readonly requestsInFlight: () => number;
  /** File descriptors in use, where the system tells. */
  readonly openDescriptors?: () => number | null;
  readonly barrierOps?: () => Readonly<Record<"seal" | "open" | "cached", number>>;
  /** Only where counting costs nothing: a scrape must not walk over all tokens. */
  readonly tokenCounts?: () => readonly {
    readonly type: "client" | "management";
    readonly scope: "global" | "local";
    readonly count: number;
  }[];
}

export class Instruments {
  readonly registry = new Registry();
  readonly engines: EngineInstruments;
  readonly quotaViolations: Counter;
  readonly #requests: Family<readonly [Label, Label, Label], Histogram>;
  readonly #auditWrites: Family<readonly [Label, Label], Histogram>;
  readonly #storageOps: Family<readonly [Label], Histogram>;
  readonly policiesSlow: Counter;
  readonly #programs: Family<readonly [Label], Histogram>;
  readonly #policyFailures: Family<readonly [Label, Label], Counter>;
  readonly #wouldDeny: NamedCounters;
  readonly #revocations: Family<readonly [Label], Counter>;

  constructor(sources: InstrumentSources) {
    const { registry } = this;
    this.#requests = registry.histograms(
      { name: "holdfast_request_duration_seconds", help: "Time from a request to its answer." },
      [OPERATION, MOUNT_TYPE, STATUS],
    );
    this.#auditWrites = registry.histograms(
      { name: "holdfast_audit_write_seconds", help: "Time to write one audit record." },
      [DEVICE, RESULT],
    );
    this.#storageOps = registry.histograms(
      { name: "holdfast_storage_op_seconds", help: "Time of one operation of the storage engine." },
      [STORAGE_OP],
      STORAGE_BUCKETS,
    );
    this.quotaViolations = registry.counter({
      name: "holdfast_quota_violations_total",
      help: "Requests refused by a rate-limit quota.",
    });
    this.#programs = registry.histograms(
      { name: "holdfast_policy_eval_seconds", help: "Time of one program of an RGP or EGP." },
      [GOVERNING_KIND],
      PROGRAM_BUCKETS,
    );
    this.#policyFailures = registry.counters(
      { name: "holdfast_policy_failures_total", help: "Programs of RGPs and EGPs that failed." },
      [GOVERNING_KIND, LEVEL],
    );
    this.policiesSlow = registry.counter({
      name: "holdfast_policy_slow_requests_total",
      help: "Requests whose RGPs and EGPs took more than 50 ms together.",
    });
    this.#wouldDeny = registry.namedCounters(
      {
        name: "holdfast_policy_would_deny_total",
        help: "Requests that an advisory policy would have denied, were it mandatory.",
      },
      ["kind", "namespace_id", "policy"],
      MAX_POLICIES,
    );
    this.#revocations = registry.counters(
      { name: "holdfast_lease_revocations_total", help: "Tries to revoke a lease." },
      [REVOCATION],
    );
    const { clock, mounted = () => false } = sources;
    this.engines = new EngineInstruments(registry, clock, mounted);
    readNode(registry, sources);
    readAttention(registry, sources);
    readLeases(registry, sources);
    readBarrier(registry, sources);
    readTokens(registry, sources);
    readSnapshots(registry, sources);
    readDrills(registry, sources);
    readReplication(registry, sources);
    if (sources.plugins !== undefined) readPlugins(registry, sources.plugins);
    readRuntime(registry, sources);
  }

  /** `operation` and `mountType` as the pipeline knows them; empty where no route was found. */
  requestDone(operation: string, mountType: string, status: number, seconds: number): void {
    this.#requests.of(operation, mountType, String(status)).observe(seconds);
  }

  auditWritten(deviceType: string, result: "ok" | "failed", seconds: number): void {
    this.#auditWrites.of(deviceType, result).observe(seconds);
  }

  programRan(kind: GoverningKind, seconds: number): void {
    this.#programs.of(kind).observe(seconds);
  }

  policyFailed(
    policy: { readonly kind: string; readonly namespaceId: string; readonly name: string },
    level: EnforcementLevel,
  ): void {
    this.#policyFailures.of(policy.kind, level).add();
    if (level === "advisory") {
      this.#wouldDeny.add(policy.kind, policy.namespaceId, policy.name);
    }
  }

  leaseRevoked(result: "ok" | "failed" | "throttled" | "forced"): void {
    this.#revocations.of(result).add();
  }

  /** To be kept by whoever measures: looking it up costs more than counting. */
  storageOp(op: "get" | "scan" | "commit"): Histogram {
    return this.#storageOps.of(op);
  }
}

function readNode(registry: Registry, sources: InstrumentSources): void {
  const states = { unsealed: 0, sealed: 1, uninitialised: 2 };
  registry.readsEach(
    { name: "holdfast_info", help: "Version of the server." },
    "gauge",
    [{ name: "version", values: [sources.version] }],
    () => [{ at: [sources.version], value: 1 }],
  );
  registry.reads(
    { name: "holdfast_seal_state", help: "0 unsealed, 1 sealed, 2 not initialised." },
    "gauge",
    () => states[sources.sealState()],
  );
  registry.reads(
    { name: "holdfast_requests_in_flight", help: "Requests that are being answered." },
    "gauge",
    () => sources.requestsInFlight(),
  );
  registry.readsEach(
    {
      name: "holdfast_storage_index",
      help: "Index of a write: the last, the oldest in the log, the last for each kind of secondary.",
    },
    "gauge",
    [INDEX_KIND],
    () => {
      const indexes = sources.storageIndexes();
      if (indexes === null) return [];
      const { last, oldest, lastDr = null, lastShared = null } = indexes;
      const known: [string, bigint | null][] = [
        ["last", last],
        ["oldest", oldest],
        ["last_dr", lastDr],
        ["last_performance", lastShared],
      ];
      return known.flatMap(([kind, index]) =>
        index === null ? [] : [{ at: [kind] as const, value: Number(index) }],
      );
    },
  );
  registry.reads(
    {
      name: "holdfast_audit_devices_healthy",
      help: "Audit devices that take records; 0 with devices enabled refuses every request.",
    },
    "gauge",
    () => sources.auditDevicesHealthy(),
  );
}

function readLeases(registry: Registry, { leases, orphans }: InstrumentSources): void {
  if (leases !== undefined) {
    registry.readsEach(
      { name: "holdfast_leases", help: "Leases that are stored." },
      "gauge",
      [LEASE_STATE],
      () => {
        const counts = leases();
        if (counts === null) return [];
        const { irrevocable } = counts;
        return [
          { at: ["live"], value: counts.leases - irrevocable },
          { at: ["irrevocable"], value: irrevocable },
        ];
      },
    );
  }
  if (orphans === undefined) return;
  registry.readsNamed(
    { name: "holdfast_engine_orphans", help: "Things made outside that cannot be removed." },
    "mount",
    MAX_MOUNTS,
    () => orphans().map(({ accessor, count }) => ({ at: accessor, value: count })),
  );
}

function readAttention(registry: Registry, { attention }: InstrumentSources): void {
  if (attention === undefined) return;
  registry.readsPairs(
    { name: "holdfast_attention", help: "What needs attention, and was not put off." },
    ["code", "severity"],
    () => attention().map(({ code, severity, count }) => ({ at: [code, severity], value: count })),
  );
}

function readBarrier(registry: Registry, sources: InstrumentSources): void {
  registry.reads(
    { name: "holdfast_barrier_encryptions", help: "Entries sealed with the newest data key." },
    "gauge",
    () => sources.barrierEncryptions(),
  );
  registry.reads(
    { name: "holdfast_barrier_integrity_errors", help: "Stored entries that did not open." },
    "counter",
    () => sources.barrierIntegrityErrors(),
  );
  const { barrierOps, recordsHealed } = sources;
  if (recordsHealed !== undefined) {
    registry.reads(
      {
        name: "holdfast_replication_records_healed_total",
        help: "Damaged records that were healed from another cluster.",
      },
      "counter",
      () => recordsHealed(),
    );
  }
  if (barrierOps === undefined) return;
  registry.readsEach(
    { name: "holdfast_barrier_ops_total", help: "Entries sealed, opened, and found opened." },
    "counter",
    [BARRIER_OP],
    () => Object.entries(barrierOps()).map(([op, value]) => ({ at: [op], value })),
  );
}

function readTokens(registry: Registry, sources: InstrumentSources): void {
  const { tokenCounts } = sources;
  if (tokenCounts === undefined) return;
  registry.readsEach(
    { name: "holdfast_token_count", help: "Tokens that are stored." },
    "gauge",
    [TOKEN_TYPE, TOKEN_SCOPE],
    () => tokenCounts().map(({ type, scope, count }) => ({ at: [type, scope], value: count })),
  );
}

function readSnapshots(registry: Registry, sources: InstrumentSources): void {
  const { snapshots, automatedSnapshots = () => null } = sources;
  if (snapshots === undefined) return;
  // What was made before the last start is remembered of automated ones.
  const known = (): readonly SnapshotReading[] => {
    const readings = snapshots();
    if (readings.some(({ kind }) => kind === "automated")) return readings;
    if ((automatedSnapshots()?.lastSuccess ?? null) === null) return readings;
    const none = { lastSuccess: null, seconds: null, bytes: null, errors: 0 };
    return [...readings, { kind: "automated", ...none }];
  };
  const each = (
    name: string,
    help: string,
    kind: "gauge" | "counter",
    pick: (reading: SnapshotReading) => number | null,
  ) =>
    registry.readsEach({ name, help }, kind, [SNAPSHOT_KIND], () =>
      known().flatMap((reading) => {
        const value = pick(reading);
        return value === null ? [] : [{ at: [reading.kind] as const, value }];
      }),
    );
  each(
    "holdfast_snapshot_last_success_timestamp_seconds",
    "When a snapshot was last made.",
    "gauge",
    ({ kind, lastSuccess }) =>
      lastSuccess ?? (kind === "automated" ? (automatedSnapshots()?.lastSuccess ?? null) : null),
  );
  each(
    "holdfast_snapshot_duration_seconds",
    "Time that the last snapshot took.",
    "gauge",
    (reading) => reading.seconds,
  );
  each(
    "holdfast_snapshot_size_bytes",
    "Size of the last snapshot.",
    "gauge",
    (reading) => reading.bytes,
  );
  each(
    "holdfast_snapshot_errors_total",
    "Snapshots that could not be made.",
    "counter",
    (reading) => reading.errors,
  );
  registry.reads(
    {
      name: "holdfast_snapshot_space_used_ratio",
      help: "How full the fullest allowance of local snapshots is.",
    },
    "gauge",
    () => automatedSnapshots()?.spaceUsed ?? null,
  );
  registry.reads(
    {
      name: "holdfast_snapshot_failing_configurations",
      help: "Configurations of automated snapshots whose last attempt failed.",
    },
    "gauge",
    () => automatedSnapshots()?.failing ?? null,
  );
}

function readDrills(registry: Registry, { drills }: InstrumentSources): void {
  if (drills === undefined) return;
  const gauge = (name: string, help: string, pick: (reading: DrillReading) => number | null) =>
    registry.reads({ name, help }, "gauge", () => {
      const reading = drills();
      return reading === null ? null : pick(reading);
    });
  gauge(
    "holdfast_snapshot_drill_last_proven_timestamp_seconds",
    "When a stored snapshot was last proven to restore.",
    ({ lastProven }) => lastProven,
  );
  gauge(
    "holdfast_snapshot_drill_duration_seconds",
    "Time that the last drill took.",
    ({ seconds }) => seconds,
  );
  gauge(
    "holdfast_snapshot_drill_failing_configurations",
    "Configurations of automated snapshots whose last drill has proven nothing.",
    ({ failing }) => failing,
  );
  registry.readsEach(
    { name: "holdfast_snapshot_drills_total", help: "Drills of stored snapshots." },
    "counter",
    [DRILL_RESULT],
    () => drills()?.counts.map(({ result, count }) => ({ at: [result], value: count })) ?? [],
  );
}

interface ProcessReading extends RuntimeReading {
  readonly startSeconds: number;
  readonly descriptors: number | null;
}

function readRuntime(registry: Registry, sources: InstrumentSources): void {
  type Read = (reading: ProcessReading) => number | null;
  const gauge = (name: string, help: string, pick: Read) =>
    ({ name, help, kind: "gauge", pick }) as const;
  const counter = (name: string, help: string, pick: Read) =>
    ({ name, help, kind: "counter", pick }) as const;
  const lag = (which: keyof LoopDelay, help: string) =>
    gauge(`nodejs_eventloop_lag_${which}_seconds`, help, ({ loopDelay }) => {
      return loopDelay === null ? null : loopDelay[which];
    });
  registry.readsTogether<ProcessReading>(
    [
      counter("process_cpu_user_seconds_total", "Processor time, user.", (r) => r.cpuUser),
      counter("process_cpu_system_seconds_total", "Processor time, system.", (r) => r.cpuSystem),
      counter("process_cpu_seconds_total", "Processor time.", (r) => r.cpuUser + r.cpuSystem),
      gauge("process_start_time_seconds", "When it started.", (r) => r.startSeconds),
      gauge("process_resident_memory_bytes", "Resident memory.", (r) => r.residentBytes),
      gauge("process_open_fds", "File descriptors in use.", (r) => r.descriptors),
      gauge("nodejs_heap_size_used_bytes", "Heap in use.", (r) => r.heapUsedBytes),
      gauge("nodejs_heap_size_total_bytes", "Heap reserved.", (r) => r.heapTotalBytes),
      gauge("nodejs_heap_size_limit_bytes", "Heap at most.", (r) => r.heapLimitBytes),
      gauge("nodejs_external_memory_bytes", "Memory beside the heap.", (r) => r.externalBytes),
      gauge("nodejs_array_buffer_bytes", "Memory of buffers.", (r) => r.arrayBufferBytes),
      gauge("nodejs_active_resources", "What keeps the loop going.", (r) => r.activeResources),
      gauge("nodejs_eventloop_utilization", "Busy share of time.", (r) => r.loopUtilization),
      lag("mean", "Mean delay since the last scrape."),
      lag("p50", "Median delay since the last scrape."),
      lag("p99", "99th percentile of the delay since the last scrape."),
      lag("max", "Longest delay since the last scrape."),
    ],
    () => {
      const reading = sources.runtime();
      return {
        ...reading,
        startSeconds: Number(sources.clock.now()) / 1e9 - reading.uptimeSeconds,
        descriptors: sources.openDescriptors?.() ?? null,
      };
    },
  );
}
