// Waiting, by the timers that one was given.

import type { Nanos, Timers } from "./world.ts";

/** Waits; false where the signal came first. Never throws. */
export function pause(timers: Timers, length: Nanos, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const end = (whole: boolean) => {
      timer.cancel();
      signal.removeEventListener("abort", cut);
      resolve(whole);
    };
    const cut = () => end(false);
    const timer = timers.after(length, () => end(true));
    signal.addEventListener("abort", cut, { once: true });
  });
}
