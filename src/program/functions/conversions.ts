// From one type to another. A policy that reads a number from a request must not take rubbish for one:
// what is not written as such is an error.

import { parseDuration, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { parseTime } from "@holdfast/shared/text/time";
import { MAX_TEXT } from "../limits.ts";
import { Problem } from "../running/meter.ts";
import {
  Duration,
  MAX_INT,
  MIN_INT,
  Timestamp,
  TypeName,
  typeNameOf,
  Uint,
} from "../running/values.ts";
import { isInt, isText, type Native, type Natives, notComputed } from "./native.ts";
import { intOf, uintOf } from "./operators.ts";
import { lengthOf, lengthText, readLength, timeText } from "./times.ts";

const INTEGER = /^[+-]?[0-9]{1,20}$/;
const DOUBLE = /^[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?$/;
const SPECIAL: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);
const BOOL: ReadonlyMap<string, boolean> = new Map([
  ...["true", "True", "TRUE", "t", "1"].map((text) => [text, true] as const),
  ...["false", "False", "FALSE", "f", "0"].map((text) => [text, false] as const),
]);
const MIN_TIME = -62_135_596_800n; // the year 1
const MAX_TIME = 253_402_300_799n; // the year 9999
const DOING = "type conversion";
/** For a time that is written as text. */
const UNITS_PER_TIME = 48;

const UTF8 = new TextEncoder();
const STRICT_UTF8 = new TextDecoder(undefined, { fatal: true, ignoreBOM: true });

const int: Native = (_, value) => {
  if (isInt(value)) return value;
  if (isText(value)) {
    const whole = INTEGER.test(value) ? BigInt(value.replace(/^\+/, "")) : null;
    if (whole === null || whole < MIN_INT || whole > MAX_INT) throw not("int");
    return whole;
  }
  if (typeof value === "number") {
    // The next doubles beyond: both ends of the range are not exact in one.
    if (!(value > Number(MIN_INT) && value < Number(MAX_INT))) {
      throw new Problem(`int overflow during ${DOING}`);
    }
    return BigInt(Math.trunc(value));
  }
  if (value instanceof Uint) return intOf(value.value, DOING);
  if (value instanceof Timestamp) return floorSeconds(value.nanos);
  return value instanceof Duration ? value.nanos / SECOND : undefined;
};

const uint: Native = (_, value) => {
  if (value instanceof Uint) return value;
  if (isInt(value)) return uintOf(value, DOING);
  if (isText(value)) {
    if (!/^[0-9]{1,20}$/.test(value)) throw not("uint");
    return uintOf(BigInt(value), DOING);
  }
  if (typeof value !== "number") return undefined;
  if (!Number.isFinite(value) || value < 0) throw new Problem(`uint overflow during ${DOING}`);
  return uintOf(BigInt(Math.trunc(value)), DOING);
};

const double: Native = (_, value) => {
  if (typeof value === "number") return value;
  if (isInt(value)) return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (!isText(value)) return undefined;
  if (DOUBLE.test(value)) return Number(value);
  const special = SPECIAL.get(value);
  if (special === undefined) throw not("double");
  return special;
};

const bool: Native = (_, value) => {
  if (typeof value === "boolean") return value;
  if (!isText(value)) return undefined;
  const read = BOOL.get(value);
  if (read === undefined) throw notComputed("bool");
  return read;
};

const string: Native = (meter, value) => {
  if (isText(value) || value instanceof Uint8Array) {
    if (value.length > MAX_TEXT) throw tooLong();
    meter.charge(value.length / 64);
    return isText(value) ? value : textOf(value);
  }
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") {
    return value.toString();
  }
  if (value instanceof Uint) return value.value.toString();
  if (!(value instanceof Timestamp) && !(value instanceof Duration)) return undefined;
  meter.charge(UNITS_PER_TIME);
  return value instanceof Timestamp ? timeText(value) : lengthText(value);
};

function textOf(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    throw notComputed("string");
  }
}

const bytes: Native = (meter, value) => {
  if (!isText(value) && !(value instanceof Uint8Array)) return undefined;
  if (value.length > MAX_TEXT) throw tooLong();
  meter.charge(value.length / 64);
  return isText(value) ? UTF8.encode(value) : value;
};

const timestamp: Native = (meter, value) => {
  if (value instanceof Timestamp) return value;
  meter.charge(400);
  if (isInt(value)) {
    if (value < MIN_TIME || value > MAX_TIME) throw not("timestamp");
    return new Timestamp(value * SECOND);
  }
  if (!isText(value)) return undefined;
  const instant = value.length <= 64 ? quietly(() => parseTime(value)) : null;
  if (instant === null) throw not("timestamp");
  return new Timestamp(instant);
};

const duration: Native = (meter, value) => {
  if (value instanceof Duration) return value;
  meter.charge(100);
  if (isInt(value)) return lengthOf(value * SECOND);
  if (!isText(value)) return undefined;
  const length = readLength(value);
  if (length === null) throw notComputed("duration");
  return length;
};

/** `seconds("1d")`: every way of writing a length of time that the API takes, in whole seconds. */
const seconds: Native = (meter, value) => {
  meter.charge(100);
  if (value instanceof Duration) return value.nanos / SECOND;
  if (!(isText(value) || isInt(value) || typeof value === "number")) return undefined;
  const length = quietly(() => parseDuration(value));
  if (length === null) throw new Problem('seconds() needs a length of time such as "90s" or "1d"');
  return length / SECOND;
};

/** Down, before 1970 too. */
export function floorSeconds(nanos: bigint): bigint {
  const rest = ((nanos % SECOND) + SECOND) % SECOND;
  return (nanos - rest) / SECOND;
}

/** The refusal of the reader quotes its input, which a denial must not. */
function quietly<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

function not(kind: string): Problem {
  return new Problem(`${kind}() cannot convert this value`);
}

function tooLong(): Problem {
  return new Problem(`at most ${MAX_TEXT} characters can be converted`);
}

export const CONVERSIONS: Natives = [
  ["int", int],
  ["uint", uint],
  ["double", double],
  ["bool", bool],
  ["string", string],
  ["bytes", bytes],
  ["timestamp", timestamp],
  ["duration", duration],
  ["seconds", seconds],
  ["type", (_, value) => new TypeName(typeNameOf(value))],
  ["dyn", (_, value) => value],
];
