// JSON in bytes that anybody may have written: read before anything of it is proven.

import { text } from "@holdfast/shared/bytes";
import type { JsonValue } from "@holdfast/shared/json/json";

/** Undefined for what is none. */
export function unprovenJson(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(text(bytes)) as JsonValue;
  } catch {
    return undefined;
  }
}
