// What a reload cannot take over: settings that differ between two configurations and whose
// declaration says that they take effect at the start.

import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Config } from "./config.ts";
import type { Blocks, Fields } from "./schema.ts";
import { SETTINGS } from "./settings.ts";

/** Names such as `listener.address`, each once. Hidden values are not compared: they cannot be seen. */
export function needRestart(before: Config, after: Config): string[] {
  return [...new Set(changed(SETTINGS, before.effective, after.effective, ""))];
}

function changed(fields: Fields, before: JsonObject, after: JsonObject, prefix: string): string[] {
  return Object.entries(fields).flatMap(([key, entry]) => {
    const [a, b] = [before[key], after[key]];
    const name = `${prefix}${key}`;
    if (entry.kind === "absent" || isDeepStrictEqual(a, b)) return [];
    if (entry.kind === "field") return entry.reloads ? [] : [name];
    if (entry.kind === "section")
      return changed(entry.fields, objectOf(a), objectOf(b), `${name}.`);
    const [olds, news] = [listOf(a), listOf(b)];
    // Devices and plugins of the configuration are reconciled one by one.
    if (entry.repeat === "name" || everythingReloads(entry)) return [];
    if (olds.length !== news.length) return [name];
    return olds.flatMap((one, at) => {
      const other = objectOf(news[at]);
      const type = other["type"];
      const kind = typeof type === "string" ? entry.kinds[type] : undefined;
      if (objectOf(one)["type"] !== type || kind?.kind !== "section") return [name];
      return changed(kind.fields, objectOf(one), other, `${name}.`);
    });
  });
}

function everythingReloads({ kinds }: Blocks): boolean {
  return Object.values(kinds).every(
    (kind) =>
      kind.kind === "section" &&
      Object.values(kind.fields).every(
        (field) => field.kind === "absent" || (field.kind === "field" && field.reloads),
      ),
  );
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
