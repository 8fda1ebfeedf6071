// Work of an engine that must end: told so by a signal, and left behind where it does not listen.

import type { Failure } from "@holdfast/shared/failure";
import { jobDeadline, jobStopped } from "./failures.ts";
import type { Nanos, Timers } from "@holdfast/shared/world";

export interface Deadline {
  readonly timers: Timers;
  readonly length: Nanos;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export async function within<T>(
  { timers, length, signal }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const own = new AbortController();
  const end = (failure: Failure) => {
    own.abort(failure);
    reject(failure);
  };
  const stopped = () => end(jobStopped("the work was stopped"));
  if (signal.aborted) throw jobStopped("the work was stopped");
  const timer = timers.after(length, () => {
    end(jobDeadline("it took too long"));
  });
  signal.addEventListener("abort", stopped);
  try {
    return await Promise.race([work(own.signal), over]);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stopped);
  }
}
