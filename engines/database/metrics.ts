// What this engine counts: calls to plugins, what it hands out, rotations. By words of ours.

import { DatabaseError } from "@holdfast/plugin-sdk/database";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { MetricDeclarations } from "@holdfast/plugin-sdk/metrics";
import { sharedMetrics } from "../cloud/metrics.ts";
import { CREDENTIAL_TYPES } from "@holdfast/plugin-sdk/database";

const CALLS = "database_call_seconds";
const ACTIONS = ["Initialize", "NewUser", "UpdateUser", "DeleteUser", "Type"];
const RESULTS = ["ok", "refused", "failed"];
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const databaseMetrics: MetricDeclarations = {
  [CALLS]: {
    kind: "histogram",
    help: "Time of one call to a database plugin.",
    labels: { action: ACTIONS, result: RESULTS },
    buckets: BUCKETS,
  },
  ...sharedMetrics(CREDENTIAL_TYPES),
};

export async function countCall<T>(
  { clock, metrics }: Pick<EngineNeeds, "clock" | "metrics">,
  action: string,
  run: () => Promise<T>,
): Promise<T> {
  const began = clock.elapsed();
  const count = (result: string) =>
    metrics.observe(CALLS, Number(clock.elapsed() - began) / 1e9, { action, result });
  try {
    const found = await run();
    count("ok");
    return found;
  } catch (error) {
    const isAnswer = error instanceof DatabaseError && error.fate === "answered";
    count(isAnswer && error.reason !== "unreachable" ? "refused" : "failed");
    throw error;
  }
}
