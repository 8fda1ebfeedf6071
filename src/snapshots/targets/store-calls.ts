// Requests to a store: each is made anew for every try, since it carries its time and its body is a stream.
// What may pass (throttling, a server's fault, a slow or cut connection) is tried again after a pause that grows.

import {
  type OpenedAnswer,
  OutboundError,
  type OutboundRequest,
  type StreamingOutbound,
} from "@holdfast/plugin-sdk/outbound";
import { GrowingBytes, text } from "@holdfast/shared/bytes";
import { pause } from "@holdfast/shared/pause";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import { StoreError } from "./store-error.ts";

export interface StoreNeeds {
  readonly outbound: StreamingOutbound;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  readonly random: Random;
  /** How much is sent at once, at least: a multiple of 256 KiB. Default 16 MiB. */
  readonly partBytes?: number;
}

export interface StoreRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: NonNullable<OutboundRequest["body"]>;
}

export interface StoreAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** What an answer says of what went wrong. */
export interface Said {
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
}

export interface StoreCall {
  readonly step: string;
  readonly request: () => StoreRequest | Promise<StoreRequest>;
  /** Statuses that are no error. Default: 200 to 299. */
  readonly expects?: readonly number[];
  /** Answers that look well and are not: throws. */
  readonly check?: (answer: StoreAnswer) => void;
  /** At most. Default 5. */
  readonly tries?: number;
}

export interface StoreWays {
  /** Whether http may be spoken. */
  readonly plain: boolean;
  /** Whose credentials the calls carry. */
  readonly identity: string;
  /** What must be in no text. */
  readonly secrets: () => readonly string[];
  readonly saidBy: (answer: StoreAnswer) => Said;
  /** Codes of the store that pass, whatever their status. */
  readonly passing: readonly string[];
}

const MAX_LISTING = 8 * 1024 * 1024;
const MAX_ERROR = 64 * 1024;
const WITHIN_MS = 60_000; // without anything going on
const MAX_TRIES = 5;
const FIRST_PAUSE: Nanos = 500n * MILLISECOND;
const MAX_PAUSE: Nanos = 30n * SECOND;
const PASSING_STATUS: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

export class StoreCalls {
  readonly #needs: StoreNeeds;
  readonly #ways: StoreWays;

  constructor(needs: StoreNeeds, ways: StoreWays) {
    this.#needs = needs;
    this.#ways = ways;
  }

  /** The whole answer. */
  async send(call: StoreCall, signal: AbortSignal): Promise<StoreAnswer> {
    return this.#retried(call, signal, async () => {
      const opened = await this.#open(call, signal, MAX_LISTING);
      const answer = await whole(opened);
      if (!isExpected(call, answer.status)) throw this.errorIn(call, answer);
      call.check?.(answer);
      return answer;
    });
  }

  /** Its body as it comes. What is cut in the middle is not tried again here: it was handed on already. */
  async open(call: StoreCall, maxBytes: number, signal: AbortSignal): Promise<OpenedAnswer> {
    return this.#retried(call, signal, async () => {
      const opened = await this.#open(call, signal, maxBytes);
      if (isExpected(call, opened.status)) {
        return { ...opened, body: this.#translated(call.step, opened.body) };
      }
      throw this.errorIn(call, await whole(opened, MAX_ERROR));
    });
  }

  /** An error of this store, for who finds one in an answer that looked well. */
  errorIn({ step }: StoreCall, answer: StoreAnswer): StoreError {
    const { code, message, requestId } = this.#ways.saidBy(answer);
    const { status, headers } = answer;
    const passes = PASSING_STATUS.includes(status) || this.#ways.passing.includes(code);
    const seconds = Number(headers["retry-after"]);
    const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
    const secrets = this.#ways.secrets();
    return new StoreError({ step, code, message, status, requestId, passes, retryAfter, secrets });
  }

  async #open(call: StoreCall, signal: AbortSignal, maxBytes: number): Promise<OpenedAnswer> {
    const { plain, identity } = this.#ways;
    const request = await call.request();
    try {
      return await this.#needs.outbound.open({
        ...request,
        signal,
        plain,
        identity,
        maxBytes,
        within: WITHIN_MS,
      });
    } catch (error) {
      throw this.#trouble(call.step, error);
    }
  }

  async *#translated(
    step: string,
    body: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* body;
    } catch (error) {
      throw this.#trouble(step, error);
    }
  }

  #trouble(step: string, error: unknown): unknown {
    if (!(error instanceof OutboundError)) return error;
    const passes = error.trouble === "unreachable" || error.trouble === "lost";
    return new StoreError({
      step,
      message: error.message,
      passes,
      secrets: this.#ways.secrets(),
    });
  }

  /** After the n-th try has failed; false where the signal came first. */
  waitAfter(failed: StoreError, tries: number, signal: AbortSignal): Promise<boolean> {
    return pause(this.#needs.timers, this.#pauseAfter(failed, tries), signal);
  }

  async #retried<T>(call: StoreCall, signal: AbortSignal, once: () => Promise<T>): Promise<T> {
    const { step, tries: limit = MAX_TRIES } = call;
    for (let tries = 1; ; tries++) {
      try {
        return await once();
      } catch (error) {
        const failed = this.#trouble(step, error);
        const last = !(failed instanceof StoreError) || !failed.passes || tries >= limit;
        if (last || signal.aborted || !(await this.waitAfter(failed, tries, signal))) throw failed;
      }
    }
  }

  /** Doubled with each try, and of uneven length, so that those who failed together do not come together. */
  #pauseAfter({ retryAfter }: StoreError, tries: number): Nanos {
    const spread = BigInt(this.#needs.random.bytes(1)[0] ?? 0);
    const usual = ((FIRST_PAUSE << BigInt(tries - 1)) * (128n + spread / 2n)) / 256n;
    const said = retryAfter === null ? 0n : BigInt(Math.ceil(retryAfter)) * SECOND;
    const longest = usual > said ? usual : said;
    return longest < MAX_PAUSE ? longest : MAX_PAUSE;
  }
}

function isExpected({ expects }: StoreCall, status: number): boolean {
  return expects?.includes(status) ?? (status >= 200 && status < 300);
}

async function whole(
  { status, headers, body }: OpenedAnswer,
  max = MAX_LISTING,
): Promise<StoreAnswer> {
  const all = new GrowingBytes();
  for await (const part of body) {
    all.add(part);
    if (all.length >= max) break;
  }
  return { status, headers, text: text(all.bytes) };
}
