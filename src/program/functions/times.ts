// Arithmetic on times and lengths of time. The engine answers the same, but takes 10 µs to find out for
// which of its overloads.

import type { CelValue } from "@bufbuild/cel";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { Problem } from "../running/meter.ts";
import { isDuration, isTimestamp, nanosOf } from "./native.ts";
import { durationOf, timestampOf } from "../running/values.ts";

const FIRST: Instant = -62_135_596_800n * SECOND; // the year 1
const LAST: Instant = 253_402_300_800n * SECOND - 1n; // the year 9999
const MOST: Nanos = 2n ** 63n - 1n;

/** Their nanoseconds, if they are of one kind; null for anything else. */
export function bothTimes(
  a: CelValue | undefined,
  b: CelValue | undefined,
): readonly [Nanos, Nanos] | null {
  if (typeof a !== "object" || typeof b !== "object") return null;
  if (isTimestamp(a) && isTimestamp(b)) return [nanosOf(a), nanosOf(b)];
  return isDuration(a) && isDuration(b) ? [nanosOf(a), nanosOf(b)] : null;
}

export function sum(a: CelValue | undefined, b: CelValue | undefined): CelValue | undefined {
  if (typeof a !== "object" || typeof b !== "object") return undefined;
  if (isDuration(a) && isDuration(b)) return length(nanosOf(a) + nanosOf(b));
  if (isTimestamp(a) && isDuration(b)) return time(nanosOf(a) + nanosOf(b));
  return isDuration(a) && isTimestamp(b) ? time(nanosOf(a) + nanosOf(b)) : undefined;
}

export function difference(a: CelValue | undefined, b: CelValue | undefined): CelValue | undefined {
  const both = bothTimes(a, b);
  if (both !== null) return length(both[0] - both[1]);
  return isTimestamp(a) && isDuration(b) ? time(nanosOf(a) - nanosOf(b)) : undefined;
}

function time(instant: Instant): CelValue {
  if (instant < FIRST || instant > LAST) throw new Problem("timestamp out of range");
  return timestampOf(instant);
}

function length(nanos: Nanos): CelValue {
  if (nanos > MOST || nanos < -MOST - 1n) throw new Problem("duration out of range");
  return durationOf(nanos);
}
