// One value of an answer as people read it.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { rawText } from "@holdfast/client/exact-json";

export const NONE = "<none>";

export function showValue(value: JsonValue | undefined): string {
  if (value === undefined || value === null || value === "") return NONE;
  if (typeof value === "string") return value;
  const digits = rawText(value);
  if (digits !== undefined) return digits;
  if (Array.isArray(value)) {
    if (value.length === 0) return NONE;
    const plain = value.every((one) => typeof one !== "object");
    return plain ? `[${value.map(String).join(" ")}]` : JSON.stringify(value);
  }
  if (isObject(value)) return Object.keys(value).length === 0 ? NONE : JSON.stringify(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Down a path of member names; undefined when it leads nowhere. A name with dots in it wins. */
export function memberOf(data: JsonValue | undefined, path: string): JsonValue | undefined {
  if (!isObject(data)) return undefined;
  if (Object.hasOwn(data, path)) return data[path];
  const at = path.indexOf(".");
  if (at < 0) return undefined;
  const head = path.slice(0, at);
  return Object.hasOwn(data, head) ? memberOf(data[head], path.slice(at + 1)) : undefined;
}
