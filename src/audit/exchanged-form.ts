// Whether bytes that lay in clear are the end of a chain, in the form that devices go on from.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { unprovenJson } from "../signed/unproven-json.ts";

/** Of what no device wrote, however it is signed, nothing may keep a device from opening. */
export function isExchangedChain(value: Uint8Array): boolean {
  const found = unprovenJson(value);
  if (!isObject(found)) return false;
  const { head, key, file, checkpoint, uncovered } = found;
  return (
    has(head, ["number"], ["mac"]) &&
    typeof key === "string" &&
    typeof file === "string" &&
    (checkpoint === null || has(checkpoint, ["number", "last"], ["digest"])) &&
    (uncovered === null || has(uncovered, ["before", "bytes"], ["digest"]))
  );
}

function has(
  value: JsonValue | undefined,
  counts: readonly string[],
  texts: readonly string[],
): boolean {
  if (!isObject(value)) return false;
  return (
    counts.every((name) => Number.isSafeInteger(value[name]) && Number(value[name]) >= 0) &&
    texts.every((name) => typeof value[name] === "string")
  );
}
