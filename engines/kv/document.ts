// What callers keep, as bytes: its JSON text. Numbers keep their spelling, which costs something to
// read, so that a version notes whether it has such numbers.

import { text, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { invariant, InvariantError } from "@holdfast/shared/invariant";
import { isObject, isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { parseExactly, writeExactly } from "@holdfast/shared/json/json-exact";

export interface Document {
  readonly bytes: Uint8Array;
  readonly exact: boolean;
}

export function documentOf(data: JsonObject): Document {
  const exact = hasOddNumber(data);
  return { bytes: utf8(exact ? writeExactly(data) : JSON.stringify(data)), exact };
}

export function dataOf({ bytes, exact }: Document): JsonObject {
  const source = text(bytes);
  const data = exact ? parseExactly(source) : (JSON.parse(source) as JsonValue);
  invariant(isObject(data), "what was stored as an object is one");
  return data;
}

const PLAIN = 0;
const ODD = 1;

/** A document in a row by itself: the first byte says how to read the rest. */
export const documentCodec: Codec<JsonObject> = {
  encode: (data) => {
    const { bytes, exact } = documentOf(data);
    const row = Buffer.alloc(1 + bytes.length);
    row[0] = exact ? ODD : PLAIN;
    row.set(bytes, 1);
    return row;
  },
  decode: (row) => dataOf({ bytes: row.subarray(1), exact: row[0] === ODD }),
};

/** Only whether there is one. */
export const presentCodec: Codec<true> = {
  encode: () => {
    throw new InvariantError("a glance at a record is not written");
  },
  decode: () => true,
};

/** The recursion is as deep as a body may be. */
function hasOddNumber(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (isRawNumber(value)) return true;
  if (Array.isArray(value)) return value.some(hasOddNumber);
  return Object.values(value).some(hasOddNumber);
}
