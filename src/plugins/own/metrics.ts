// What a plugin says that it counts: looked at before a number of it is anywhere.

import { utf8 } from "@holdfast/shared/bytes";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { readJson } from "@holdfast/shared/json/json-reader";
import type {
  LabelWords,
  MetricDeclaration,
  MetricDeclarations,
} from "@holdfast/plugin-sdk/metrics";
import { declarationRefused } from "./failures.ts";

const MAX_METRICS = 50;
const MAX_LABELS = 5;
const MAX_WORDS = 50;
const MAX_BUCKETS = 30;
const MAX_HELP = 256;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

export function declaredMetrics(plugin: string, text: string): MetricDeclarations {
  const refuse = () => declarationRefused(plugin, "what it declares to count cannot be counted");
  if (text === "") return {};
  let said: JsonObject;
  try {
    said = readJson(utf8(text));
  } catch {
    throw refuse();
  }
  const entries = Object.entries(said);
  if (entries.length > MAX_METRICS) throw refuse();
  return Object.fromEntries(
    entries.map(([name, one]) => {
      const declared = NAME.test(name) && isObject(one) ? declarationOf(one) : null;
      if (declared === null) throw refuse();
      return [name, declared];
    }),
  );
}

function declarationOf({ kind, help, labels, buckets }: JsonObject): MetricDeclaration | null {
  if (typeof help !== "string" || help.length > MAX_HELP) return null;
  if (kind === "age") return { kind, help };
  const words = labels === undefined ? undefined : isObject(labels) ? labelsOf(labels) : null;
  if (words === null || (kind !== "counter" && kind !== "histogram")) return null;
  const labelled = words === undefined ? {} : { labels: words };
  if (kind === "counter" || buckets === undefined) return { kind, help, ...labelled };
  const bounds = Array.isArray(buckets) ? buckets.filter((one) => typeof one === "number") : [];
  const isAscending = bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!);
  if (bounds.length === 0 || bounds.length > MAX_BUCKETS || !isAscending) return null;
  return { kind, help, ...labelled, buckets: bounds };
}

function labelsOf(labels: JsonObject): LabelWords | null {
  const found: Record<string, readonly string[]> = {};
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS) return null;
  for (const [name, words] of entries) {
    if (!NAME.test(name) || !Array.isArray(words) || words.length > MAX_WORDS) return null;
    const texts = words.filter((word) => typeof word === "string" && word.length <= 64);
    if (texts.length < words.length) return null;
    found[name] = texts as string[];
  }
  return found;
}
