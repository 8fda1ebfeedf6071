// What the server's configuration says to an engine of a cloud.

import type { JsonObject } from "@holdfast/shared/json/json";

const DEFAULT_PREFIX = "service-";

/** What names of things made outside begin with. */
export function namePrefix({ name_prefix: prefix }: JsonObject): string {
  return typeof prefix === "string" ? prefix : DEFAULT_PREFIX;
}

/** Whether spellings of existing clients are accepted too. Default true. */
export function isCompatible({ compat }: JsonObject): boolean {
  return compat !== false;
}
