// From what was found to every value there is: defaults fill the gaps. Also the same as plain JSON
// without secrets, for operators who ask the server what it runs with.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { showDuration } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import { type FoundBody, NOTHING } from "./merge.ts";
import type { Entry, Fields, Settled, Values } from "./schema.ts";

export function settle<F extends Fields>(fields: F, found: FoundBody): Settled<F> {
  const values = new Map<string, unknown>();
  for (const [key, entry] of Object.entries(fields)) {
    if (entry.kind !== "absent") values.set(key, settledEntry(key, entry, found));
  }
  return {
    // The type says of each field what its own read() or default gave: that is what was put in.
    values: Object.fromEntries(values) as Values<F>,
    place: (key) => found.values.get(key)?.place ?? null,
  };
}

function settledEntry(key: string, entry: Entry, found: FoundBody): unknown {
  if (entry.kind === "field") return found.values.get(key)?.value ?? entry.initial;
  if (entry.kind === "section") return settle(entry.fields, found.sections.get(key) ?? NOTHING);
  if (entry.kind === "absent") return undefined;
  return (found.blocks.get(key) ?? []).map(({ type, name, body, place }) => {
    const kind = entry.kinds[type];
    const fields = kind?.kind === "section" ? kind.fields : {};
    return { type, name, place, body: settle(fields, body) };
  });
}

const HIDDEN = "[hidden]";

/** What was given or holds by default, as it could be written in a file; nothing substituted. */
export function showSettings(fields: Fields, found: FoundBody): JsonObject {
  const visible = new Map<string, JsonValue>();
  for (const [key, entry] of Object.entries(fields)) {
    if (entry.kind === "field") {
      const setting = found.values.get(key);
      const value = setting?.value ?? entry.initial;
      if (value !== null) visible.set(key, setting?.hidden === true ? HIDDEN : showValue(value));
    } else if (entry.kind === "section") {
      const inner = showSettings(entry.fields, found.sections.get(key) ?? NOTHING);
      if (Object.keys(inner).length > 0) visible.set(key, inner);
    } else if (entry.kind === "blocks") {
      const blocks = (found.blocks.get(key) ?? []).map(({ type, name, body }) => {
        const kind = entry.kinds[type];
        const inner = kind?.kind === "section" ? showSettings(kind.fields, body) : {};
        return { type, ...(name === "" ? {} : { path: name }), ...inner };
      });
      visible.set(key, blocks);
    }
  }
  return Object.fromEntries(visible);
}

function showValue(value: unknown): JsonValue {
  if (value instanceof Secret) return HIDDEN;
  if (typeof value === "bigint") return showDuration(value);
  if (Array.isArray(value)) return value.map(showValue);
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, inner]) => [String(key), showValue(inner)]));
  }
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return null;
}
