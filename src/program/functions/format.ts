// `format()` of the `strings` extension: `"%s is %d".format(["a", 1])`.

import { MAX_TEXT } from "../limits.ts";
import type { Meter } from "../running/meter.ts";
import {
  Duration,
  List,
  Timestamp,
  TypeName,
  Uint,
  type Value,
  ValueMap,
} from "../running/values.ts";
import { grown, isText, type Native, notComputed, textTooLong } from "./native.ts";
import { lengthText, timeText } from "./times.ts";

const UNITS_PER_WRITTEN = 24;
/** A formatter is made for each fraction. */
const UNITS_PER_FRACTION = 4096;
const CLAUSE = /%(?:%|(?:\.([0-9]*))?([\s\S]?))/g;
const USUAL_DIGITS = 6;
const MAX_DIGITS = 100;
const UTF8 = new TextEncoder();

/** Measured before it is written: each argument is used once, so their sum bounds the text. */
export const format: Native = (meter, text, list) => {
  if (!isText(text) || !(list instanceof List)) return undefined;
  const length = grown(text).length + lengthOfList(list, meter);
  if (length > MAX_TEXT) throw textTooLong();
  const fractions = text.match(/%[.0-9]*[feFE]/g)?.length ?? 0;
  meter.charge(length / 4 + 64 * list.size + UNITS_PER_FRACTION * fractions);
  let used = 0;
  const out = text.replace(CLAUSE, (all: string, digits: string | undefined, verb?: string) => {
    if (all === "%%") return "%";
    const value = list.get(used);
    used += 1;
    if (value === undefined || verb === undefined) throw notComputed("format");
    return written(verb, value, digits === undefined ? USUAL_DIGITS : Number(digits));
  });
  if (used < list.size) throw notComputed("format");
  return grown(out);
};

function written(verb: string, value: Value, digits: number): string {
  if (verb === "s") return plain(value);
  if (verb === "d") return typeof value === "number" ? nonFinite(value) : inBase(value, 10);
  if (verb === "x") return hexadecimal(value);
  if (verb === "X") return hexadecimal(value).toUpperCase();
  if (verb === "o") return inBase(value, 8);
  if (verb === "b") return typeof value === "boolean" ? `${Number(value)}` : inBase(value, 2);
  if (verb !== "f" && verb !== "e") throw notComputed("format");
  const number = fraction(value);
  if (digits > MAX_DIGITS) throw notComputed("format");
  if (!Number.isFinite(number)) return `${number}`;
  return verb === "f" ? fixed(number, digits) : exponential(number, digits);
}

function plain(value: Value): string {
  if (value === null || typeof value !== "object") return `${value}`;
  if (value instanceof Uint) return `${value.value}`;
  if (value instanceof TypeName) return value.name;
  if (value instanceof Timestamp) return timeText(value);
  if (value instanceof Duration) return lengthText(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof List) return `[${elementsOf(value).map(plain).join(", ")}]`;
  const members = value
    .keys()
    .map((key) => ({ key: plain(key), value: plain(memberOf(value, key)) }));
  const sorted = members.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return `{${sorted.map((member) => `${member.key}: ${member.value}`).join(", ")}}`;
}

function elementsOf(list: List): Value[] {
  return Array.from({ length: list.size }, (_, i) => list.get(i) ?? null);
}

function memberOf(map: ValueMap, key: Value): Value {
  return map.get(key) ?? null;
}

function inBase(value: Value, base: number): string {
  if (value instanceof Uint) return value.value.toString(base);
  if (typeof value !== "bigint") throw notComputed("format");
  return value.toString(base);
}

function hexadecimal(value: Value): string {
  if (isText(value)) return hexOf(UTF8.encode(value));
  return value instanceof Uint8Array ? hexOf(value) : inBase(value, 16);
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What is no number can also be given by its name. */
function fraction(value: Value): number {
  if (typeof value === "number") return value;
  if (isText(value) && /^(?:-?Infinity|NaN)$/.test(value)) return Number(value);
  throw notComputed("format");
}

function nonFinite(value: number): string {
  if (Number.isFinite(value)) throw notComputed("format");
  return `${value}`;
}

function fixed(value: number, digits: number): string {
  return new Intl.NumberFormat("en-US", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
    roundingMode: "halfEven",
    useGrouping: false,
  }).format(value);
}

/** The exponent has two digits at least. */
function exponential(value: number, digits: number): string {
  return value.toExponential(digits).replace(/(e[+-])(\d)$/, "$10$2");
}

function writtenLength(value: Value, meter: Meter): number {
  meter.charge(UNITS_PER_WRITTEN);
  if (isText(value)) return value.length;
  if (value instanceof Uint8Array) return 2 * value.length;
  if (value instanceof List) return lengthOfList(value, meter);
  if (!(value instanceof ValueMap)) return 64; // a number in binary
  let sum = 2;
  for (const key of value.keys()) {
    sum += (isText(key) ? key.length : 64) + writtenLength(memberOf(value, key), meter) + 4;
    if (sum > MAX_TEXT) throw textTooLong();
  }
  return sum;
}

function lengthOfList(list: List, meter: Meter): number {
  let sum = 2;
  for (let i = 0; i < list.size; i += 1) {
    sum += writtenLength(list.get(i) ?? null, meter) + 2;
    if (sum > MAX_TEXT) throw textTooLong();
  }
  return sum;
}
