// Lengths of time as clients of the cloud engines write and read them: seconds, or text whose largest
// unit is the hour; answered as hours, minutes and seconds.

import { LONGEST_DURATION, parseWholeSeconds, showDuration } from "@holdfast/shared/text/duration";
import { fieldInvalid } from "./failures.ts";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";

/** Throws an "invalid" Failure that begins with `field`. Days are not accepted: "24h" is a day. */
export function readGoDuration(field: string, input: JsonValue): Nanos {
  const length = hasDays(input) ? undefined : parseWholeSeconds(input);
  if (length !== undefined) return length;
  const longest = showDuration(LONGEST_DURATION);
  throw fieldInvalid(
    `${field} must be a number of seconds, or a duration in whole seconds such as 90s or 1h30m, ` +
      `at most ${longest}; the largest unit is h`,
  );
}

export function hasDays(input: JsonValue): boolean {
  return typeof input === "string" && input.includes("d");
}

/** 90 s is "1m30s", an hour "1h0m0s", nothing "0s". */
export function showGoDuration(length: Nanos): string {
  return showDuration(length);
}
