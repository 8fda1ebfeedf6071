// Giving up, by the timers that the engine was given.

import type { Nanos, Timers } from "@holdfast/shared/world";

/** Runs `fn` with a signal that comes after `length`, or with one of `stop`. It only tells: `fn` ends by
 *  itself, and has brought to an end what it began. The request's own signal has no part in it: what is being
 *  made outside is not cut off because a client hangs up. */
export async function withDeadline<T>(
  timers: Timers,
  length: Nanos,
  fn: (signal: AbortSignal) => Promise<T>,
  stop: readonly AbortSignal[] = [],
): Promise<T> {
  const over = new AbortController();
  const timer = timers.after(length, () => over.abort());
  try {
    return await fn(stop.length === 0 ? over.signal : AbortSignal.any([over.signal, ...stop]));
  } finally {
    timer.cancel();
  }
}
