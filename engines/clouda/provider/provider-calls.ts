// Calls to the provider, tried again where that may help: after throttling, faults of the server and lost
// connections, as often as `max_retries` says; and for a while after the root key was rotated, when not
// everybody at the provider knows the new one yet. Counts and times them.

import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { type CallResult, countCall } from "../../cloud/metrics.ts";
import { ProviderError, type ProviderErrorKind } from "../../cloud/provider-error.ts";
import { retried } from "../../cloud/retry.ts";

/** As the provider's SDK does by itself: three in all. */
const DEFAULT_RETRIES = 2;
/** A revocation has a minute and a half, and is begun anew when one of its dozen calls is throttled too
 *  often: where every other call is, that would be nearly each of them. */
const PATIENT_RETRIES = 7;
const FIRST_PAUSE = { throttled: 500n * MILLISECOND, other: 100n * MILLISECOND };
const LONGEST_PAUSE: Nanos = 20n * SECOND;
/** Where the provider asks for more, whoever asked us is told so instead. */
const MAX_RETRY_AFTER = 5; // seconds
/** How long a fresh root key may be unknown here and there. */
const SETTLING: Nanos = 10n * SECOND;

/** Said of a key that is not there: not yet, or no more. */
export const UNKNOWN_KEY = "InvalidClientTokenId";

const RESULTS: Readonly<Record<ProviderErrorKind, CallResult>> = {
  refused: "refused",
  forbidden: "failed",
  throttled: "throttled",
  unreachable: "failed",
  unknown: "failed",
};

export interface CallRules {
  /** Whether it may be sent again when it is not known what became of it. Default true. */
  readonly resend?: boolean;
}

export interface CallsOptions {
  /** Below 0: as is usual. */
  readonly maxRetries: number;
  /** When the root key was made, by the clock that never goes back; null: long ago. */
  readonly keyMade: Nanos | null;
  /** For jobs that nobody waits for: throttling is waited out for longer. Default false. */
  readonly patient?: boolean;
}

export class ProviderCalls {
  readonly #needs: EngineNeeds;
  readonly #retries: number;
  readonly #throttledRetries: number;
  readonly #keyMade: Nanos | null;

  constructor(needs: EngineNeeds, { maxRetries, keyMade, patient = false }: CallsOptions) {
    this.#needs = needs;
    this.#retries = maxRetries < 0 ? DEFAULT_RETRIES : maxRetries;
    this.#throttledRetries = maxRetries < 0 && patient ? PATIENT_RETRIES : this.#retries;
    this.#keyMade = keyMade;
  }

  run<T>(
    step: string,
    signal: AbortSignal,
    attempt: (options: { readonly abortSignal: AbortSignal }) => Promise<T>,
    { resend = true }: CallRules = {},
  ): Promise<T> {
    let retries = 0;
    return retried(() => this.#once(step, signal, attempt), {
      timers: this.#needs.timers,
      signal,
      pauseAfter: (failed) => {
        if (this.#isSettling(failed)) return SECOND;
        const helps = isPassing(failed) && (resend || failed.harmless);
        const max = failed.kind === "throttled" ? this.#throttledRetries : this.#retries;
        if (!helps || retries >= max || (failed.retryAfter ?? 0) > MAX_RETRY_AFTER) return null;
        return this.#pauseAfter(failed, retries++);
      },
    });
  }

  async #once<T>(
    step: string,
    signal: AbortSignal,
    attempt: (options: { readonly abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const { clock, metrics } = this.#needs;
    const action = step.slice(step.indexOf(":") + 1);
    const began = clock.elapsed();
    const took = () => Number(clock.elapsed() - began) / 1e9;
    try {
      const value = await attempt({ abortSignal: signal });
      countCall(metrics, action, "ok", took());
      return value;
    } catch (error) {
      const failed = error instanceof ProviderError ? error : this.#unreadable(step, error);
      countCall(metrics, action, RESULTS[failed.kind], took());
      throw failed;
    }
  }

  /** The SDK could not read an answer, or would not send. Its text may quote either: it is not told. */
  #unreadable(step: string, error: unknown): ProviderError {
    const name = error instanceof Error ? error.name : typeof error;
    this.#needs.log.warn("a call of the provider's library failed", { step, error: name });
    return new ProviderError({
      step,
      code: "UnexpectedAnswer",
      message: "the call could not be made, or its answer could not be read",
      status: 0,
      requestId: "",
      kind: "unknown",
      secrets: [],
    });
  }

  #isSettling({ code }: ProviderError): boolean {
    if (code !== UNKNOWN_KEY || this.#keyMade === null) return false;
    return this.#needs.clock.elapsed() - this.#keyMade < SETTLING;
  }

  /** Twice as long each time, and anything between nothing and that: many who were throttled together do
   *  not come back together. */
  #pauseAfter({ kind, retryAfter }: ProviderError, retries: number): Nanos {
    if (retryAfter !== null) return BigInt(retryAfter) * SECOND;
    const first = kind === "throttled" ? FIRST_PAUSE.throttled : FIRST_PAUSE.other;
    const longest = first * 2n ** BigInt(Math.min(retries, 16));
    const share = this.#needs.random.bytes(2).readUInt16BE(0);
    const bounded = longest > LONGEST_PAUSE ? LONGEST_PAUSE : longest;
    return (bounded * BigInt(share)) / 0xffffn;
  }
}

/** Whether the same may well succeed a moment later. */
function isPassing({ kind, code }: ProviderError): boolean {
  if (kind === "forbidden") return false;
  return kind !== "refused" || code === "ConcurrentModification";
}
