// Follows a read of the server by blocking queries: each answer that may be new, until
// the caller stops. What changed between two answers is for the caller to find.

import { MINUTE, SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Failure, FailureKind } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import { ConnectionFailure } from "@holdfast/client/connection-failure";
import type { Context } from "./command.ts";
import { pause } from "./pause.ts";
import type { Held } from "./token/listing.ts";

// Shorter than the five minutes that the server would wait: proxies on the way give up earlier.
const WAIT = MINUTE;
const JITTER = 16n; // the server adds up to a sixteenth
// A server that answers at once although nothing is new must not be asked in a circle.
const PACE = SECOND;
const LONGEST_BACKOFF = 30n * SECOND;

interface Followed<T> {
  readonly index: bigint;
  readonly value: T;
}

/** Refusals that pass by themselves; any other ends the watch. */
const PASSING: readonly FailureKind[] = [
  "unavailable",
  "sealed",
  "rate-limited",
  "behind",
  "timed-out",
];

export async function* follow<T>(
  { out, timers, clock }: Pick<Context, "out" | "timers" | "clock">,
  signal: AbortSignal,
  read: (held: Held | null) => Promise<Followed<T>>,
): AsyncGenerator<T> {
  const first = await read(null);
  yield first.value;
  let { index } = first;
  let failures = 0;
  for (;;) {
    const since = clock.elapsed();
    let found: Followed<T>;
    try {
      found = await read(index === 0n ? null : heldFrom(index));
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      // Told once for each outage; the answer that ends it is news enough.
      if (failures === 0) out.warn(`${error.message}; trying again until it answers`);
      await pause(timers, backoff(failures++), signal);
      continue;
    }
    failures = 0;
    const silent = found.index === index && index !== 0n;
    if (!silent) yield found.value;
    // A smaller index: the server was restored, or is another one, and counts anew.
    index = found.index < index ? 0n : found.index;
    const early = clock.elapsed() - since < PACE;
    if ((silent && early) || index === 0n) await pause(timers, PACE, signal);
  }
}

function heldFrom(index: bigint): Held {
  return {
    query: { index: Number(index), wait: showDuration(WAIT) },
    held: WAIT + WAIT / JITTER,
  };
}

function isPassing(error: unknown): error is Failure {
  if (error instanceof ConnectionFailure) return true;
  return error instanceof ApiError && PASSING.includes(error.kind);
}

function backoff(failures: number): Nanos {
  const length = PACE * 2n ** BigInt(Math.min(failures, 5));
  return length < LONGEST_BACKOFF ? length : LONGEST_BACKOFF;
}
