// What a file of evidence may hold: envelopes and lists of keys, one or many, as the server answers them, as this
// program prints them, or a line each.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { type OpenEnvelope, openEnvelope } from "./envelope.ts";

export interface EvidenceFile {
  readonly envelopes: readonly OpenEnvelope[];
  /** Lists of keys, as they came. */
  readonly keyLists: readonly JsonValue[];
  /** What is neither, a line each. */
  readonly problems: readonly string[];
}

export function readEvidenceFile(text: string): EvidenceFile {
  const envelopes: OpenEnvelope[] = [];
  const keyLists: JsonValue[] = [];
  const problems: string[] = [];
  for (const [where, value] of valuesOf(text)) {
    if (value === undefined) problems.push(`${where} is not JSON`);
    else if (!collect(value, envelopes, keyLists)) {
      problems.push(`${where} is neither evidence nor a list of keys`);
    }
  }
  if (problems.length === 0 && envelopes.length + keyLists.length === 0) {
    problems.push("it holds nothing");
  }
  return { envelopes, keyLists, problems };
}

type Found = readonly [where: string, value: JsonValue | undefined];

function valuesOf(text: string): Found[] {
  const whole = parsed(text);
  if (whole !== undefined) return [["it", whole]];
  const lines = text.split("\n").map((line, i): readonly [number, string] => [i + 1, line]);
  const written = lines.filter(([, line]) => line.trim() !== "");
  // Not a document, and not a line each either: one sentence about all of it.
  if (written.every(([, line]) => parsed(line) === undefined)) return [["it", undefined]];
  return written.map(([number, line]) => [`line ${number}`, parsed(line)]);
}

function collect(value: JsonValue, envelopes: OpenEnvelope[], keyLists: JsonValue[]): boolean {
  if (Array.isArray(value)) {
    return value.length > 0 && value.every((one: JsonValue) => collect(one, envelopes, keyLists));
  }
  if (!isObject(value)) return false;
  if (value["payloadType"] !== undefined) {
    const envelope = openEnvelope(value);
    if (envelope !== null) envelopes.push(envelope);
    return envelope !== null;
  }
  if (isObject(value["envelope"])) return collect(value["envelope"], envelopes, keyLists);
  if (isObject(value["data"])) return collect(value["data"], envelopes, keyLists);
  if (!Array.isArray(value["keys"]) || typeof value["fingerprint"] !== "string") return false;
  keyLists.push(value);
  return true;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
