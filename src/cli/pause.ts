// Waits a while, unless Ctrl-C comes first.

import type { Nanos } from "@holdfast/shared/world";
import type { Context } from "./command.ts";
import { Interrupted } from "./terminal/prompt.ts";

export function pause(
  timers: Context["timers"],
  length: Nanos,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal.aborted) throw new Interrupted();
  const timer = timers.after(length, resolve);
  const stop = () => reject(new Interrupted());
  signal.addEventListener("abort", stop, { once: true });
  return promise.finally(() => {
    timer.cancel();
    signal.removeEventListener("abort", stop);
  });
}
