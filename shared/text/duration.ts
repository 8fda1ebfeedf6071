// Lengths of time as integer nanoseconds: the two ways in which callers write them, and the one in
// which we do. Under /acl/ a number means nanoseconds, everywhere else seconds.
// Arithmetic is exact; what lies below a nanosecond is dropped, unless nothing would be left of it: a
// length that is not zero never becomes zero, which may mean "for ever". Limits are each field's own.

import type { Failure } from "../failure.ts";
import { durationInvalid as refused } from "../failures.ts";
import { isRawNumber } from "../json/json.ts";
import type { Nanos } from "../world.ts";
import { withoutEndingZeros } from "./digits.ts";

export const NANOSECOND: Nanos = 1n;
export const MICROSECOND: Nanos = 1_000n;
export const MILLISECOND: Nanos = 1_000_000n;
export const SECOND: Nanos = 1_000_000_000n;
export const MINUTE: Nanos = 60n * SECOND;
export const HOUR: Nanos = 60n * MINUTE;
export const DAY: Nanos = 24n * HOUR;

const UNITS: ReadonlyMap<string, Nanos> = new Map([
  ["ns", NANOSECOND],
  ["us", MICROSECOND],
  ["\u00b5s", MICROSECOND], // micro sign
  ["\u03bcs", MICROSECOND], // Greek mu: looks the same, and keyboards give either
  ["ms", MILLISECOND],
  ["s", SECOND],
  ["m", MINUTE],
  ["h", HOUR],
  ["d", DAY],
]);

// A signed 64-bit count, about 292 years, is what clients of this API can hold.
const MIN: Nanos = -(2n ** 63n);
const MAX: Nanos = 2n ** 63n - 1n;

/** The longest that a field takes where it names no bound of its own. */
export const LONGEST_DURATION: Nanos = MAX - (MAX % SECOND);

// No sensible length comes near this; it bounds the digits that are turned into a bigint.
const MAX_TEXT = 128;
// Together at most 64 characters of the input are shown: a field may hold a secret by mistake.
const MAX_QUOTED_TEXT = 48;
const MAX_QUOTED_UNIT = 16;

const SECONDS_FORMS = 'a whole number of seconds or text such as "90s" or "1h30m"';

/**
 * The dialect of /acl/: text with units and an optional sign, or a number of nanoseconds. Null is
 * "not set", and so are `""` and every form of zero.
 */
export function parseTokenDuration(input: unknown): Nanos | null {
  if (input === undefined || input === null || input === "") return null;
  const nanos = tokenNanos(input);
  return nanos === 0n ? null : nanos;
}

function tokenNanos(input: unknown): Nanos {
  if (typeof input === "bigint") return inRange(input, input);
  if (typeof input === "number" && Number.isFinite(input)) {
    const nanos = BigInt(Math.trunc(input));
    if (nanos === 0n && input !== 0) throw vanishing(String(input));
    return inRange(nanos, input);
  }
  if (typeof input !== "string") {
    throw refused('a duration must be text such as "1h30m" or a number of nanoseconds');
  }
  const negative = input.startsWith("-");
  const unsigned = negative || input.startsWith("+") ? input.slice(1) : input;
  if (unsigned === "0") return 0n;
  const length = sumOfPairs(unsigned, input);
  return inRange(negative ? -length : length, input);
}

/**
 * The dialect of everything else: whole seconds as a number, however JSON spells it (3600.0, 36e2), or as
 * digits, or text with units. It has no sign, and no form for "not set": an absent field is the
 * caller's to see.
 */
export function parseDuration(input: unknown): Nanos {
  const whole = wholeSeconds(input);
  if (whole !== null) return inRange(whole * SECOND, input);
  if (typeof input !== "string" || input === "") {
    throw refused(`a duration must be ${SECONDS_FORMS}`);
  }
  return inRange(sumOfPairs(input, input, `; accepted is ${SECONDS_FORMS}`), input);
}

/** As parseDuration(), for whoever says itself what is accepted: undefined for what is none. */
export function readDuration(input: unknown): Nanos | undefined {
  try {
    return parseDuration(input);
  } catch {
    return undefined;
  }
}

/**
 * For what is kept or told in whole seconds. Undefined for what is none, or has a part of a second:
 * rounded down it may become 0, which often means "no bound", and rounded up a bound becomes looser.
 */
export function parseWholeSeconds(input: unknown): Nanos | undefined {
  const length = readDuration(input);
  return length !== undefined && length % SECOND === 0n ? length : undefined;
}

function wholeSeconds(input: unknown): bigint | null {
  if (typeof input === "bigint") return input >= 0n ? input : null;
  if (typeof input === "number")
    return Number.isInteger(input) && input >= 0 ? BigInt(input) : null;
  if (isRawNumber(input)) return wholeNumber(input.rawJSON);
  if (typeof input !== "string" || input.length > MAX_TEXT) return null;
  return /^[0-9]+$/.test(input) ? BigInt(input) : null;
}

/** Of a number as JSON spells it, exactly: a double would take 1.00000000000000000001 for 1. */
function wholeNumber(spelt: string): bigint | null {
  if (spelt.length > MAX_TEXT) return null;
  const parts = /^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/.exec(spelt);
  if (parts === null) return null;
  const [, integer = "", fraction = "", exponent = "0"] = parts;
  const digits = BigInt(integer + fraction);
  const shift = Number(exponent) - fraction.length;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  return digits % unit === 0n ? digits / unit : null;
}

/** Adds up pairs of number and unit. Refusals show `whole`, the input as given, and the hint. */
function sumOfPairs(pairs: string, whole: string, hint = ""): Nanos {
  if (pairs === "" || pairs.length > MAX_TEXT) throw invalid(whole, hint);
  let sum = 0n;
  // Digits and point first, then a unit: all up to the next digit or point, known or not.
  const pair = /([0-9]*)(?:\.([0-9]*))?([^0-9.]*)/y;
  while (pair.lastIndex < pairs.length) {
    const [, integer = "", fraction = "", unit = ""] = pair.exec(pairs) ?? [];
    if (integer === "" && fraction === "") throw invalid(whole, hint);
    const size = UNITS.get(unit);
    if (size === undefined) throw unknownUnit(unit, whole, hint);
    const count = BigInt(integer + fraction) * size;
    sum += fraction === "" ? count : count / 10n ** BigInt(fraction.length);
  }
  if (sum === 0n && /[1-9]/.test(pairs)) throw vanishing(whole, hint);
  return sum;
}

/** What remains of a life, to the nearest second, so that a fresh hour says 3600. */
export function secondsLeft(length: Nanos): number {
  return length <= 0n ? 0 : Number((length + SECOND / 2n) / SECOND);
}

/** As showDuration(), to the nearest second: of what remains of a life, whose fractions tell nobody anything. */
export function showSeconds(length: Nanos): string {
  return showDuration(BigInt(secondsLeft(length)) * SECOND);
}

/** Hours, minutes and seconds (`1h0m0s`, `1.5s`); below one second `250ms`, `1.5µs` or `7ns`. */
export function showDuration(nanos: Nanos): string {
  if (nanos === 0n) return "0s";
  if (nanos < 0n) return `-${showDuration(-nanos)}`;
  if (nanos < MICROSECOND) return `${nanos}ns`;
  if (nanos < MILLISECOND) return `${decimal(nanos, MICROSECOND)}\u00b5s`;
  if (nanos < SECOND) return `${decimal(nanos, MILLISECOND)}ms`;
  const seconds = `${decimal(nanos % MINUTE, SECOND)}s`;
  if (nanos < MINUTE) return seconds;
  const minutes = `${(nanos % HOUR) / MINUTE}m${seconds}`;
  return nanos < HOUR ? minutes : `${nanos / HOUR}h${minutes}`;
}

function decimal(nanos: Nanos, unit: Nanos): string {
  const below = nanos % unit;
  if (below === 0n) return `${nanos / unit}`;
  const digits = unit.toString().length - 1;
  return `${nanos / unit}.${withoutEndingZeros(below.toString().padStart(digits, "0"))}`;
}

function inRange(nanos: Nanos, input: unknown): Nanos {
  if (nanos < MIN || nanos > MAX) throw invalid(input);
  return nanos;
}

function unknownUnit(unit: string, whole: string, hint: string): Failure {
  const text = quote(whole, MAX_QUOTED_TEXT);
  if (unit === "") return refused(`time: missing unit in duration ${text}${hint}`);
  const name = quote(unit, MAX_QUOTED_UNIT);
  return refused(`time: unknown unit ${name} in duration ${text}${hint}`);
}

function vanishing(text: string, hint = ""): Failure {
  return refused(`time: duration ${quote(text, MAX_QUOTED_TEXT)} is below one nanosecond${hint}`);
}

function invalid(input: unknown, hint = ""): Failure {
  // A bigint of a million digits takes seconds to print.
  const long = typeof input === "bigint" && BigInt.asIntN(128, input) !== input;
  const text = quote(String(long ? Number(input) : input), MAX_QUOTED_TEXT);
  return refused(`time: invalid duration ${text}${hint}`);
}

/**
 * Quotes like the service whose messages clients match on: beyond printable ASCII each byte of the
 * UTF-8 form is shown as \xNN, so that nothing in it can steer a terminal or a log.
 */
function quote(text: string, max: number): string {
  let out = "";
  for (const byte of new TextEncoder().encode(text.slice(0, max))) {
    const char = String.fromCharCode(byte);
    if (char === '"' || char === "\\") out += `\\${char}`;
    else if (byte < 0x20 || byte > 0x7e) out += `\\x${byte.toString(16).padStart(2, "0")}`;
    else out += char;
  }
  return `"${out}${text.length > max ? "..." : ""}"`;
}
