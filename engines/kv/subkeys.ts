// The structure of a document without what it says: null in place of every value.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";

/** `depth` 0 goes all the way down; below the last level objects are values as well. */
export function subkeysOf(data: JsonObject, depth: number): JsonObject {
  const names: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(data)) {
    const deeper = isObject(value) && depth !== 1 && Object.keys(value).length > 0;
    names[name] = deeper ? subkeysOf(value, depth === 0 ? 0 : depth - 1) : null;
  }
  return names;
}
