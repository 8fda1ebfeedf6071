// Times and lengths of time: how far they reach, and their text.

import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { Problem } from "../running/meter.ts";
import { Duration, MAX_INT, MIN_INT, Timestamp } from "../running/values.ts";

const FIRST: Instant = -62_135_596_800n * SECOND; // the year 1
const LAST: Instant = 253_402_300_800n * SECOND - 1n; // the year 9999

export function timeOf(instant: Instant): Timestamp {
  if (instant < FIRST || instant > LAST) throw new Problem("timestamp out of range");
  return new Timestamp(instant);
}

export function lengthOf(nanos: Nanos): Duration {
  if (nanos > MAX_INT || nanos < MIN_INT) throw new Problem("duration out of range");
  return new Duration(nanos);
}

/** `2026-03-01T10:00:00.500Z`: a fraction has three, six or nine digits. */
export function timeText({ nanos }: Timestamp): string {
  const text = showTime(nanos);
  const point = text.indexOf(".");
  return point === -1 ? text : `${text.slice(0, point)}${fraction(text.slice(point + 1, -1))}Z`;
}

/** `5400s`, `-1.500s`. */
export function lengthText({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  const rest = size % SECOND;
  const digits = rest === 0n ? "" : fraction(rest.toString().padStart(9, "0").replace(/0+$/, ""));
  return `${nanos < 0n ? "-" : ""}${size / SECOND}${digits}s`;
}

function fraction(digits: string): string {
  return `.${digits.padEnd(Math.ceil(digits.length / 3) * 3, "0")}`;
}

const UNITS: ReadonlyMap<string, Nanos> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["ms", 1_000_000n],
  ["s", SECOND],
  ["m", 60n * SECOND],
  ["h", 3600n * SECOND],
]);
const LENGTH = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:[nuµm]?s|m|h))+)$/;
const PART = /(\d*)\.?(\d*)([nuµm]?s|m|h)/g;
const MAX_LENGTH_TEXT = 128;

/** `1h30m`, `-1.5s`, as CEL writes them; null for what is none. */
export function readLength(text: string): Duration | null {
  if (text.length > MAX_LENGTH_TEXT) return null;
  if (/^[+-]?0$/.test(text)) return new Duration(0n);
  const [, sign = "", parts] = LENGTH.exec(text) ?? [];
  if (parts === undefined) return null;
  let sum = 0n;
  for (const [, whole = "", digits = "", name = ""] of parts.matchAll(PART)) {
    const unit = UNITS.get(name) ?? 0n;
    sum += BigInt(whole) * unit + (BigInt(digits) * unit) / 10n ** BigInt(digits.length);
  }
  return lengthOf(sign === "-" ? -sum : sum);
}
