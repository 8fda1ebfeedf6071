// Times and lengths as people read them.

import { Failure } from "@holdfast/shared/failure";
import type { JsonValue } from "@holdfast/shared/json/json";
import { DAY, HOUR, MINUTE, SECOND, showDuration } from "@holdfast/shared/text/duration";
import { parseTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { NONE, showValue } from "./value.ts";

const UNITS: readonly (readonly [Nanos, string])[] = [
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "m"],
  [SECOND, "s"],
];

/** "2h5m ago", "in 7h59m", "now": the two largest units. */
export function relative(instant: Instant, now: Instant): string {
  const length = instant > now ? instant - now : now - instant;
  if (length < SECOND) return "now";
  const first = UNITS.findIndex(([unit]) => length >= unit);
  let rest = length;
  let text = "";
  for (const [unit, name] of UNITS.slice(first, first + 2)) {
    if (rest >= unit) text += `${rest / unit}${name}`;
    rest %= unit;
  }
  return instant > now ? `in ${text}` : `${text} ago`;
}

/** A time of an answer; null when it is not set, or is none that we can read. */
export function instantOf(value: JsonValue | undefined): Instant | null {
  try {
    return parseTime(value);
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** For columns: the distance alone. */
export function shortTime(value: JsonValue | undefined, now: Instant): string {
  const instant = instantOf(value);
  return instant === null ? NONE : relative(instant, now);
}

/** For records: the time as it was answered, and the distance. */
export function longTime(value: JsonValue | undefined, now: Instant): string {
  const instant = instantOf(value);
  return instant === null ? NONE : `${showValue(value)} (${relative(instant, now)})`;
}

/** The same to the second, where nobody compares it with another. */
export function plainTime(value: JsonValue | undefined, now: Instant): string {
  return longTime(value, now).replace(/(:\d\d)\.\d+/, "$1");
}

export function secondsText(value: JsonValue | undefined): string {
  const whole = typeof value === "number" && Number.isSafeInteger(value);
  return whole ? showDuration(BigInt(value) * SECOND) : showValue(value);
}
