// Older names of types of engines, for existing clients, and what each of them stands for.

import type { JsonObject } from "@holdfast/shared/json/json";
import { isObject } from "@holdfast/shared/json/json";
import type { TypeAlias } from "../ports.ts";

export const TYPE_ALIASES: ReadonlyMap<string, TypeAlias> = new Map([
  ["kv-v1", { type: "kv", options: { version: "1" } }],
  ["kv-v2", { type: "kv", options: { version: "2" } }],
  ["generic", { type: "kv", options: { version: "1" } }],
  ["aws", { type: "clouda", options: {} }],
  ["azure", { type: "cloudb", options: {} }],
]);

/** A request to mount a type by an older name, as it would be with the present one. */
export function withPresentType(data: JsonObject): JsonObject {
  const { type, options } = asPlugin(data);
  if (type !== data["type"]) return withPresentType({ ...data, type: type ?? "" });
  const alias = typeof type === "string" ? TYPE_ALIASES.get(type) : undefined;
  if (alias === undefined) return data;
  if (Object.keys(alias.options).length === 0) return { ...data, type: alias.type };
  const before = options !== undefined && isObject(options) ? options : {};
  return { ...data, type: alias.type, options: { ...before, ...alias.options } };
}

/** Older clients name a plugin beside its type. */
function asPlugin(data: JsonObject): JsonObject {
  const { type, plugin_name: name, config } = data;
  if (type !== "plugin") return data;
  const inside = config !== undefined && isObject(config) ? config["plugin_name"] : undefined;
  const named = name ?? inside;
  return typeof named === "string" && named !== "plugin" ? { ...data, type: named } : data;
}
