// How metrics are written down: the text format of Prometheus (0.0.4), and JSON that says the same.

import type { JsonObject } from "./json/json.ts";

export type Labels = readonly (readonly [name: string, value: string])[];

export interface Distribution {
  readonly bounds: readonly number[];
  /** How many were at or below each bound, and how many in all. */
  readonly cumulative: readonly number[];
  readonly sum: number;
}

/** What one series has to tell at this moment. */
export type Series =
  | { readonly labels: Labels; readonly value: number }
  | { readonly labels: Labels; readonly histogram: Distribution };

/** The content type that goes with the text format. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function writeSeries(lines: string[], name: string, series: Series): void {
  if ("value" in series) {
    lines.push(`${name}${braces(series.labels)} ${show(series.value)}`);
    return;
  }
  const { labels, histogram } = series;
  const counts = histogram.cumulative;
  for (const [at, count] of counts.entries()) {
    const bound = show(histogram.bounds[at] ?? Infinity);
    lines.push(`${name}_bucket${braces([...labels, ["le", bound]])} ${count}`);
  }
  lines.push(`${name}_sum${braces(labels)} ${show(histogram.sum)}`);
  lines.push(`${name}_count${braces(labels)} ${counts.at(-1) ?? 0}`);
}

function braces(labels: Labels): string {
  if (labels.length === 0) return "";
  return `{${labels.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(",")}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function show(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

export function jsonSeries(series: Series): JsonObject {
  const labels = Object.fromEntries(series.labels);
  if ("value" in series) {
    return { labels, value: Number.isFinite(series.value) ? series.value : null };
  }
  const { histogram } = series;
  const counts = histogram.cumulative;
  const buckets = histogram.bounds.map((le, at) => ({ le, count: counts[at]! }));
  return { labels, count: counts.at(-1) ?? 0, sum: histogram.sum, buckets };
}
