// What is different between two lists of tokens, or two readings of one.

import type { JsonObject } from "@holdfast/shared/json/json";
import { shown } from "./terminal/value.ts";

export interface TokenChange {
  /** Of a list with a filter: it matches now, is another, matches no more. */
  readonly change: "added" | "changed" | "removed";
  /** As it is now; of a removed one as it was. */
  readonly token: JsonObject;
}

export function changesBetween(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
): TokenChange[] {
  const known = byAccessor(before);
  const present = byAccessor(after);
  const changes: TokenChange[] = [];
  for (const [accessor, token] of known) {
    if (!present.has(accessor)) changes.push({ change: "removed", token });
  }
  for (const [accessor, token] of present) {
    const old = known.get(accessor);
    if (old === undefined) changes.push({ change: "added", token });
    else if (versionOf(old) !== versionOf(token)) changes.push({ change: "changed", token });
  }
  return changes;
}

function byAccessor(tokens: readonly JsonObject[]): Map<string, JsonObject> {
  return new Map(tokens.map((token) => [shown(token["AccessorID"]), token]));
}

/** A token that was deleted and uploaded again has the same accessor, but other indexes. */
function versionOf({ CreateIndex, ModifyIndex }: JsonObject): string {
  return `${shown(CreateIndex)} ${shown(ModifyIndex)}`;
}
