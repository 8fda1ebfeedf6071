// Conversions that the engine makes too freely: to it `int("")` is 0, `double("x")` not a number and
// `timestamp(1)` a millisecond. A policy that reads a number from a request must not take rubbish for
// one.

import type { CelValue } from "@bufbuild/cel";
import { parseDuration, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { parseTime } from "@holdfast/shared/text/time";
import { MAX_TEXT } from "../limits.ts";
import { Problem } from "../running/meter.ts";
import { isDuration, isInt, isText, isTimestamp, nanosOf, type Native } from "./native.ts";
import { durationOf, timestampOf } from "../running/values.ts";

const INTEGER = /^[+-]?[0-9]{1,20}$/;
const DOUBLE = /^[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?$/;
const SPECIAL: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);
const MIN_TIME = -62_135_596_800n; // the year 1
const MAX_TIME = 253_402_300_799n; // the year 9999
const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

const int: Native = ([value]) => {
  if (!isText(value)) return undefined;
  const whole = INTEGER.test(value) ? BigInt(value.replace(/^\+/, "")) : null;
  if (whole === null || whole < MIN_INT || whole > MAX_INT) throw not("int");
  return whole;
};

/** The engine reads what is left over once the text is known to be digits. */
const uint: Native = ([value]) => {
  if (isText(value) && !/^[0-9]{1,20}$/.test(value)) throw not("uint");
  return undefined;
};

const double: Native = ([value]) => {
  if (!isText(value)) return undefined;
  if (DOUBLE.test(value)) return Number(value);
  const special = SPECIAL.get(value);
  if (special === undefined) throw not("double");
  return special;
};

const bytesOrText: Native = ([value], { meter }) => {
  if (!isText(value) && !(value instanceof Uint8Array)) return undefined;
  if (value.length > MAX_TEXT) throw new Problem(`at most ${MAX_TEXT} characters can be converted`);
  meter.charge(value.length / 64);
  return undefined;
};

const timestamp: Native = ([value], { meter }) => {
  meter.charge(400);
  if (isInt(value)) {
    if (value < MIN_TIME || value > MAX_TIME) throw not("timestamp");
    return timestampOf(value * SECOND);
  }
  if (!isText(value)) return undefined;
  const instant = value.length <= 64 ? quietly(() => parseTime(value)) : null;
  if (instant === null) throw not("timestamp");
  return timestampOf(instant);
};

const duration: Native = ([value], { meter }) => {
  meter.charge(100);
  return isInt(value) ? durationOf(value * SECOND) : undefined;
};

/** `seconds("1d")`: every way of writing a length of time that the API takes, in whole seconds. */
const seconds: Native = ([value], { meter }) => {
  meter.charge(100);
  if (isDuration(value)) return wholeSeconds(nanosOf(value));
  if (isTimestamp(value) || !(isText(value) || isInt(value) || typeof value === "number")) {
    return undefined;
  }
  const length = quietly(() => parseDuration(value));
  if (length === null) throw new Problem('seconds() needs a length of time such as "90s" or "1d"');
  return wholeSeconds(length);
};

function wholeSeconds(nanos: bigint): CelValue {
  return nanos / SECOND;
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

export const CONVERSIONS: ReadonlyMap<string, Native> = new Map<string, Native>([
  ["int", int],
  ["uint", uint],
  ["double", double],
  ["string", bytesOrText],
  ["bytes", bytesOrText],
  ["timestamp", timestamp],
  ["duration", duration],
  ["seconds", seconds],
]);
