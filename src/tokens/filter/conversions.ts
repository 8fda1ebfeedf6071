// The value of a filter, always text, as a value of the field's type.

import { parseTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { inapplicable, quoted } from "./failures.ts";

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text): [string, boolean] => [text, true]),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text): [string, boolean] => [text, false]),
]);

// Decimal without leading zeros, which some read as octal; the other notations say what they are.
const INTEGER =
  /^([+-]?)(0|[1-9][0-9]{0,19}|0[xX][0-9A-Fa-f]{1,16}|0[bB][01]{1,64}|0[oO][0-7]{1,22})$/;

export function toBool(text: string): boolean {
  return BOOLEANS.get(text) ?? refuse(text, "true or false");
}

export function toInteger(text: string, type: "uint64" | "int64"): bigint {
  const [, sign = "", digits] = INTEGER.exec(text) ?? [];
  if (digits !== undefined && (type === "int64" || sign === "")) {
    const value = BigInt(digits.toLowerCase()) * (sign === "-" ? -1n : 1n);
    const fits = type === "int64" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
    if (fits === value) return value;
  }
  return refuse(text, type === "int64" ? "a whole number" : "a whole number from 0 on");
}

export function toTime(text: string): Instant {
  return timeOf(text) ?? refuse(text, "an RFC 3339 time such as 2026-03-01T10:00:00Z");
}

function timeOf(text: string): Instant | null {
  try {
    return parseTime(text);
  } catch {
    return null; // the refusal here names the filter's value
  }
}

function refuse(text: string, accepted: string): never {
  const problem = `error getting match value in expression: ${quoted(text)} is not ${accepted}`;
  throw inapplicable(problem);
}
