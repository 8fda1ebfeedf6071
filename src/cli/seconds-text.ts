// Lengths that an answer gives in seconds, for people.

import { SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { JsonValue } from "@holdfast/shared/json/json";
import { shown } from "./terminal/value.ts";

export function secondsText(value: JsonValue | undefined): string {
  const whole = typeof value === "number" && Number.isSafeInteger(value);
  return whole ? showDuration(BigInt(value) * SECOND) : shown(value);
}
