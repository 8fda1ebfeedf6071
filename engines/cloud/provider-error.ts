// A call to a provider that did not succeed: what it says of itself, whether it may have had its effect
// all the same, and what our caller is told of it. The provider's text is kept
// without the secrets that went with the call, whatever form it gives them back in (T-I06).

import { Failure, OwnError } from "@holdfast/shared/failure";
import { scrubbed } from "@holdfast/shared/text/scrubbed";
import {
  providerFailed,
  providerForbidden,
  providerRefused,
  providerUnreachable,
} from "./failures.ts";
import { ThrottledFailure } from "@holdfast/plugin-sdk/failure";

export type ProviderErrorKind =
  | "refused" // understood and refused: it had no effect
  | "forbidden" // our own configuration does not let it be called: it never got there
  | "throttled" // asked to come back later: it had no effect
  | "unreachable" // it never got there
  | "unknown"; // no whole answer, or a server's fault: it may have had its effect

export interface ProviderErrorFacts {
  /** What was being done, in our words: "creating the user". */
  readonly step: string;
  /** As the provider spells it; a word of ours where it said nothing. */
  readonly code: string;
  /** All that it gives, where there are several: what decides is often in the details. Default: `code`. */
  readonly codes?: readonly string[];
  /** Its text as it came. */
  readonly message: string;
  /** Of HTTP; 0 where no answer came. */
  readonly status: number;
  /** Empty where it gave none. */
  readonly requestId: string;
  readonly kind: ProviderErrorKind;
  /** Whether it says that what the call was about is not there. Default false. */
  readonly gone?: boolean;
  /** When it wants to be asked again, in seconds. Default: it does not say. */
  readonly retryAfter?: number | null;
  /** It was tried before, and what became of that is not known: it may have had its effect. Default false. */
  readonly doubtful?: boolean;
  /** What must not be in any text: keys, tokens and passwords that went with the call. */
  readonly secrets: readonly string[];
  /** Its text must be fit to be logged. */
  readonly cause?: unknown;
}

const MAX_MESSAGE = 1000;
const MAX_WORD = 128; // codes and request ids
const RETRY_AFTER = 5; // seconds

export class ProviderError extends OwnError {
  readonly step: string;
  readonly code: string;
  readonly codes: readonly string[];
  readonly status: number;
  readonly requestId: string;
  readonly kind: ProviderErrorKind;
  readonly gone: boolean;
  readonly retryAfter: number | null;
  readonly doubtful: boolean;
  /** The provider's text alone, scrubbed. */
  readonly said: string;

  constructor(facts: ProviderErrorFacts) {
    const { secrets } = facts;
    const code = scrubbed(facts.code, secrets, MAX_WORD);
    const said = scrubbed(facts.message, secrets, MAX_MESSAGE);
    const requestId = scrubbed(facts.requestId, secrets, MAX_WORD);
    super(messageOf(facts.step, code, said, requestId), { cause: facts.cause });
    this.name = "ProviderError";
    this.step = facts.step;
    this.code = code;
    this.codes = facts.codes ?? [code];
    this.status = facts.status;
    this.requestId = requestId;
    this.kind = facts.kind;
    this.gone = facts.gone ?? false;
    this.retryAfter = facts.retryAfter ?? null;
    this.doubtful = facts.doubtful ?? false;
    this.said = said;
  }

  /** Whether the call certainly had no effect. */
  get harmless(): boolean {
    return this.kind !== "unknown" && !this.doubtful;
  }

  has(...codes: readonly string[]): boolean {
    return codes.some((code) => this.codes.includes(code));
  }

  /** Where the provider has no code for it. */
  says(text: RegExp): boolean {
    return text.test(this.said);
  }

  /** The same but for some facts. Its texts are scrubbed already. */
  with(change: Partial<Omit<ProviderErrorFacts, "secrets" | "cause">>): ProviderError {
    const { step, code, codes, said: message, status, requestId, kind, gone } = this;
    const { retryAfter, doubtful } = this;
    const same = {
      step,
      code,
      codes,
      message,
      status,
      requestId,
      kind,
      gone,
      retryAfter,
      doubtful,
    };
    return new ProviderError({ ...same, ...change, secrets: [], cause: this.cause });
  }

  /** The same, after a try that may have had its effect. */
  doubted(): ProviderError {
    return this.with({ doubtful: true });
  }
}

/** Whether the call that this tells of certainly had no effect. */
export function isHarmless(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : error;
  return cause instanceof ProviderError && cause.harmless;
}

/** Null where it is not there, which is no failure of looking or deleting. */
export async function orGone<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ProviderError && error.gone) return null;
    throw error;
  }
}

/** Deleting what is not there is what was wanted. */
export async function unlessGone(call: Promise<void>): Promise<void> {
  await orGone(call);
}

/** `more` goes behind the text. `retryAfter` is what a provider that throttles is taken to say where it does
 *  not: 0 leaves it to whoever tries again. */
export function failureOf(error: ProviderError, more = "", { retryAfter = 0 } = {}): Failure {
  const text = `${error.message}${more}`;
  switch (error.kind) {
    case "refused":
      return providerRefused(text);
    case "forbidden":
      // A setting of ours, which no second try mends.
      return providerForbidden(text);
    case "throttled":
      return new ThrottledFailure(text, error.retryAfter ?? retryAfter);
    case "unreachable":
      return providerUnreachable(text);
    case "unknown":
      return providerFailed(text);
  }
}

/** A ProviderError as whoever asked us is told of it, by HTTP; every other error as it is. */
export function errorForCaller(error: unknown): unknown {
  return error instanceof ProviderError ? failureOf(error, "", { retryAfter: RETRY_AFTER }) : error;
}

function messageOf(step: string, code: string, said: string, requestId: string): string {
  const parts = [step, code, said].filter((part) => part !== "").join(": ");
  return requestId === "" ? parts : `${parts} (provider request id ${requestId})`;
}
