// Lengths that an answer gives in seconds, for people.

import { SECOND, showDuration } from "../base/duration.ts";
import type { JsonValue } from "../base/json.ts";
import { shown } from "./terminal/value.ts";

export function secondsText(value: JsonValue | undefined): string {
  const whole = typeof value === "number" && Number.isSafeInteger(value);
  return whole ? showDuration(BigInt(value) * SECOND) : shown(value);
}
