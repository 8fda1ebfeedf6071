// What operators note about a namespace: short texts by name. Small, because a list of namespaces
// carries them all.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import * as failures from "./failures.ts";
import type { Metadata } from "./record.ts";

export const METADATA_LIMITS = { max: 64, maxKey: 128, maxValue: 512 };
const MAX_BYTES = 8192;
const ESCAPED = 6; // bytes of a character in JSON at most, and of what is around a name and its value

const ACCEPTED =
  `an object of strings: at most ${METADATA_LIMITS.max} members, names of 1 to ` +
  `${METADATA_LIMITS.maxKey} and values of up to ${METADATA_LIMITS.maxValue} characters, ` +
  `${MAX_BYTES} bytes in all`;

/** A merge patch (RFC 7396): null in place of a text removes it, in place of all removes all. */
export type MetadataPatch = Readonly<Record<string, string | null>> | null;

export function checkMetadata(metadata: Metadata): Metadata {
  const entries = Object.entries(metadata);
  let atMost = 2;
  for (const [name, value] of entries) atMost += (name.length + value.length + 1) * ESCAPED;
  const fits =
    entries.length <= METADATA_LIMITS.max &&
    entries.every(
      ([name, value]) =>
        name.length >= 1 &&
        name.length <= METADATA_LIMITS.maxKey &&
        value.length <= METADATA_LIMITS.maxValue,
    ) &&
    (atMost <= MAX_BYTES || Buffer.byteLength(JSON.stringify(metadata)) <= MAX_BYTES);
  if (!fits) throw failures.metadataRefused(ACCEPTED);
  return metadata;
}

export function readPatch(input: JsonValue): MetadataPatch {
  if (input === null) return null;
  if (!isObject(input)) throw failures.metadataRefused(ACCEPTED);
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (typeof value !== "string" && value !== null) throw failures.metadataRefused(ACCEPTED);
      return [name, value];
    }),
  );
}

export function patched(metadata: Metadata, patch: MetadataPatch): Metadata {
  if (patch === null) return {};
  const merged = new Map(Object.entries(metadata));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  return checkMetadata(Object.fromEntries(merged));
}
