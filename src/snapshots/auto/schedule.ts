// When a snapshot is next due. Pure: the time is handed in.

import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";

const MAX_JITTER: Nanos = 5n * MINUTE;
const FIRST_PAUSE: Nanos = MINUTE;
const MAX_PAUSE: Nanos = HOUR;

export function lengthOf(seconds: number): Nanos {
  return BigInt(seconds) * SECOND;
}

/** An interval after the last start or, before the first, after the configuration was written; what took longer is
 *  followed at once. */
export function afterStart(started: Instant, interval: Nanos, now: Instant): Instant {
  const next = started + interval;
  return next > now ? next : now;
}

/** When what is overdue starts: soon, and not together with everything else that is. */
export function overdue(interval: Nanos, now: Instant, random: Random): Instant {
  const longest = interval / 10n < MAX_JITTER ? interval / 10n : MAX_JITTER;
  const spread = random.bytes(2).readUInt16BE();
  return now + (longest * BigInt(spread)) / 65_536n;
}

/** After so many failures in a row: sooner than the interval where that is long, and ever more rarely. */
export function afterFailure(failures: number, interval: Nanos, now: Instant): Instant {
  const first = interval < FIRST_PAUSE ? interval : FIRST_PAUSE;
  const pause = first << BigInt(Math.min(failures - 1, 30));
  return now + (pause < MAX_PAUSE ? pause : MAX_PAUSE);
}
