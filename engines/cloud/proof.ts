// Whether a new credential works. Not every door of a provider learns of it at the same time, so one success
// proves nothing: there must be a few in a row.

import type { Nanos, Timers } from "@holdfast/shared/world";
import { pause } from "@holdfast/shared/pause";
import { ProviderError } from "./provider-error.ts";

/** In a row. */
export const PROOFS = 3;

/** How many there are in a row after another try. */
export function proofsAfter(inARow: number, succeeded: boolean): number {
  return succeeded ? inARow + 1 : 0;
}

export interface ProofRules {
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** Between two tries. */
  readonly every: Nanos;
  /** Whether to go on after so many tries. Default: until the signal. */
  readonly goOn?: (tries: number, succeeded: boolean) => boolean;
}

export type Proof =
  | { readonly proved: true }
  /** `why`: what the provider said last; null: nothing that was wrong, but there was no more time. */
  | { readonly proved: false; readonly why: ProviderError | null };

/** `attempt` uses the credential once. What it throws that is no ProviderError is thrown. */
export async function prove(attempt: () => Promise<unknown>, rules: ProofRules): Promise<Proof> {
  const { timers, signal, every, goOn = () => true } = rules;
  let why: ProviderError | null = null;
  for (let tries = 1, inARow = 0; !signal.aborted; tries++) {
    try {
      await attempt();
      inARow = proofsAfter(inARow, true);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      why = error;
      inARow = proofsAfter(inARow, false);
    }
    if (inARow >= PROOFS) return { proved: true };
    if (!goOn(tries, inARow > 0)) break;
    await pause(timers, every, signal);
  }
  return { proved: false, why };
}
