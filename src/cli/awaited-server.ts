// Waits until a server answers: for units, containers and scripts that have just started one. What passes
// by itself while a server starts is tried again; what does not, such as a certificate that is not
// trusted, is told at once.

import { SECOND, showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { Client } from "@holdfast/client/client";
import { ConnectionFailure, type ConnectionProblem } from "@holdfast/client/connection-failure";
import * as seal from "@holdfast/client/api/seal";
import type { Context } from "./command.ts";
import { pause } from "./pause.ts";

export type SealStatus = seal.StatusAnswer;

const PACE = SECOND / 5n;

/** A host's name may come up with the host, as in a network of containers. */
const PASSING: readonly ConnectionProblem[] = [
  "refused",
  "no-socket",
  "broken",
  "timed-out",
  "unreachable",
  "unknown-host",
];

export async function sealStatus(client: Client): Promise<SealStatus> {
  return (await seal.status(client)).data;
}

/** The first answer; after `limit` it throws what stood in the way the last time. */
export function awaitedStatus(context: Context, client: Client, limit: Nanos): Promise<SealStatus> {
  const { clock, timers } = context;
  const end = clock.elapsed() + limit;
  return context.untilInterrupted(async (signal) => {
    let late: Failure | null = null;
    for (;;) {
      const left = end - clock.elapsed();
      if (late !== null && left <= 0n) throw late;
      try {
        return await within(left, sealStatus(client), timers, limit);
      } catch (error) {
        if (!isPassing(error)) throw error;
        late = error;
      }
      await pause(timers, PACE, signal);
    }
  });
}

function isPassing(error: unknown): error is Failure {
  if (error instanceof ConnectionFailure) return PASSING.includes(error.problem);
  return error instanceof Failure && error.code === "wait-over";
}

/** One that takes the connection and says nothing must not hold us longer than the whole wait. */
async function within<T>(
  left: Nanos,
  work: Promise<T>,
  timers: Context["timers"],
  limit: Nanos,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = timers.after(left > 0n ? left : 0n, () =>
    late.reject(
      new Failure("timed-out", "wait-over", `no answer came within ${showDuration(limit)}`),
    ),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}
