// Lengths of time as clients of the cloud engines write and read them: seconds in digits, or text whose
// largest unit is the hour; answered as hours, minutes and seconds.

import { parseDuration, showDuration } from "@holdfast/shared/text/duration";
import { fieldInvalid } from "./failures.ts";
import type { Nanos } from "@holdfast/shared/world";

/** Throws an "invalid" Failure that begins with `field`. Days are not accepted: "24h" is a day. */
export function readGoDuration(field: string, text: string): Nanos {
  const accepted = `${field} must be a whole number of seconds or text such as "90s" or "1h30m"; the largest unit is h`;
  if (text.includes("d")) throw fieldInvalid(accepted);
  try {
    return parseDuration(text.trim());
  } catch {
    throw fieldInvalid(accepted);
  }
}

/** 90 s is "1m30s", an hour "1h0m0s", nothing "0s". */
export function showGoDuration(length: Nanos): string {
  return showDuration(length);
}
