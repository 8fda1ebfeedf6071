// Waiting and giving up, by the timers that the engine was given.

import type { Nanos, Timers } from "@holdfast/shared/world";

/** Runs `fn` with a signal that ends after `length`. The request's own has no part in it: what is being made
 *  outside is not cut off because a client hangs up. */
export async function within<T>(
  timers: Timers,
  length: Nanos,
  fn: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = timers.after(length, () => over.abort());
  try {
    return await fn(over.signal);
  } finally {
    timer.cancel();
  }
}

/** Waits; less where the signal comes first. Never throws. */
export function pause(timers: Timers, length: Nanos, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = timers.after(length, end);
    signal.addEventListener("abort", end, { once: true });
  });
}
