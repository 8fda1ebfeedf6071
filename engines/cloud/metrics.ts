// What engines of clouds count: calls to providers, what they hand out, rotations. By words of ours; a role
// or a user never becomes a label.

import type { EngineMetrics, MetricDeclarations } from "@holdfast/plugin-sdk/metrics";

export type CallResult = "ok" | "refused" | "throttled" | "failed";

const CALLS = "cloud_call_seconds";
const THROTTLED = "cloud_throttled_total";
const ISSUED = "creds_issued_total";
const ROTATIONS = "static_role_rotations_total";
const ROOT_AGE = "root_rotation_age_seconds";

const RESULTS: readonly CallResult[] = ["ok", "refused", "throttled", "failed"];
// A provider far away takes tens of milliseconds, a slow one many seconds.
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** `actions` are the provider's names of its calls, `credentials` the kinds that are handed out. */
export function cloudMetrics(
  actions: readonly string[],
  credentials: readonly string[],
): MetricDeclarations {
  return {
    [CALLS]: {
      kind: "histogram",
      help: "Time of one call to a provider.",
      labels: { action: actions, result: RESULTS },
      buckets: BUCKETS,
    },
    [THROTTLED]: { kind: "counter", help: "Calls that a provider has put off." },
    ...sharedMetrics(credentials),
    [ROOT_AGE]: { kind: "age", help: "Time since the root credential of a mount was rotated." },
  };
}

/** Those that are not of clouds alone. */
export function sharedMetrics(credentials: readonly string[]): MetricDeclarations {
  return {
    [ISSUED]: {
      kind: "counter",
      help: "Credentials of providers that were handed out.",
      labels: { type: credentials },
    },
    [ROTATIONS]: {
      kind: "counter",
      help: "Rotations of static roles.",
      labels: { result: ["ok", "failed"] },
    },
  };
}

export function countCall(
  metrics: EngineMetrics,
  action: string,
  result: CallResult,
  seconds: number,
): void {
  metrics.observe(CALLS, seconds, { action, result });
  if (result === "throttled") metrics.count(THROTTLED);
}

export function countIssued(metrics: EngineMetrics, type: string): void {
  metrics.count(ISSUED, { type });
}

export function countRotation(metrics: EngineMetrics, result: "ok" | "failed"): void {
  metrics.count(ROTATIONS, { result });
}

/** When the root credential was rotated last, in seconds since 1970; null: not known. */
export function showRootRotated(metrics: EngineMetrics, at: number | null): void {
  metrics.since(ROOT_AGE, at);
}
