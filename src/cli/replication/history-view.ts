// How far behind secondaries were in the last hour, in five-minute steps. Pure.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { MILLISECOND, SECOND, showDuration } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { View } from "../terminal/output.ts";
import { showValue } from "../terminal/value.ts";

const STEP = 300; // seconds

/** The worst of each step, the oldest first. */
export function historyView(status: JsonObject): View {
  const members = Array.isArray(status["secondaries"]) ? status["secondaries"] : [];
  const own = typeof status["secondary_id"] === "string" ? status["secondary_id"] : "";
  const rows =
    status["mode"] === "primary"
      ? members.flatMap((one) =>
          isObject(one) ? rowsOf(showValue(one["node_id"] ?? ""), one) : [],
        )
      : rowsOf(own, status);
  return { columns: ["Secondary", "From", "Most Entries Behind", "Longest"], rows };
}

function rowsOf(id: string, peer: JsonObject): JsonValue[][] {
  const { lag_history: history } = peer;
  if (!isObject(history)) return [];
  const [times, entries, millis] = ["times", "wal_lag", "lag_ms"].map((name) =>
    numbersIn(history[name]),
  );
  const steps = new Map<number, { entries: number; millis: number }>();
  for (const [i, time] of (times ?? []).entries()) {
    const from = Math.floor(time / STEP) * STEP;
    const step = steps.get(from) ?? { entries: 0, millis: 0 };
    steps.set(from, {
      entries: Math.max(step.entries, entries?.[i] ?? 0),
      millis: Math.max(step.millis, millis?.[i] ?? 0),
    });
  }
  return Array.from(steps, ([from, worst]) => [
    id,
    showTime(BigInt(from) * SECOND),
    worst.entries,
    showDuration(BigInt(worst.millis) * MILLISECOND),
  ]);
}

/** What is not known counts as 0. */
function numbersIn(value: JsonValue | undefined): number[] {
  return Array.isArray(value) ? value.map((one) => (typeof one === "number" ? one : 0)) : [];
}
