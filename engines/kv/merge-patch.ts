// Merge patches (RFC 7396): null takes a member away, objects are merged, everything else replaces.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";

/** The recursion is as deep as a body may be. */
export function mergePatch(before: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, JsonValue | undefined> = { ...before };
  for (const [name, change] of Object.entries(patch)) {
    if (change === null || change === undefined) {
      delete merged[name];
    } else if (isObject(change)) {
      const found = Object.hasOwn(before, name) ? before[name] : undefined;
      merged[name] = mergePatch(isObject(found) ? found : {}, change);
    } else {
      merged[name] = change;
    }
  }
  return merged;
}
