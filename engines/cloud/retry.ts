// A call to a provider, tried again while that may help. When that is, and how long to wait, is said by
// whoever calls; the loop and what must not be forgotten from try to try are here, once for both clouds.

import type { Nanos, Timers } from "@holdfast/shared/world";
import { pause } from "@holdfast/shared/pause";
import { ProviderError } from "./provider-error.ts";

export interface RetryRules {
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** How long to wait before the next try; null: this failure stands. `tries` is how many came before it. */
  readonly pauseAfter: (failed: ProviderError, tries: number) => Nanos | null;
  /** How much time there is: a pause that would outlast it is not begun. Default: until the signal. */
  readonly left?: () => Nanos;
  /** What is thrown when the time is over: `failed` may be the call that was cut off, `last` is what the
   *  provider said before that. Default: `failed`. */
  readonly timeOver?: (failed: ProviderError, last: ProviderError) => unknown;
}

/** Throws the provider's last error. It is harmless only where every try was: one whose answer was lost may
 *  have had its effect, whatever a later one was told (T-I14). Every other error is thrown at once. */
export async function retried<T>(
  attempt: (tries: number) => Promise<T>,
  rules: RetryRules,
): Promise<T> {
  const { timers, signal, pauseAfter, left, timeOver = (failed) => failed } = rules;
  let before: ProviderError | null = null;
  let doubt = false;
  const marked = (error: ProviderError) => (doubt && error.harmless ? error.doubted() : error);
  for (let tries = 0; ; tries++) {
    let failed: ProviderError;
    try {
      return await attempt(tries);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      failed = error;
    }
    doubt ||= !failed.harmless;
    if (signal.aborted) throw timeOver(marked(failed), marked(before ?? failed));
    const said = marked(failed);
    const wait = pauseAfter(said, tries);
    if (wait === null) throw said;
    const fits = left === undefined || wait < left();
    if (!fits || !(await pause(timers, wait, signal))) throw timeOver(said, said);
    before = failed;
  }
}
