// Answers in JSON, of which a few members are read.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";

/** Null where it is no object. */
export function readAnswer(text: string): JsonObject | null {
  try {
    const found = JSON.parse(text) as JsonValue;
    return isObject(found) ? found : null;
  } catch {
    return null;
  }
}

/** A text at a path of members; empty where there is none. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = at(value, path);
  return typeof found === "string" ? found : "";
}

/** A whole number at a path of members, also where it is written as text; null where there is none. */
export function numberAt(value: JsonValue | undefined, ...path: readonly string[]): number | null {
  const found = at(value, path);
  const number = typeof found === "string" && /^\d{1,15}$/.test(found) ? Number(found) : found;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

export function listAt(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const found = at(value, [name]);
  return Array.isArray(found) ? (found as readonly JsonValue[]) : [];
}

function at(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const name of path) {
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}
