// One request to the provider and its answer as JSON, or an error that says what may have come of it.
// No retries here (patience.ts), and no tokens (token.ts).

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { readJson } from "@holdfast/shared/json/json-reader";
import {
  OutboundError,
  type OutboundAnswer,
  type OutboundTrouble,
} from "@holdfast/plugin-sdk/outbound";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { type CallResult, countCall } from "../../cloud/metrics.ts";
import { ProviderError, type ProviderErrorKind } from "../../cloud/provider-error.ts";
import { isLoopback } from "./environments.ts";
import { RequestIds } from "../../cloud/request-ids.ts";
import { type Answer, errorIn, requestIdIn, unreadable } from "./provider-answer.ts";

export interface Call {
  /** What is being done, in our words: "creating the application". */
  readonly step: string;
  /** The provider's name of it, for counting: it holds nothing that a caller chose. */
  readonly action: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a text is sent as a form. */
  readonly body?: JsonObject | string;
  readonly signal: AbortSignal;
  /** What must not be in any error. */
  readonly secrets: readonly string[];
  /** Whose credentials it carries. */
  readonly identity: string;
  /** Whether "not there" is said of what the call is about. Default true. */
  readonly finds?: boolean;
  /** One of the addresses at which a machine learns of its own identity. Default false. */
  readonly metadata?: boolean;
}

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const MAX_ANSWER = 1 << 20;
const NOTHING: JsonObject = {};

export class Http {
  readonly #needs: Pick<EngineNeeds, "outbound" | "clock" | "metrics">;
  readonly #noted = new WeakMap<AbortSignal, RequestIds>();

  constructor(needs: Pick<EngineNeeds, "outbound" | "clock" | "metrics">) {
    this.#needs = needs;
  }

  /** Where ids of calls that change something are noted from now on: those of one piece of work, by its signal. */
  noting(signal: AbortSignal): RequestIds {
    const ids = new RequestIds();
    this.#noted.set(signal, ids);
    return ids;
  }

  send(call: Call): Promise<Answer> {
    const answer = this.#send(call);
    return this.#noted.get(call.signal)?.of(answer, (got) => changeIn(call, got)) ?? answer;
  }

  /** Every 2xx without an error in it is a success. */
  async #send(call: Call): Promise<Answer> {
    const { clock, metrics } = this.#needs;
    const began = clock.elapsed();
    let result: CallResult = "failed";
    try {
      const answer = readAnswer(call, await this.#exchange(call));
      result = "ok";
      return answer;
    } catch (error) {
      if (error instanceof ProviderError) {
        if (error.kind === "refused") result = "refused";
        if (error.kind === "throttled") result = "throttled";
      }
      throw error;
    } finally {
      countCall(metrics, call.action, result, Number(clock.elapsed() - began) / 1e9);
    }
  }

  async #exchange(call: Call): Promise<OutboundAnswer> {
    const { method, url, headers, body, signal, identity, metadata = false } = call;
    const type =
      body === undefined
        ? {}
        : { "content-type": typeof body === "string" ? FORM_TYPE : JSON_TYPE };
    const bytes = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    try {
      return await this.#needs.outbound.send({
        method,
        url,
        headers: { accept: JSON_TYPE, ...type, ...headers },
        ...(bytes === undefined ? {} : { body: bytes }),
        signal,
        plain: metadata || isLoopback(url),
        metadata,
        identity,
        maxBytes: MAX_ANSWER,
      });
    } catch (error) {
      if (error instanceof OutboundError) throw outboundError(call, error);
      throw error;
    }
  }
}

function changeIn({ method }: Call, { headers }: Answer): string | undefined {
  return method === "GET" ? undefined : requestIdIn(headers);
}

const KINDS: Readonly<Record<OutboundTrouble, ProviderErrorKind>> = {
  forbidden: "forbidden",
  unreachable: "unreachable",
  lost: "unknown",
  oversized: "unknown",
  aborted: "unknown",
};

function outboundError({ step, secrets }: Call, error: OutboundError): ProviderError {
  return new ProviderError({
    step,
    code: error.trouble,
    message: error.message,
    status: 0,
    requestId: "",
    kind: KINDS[error.trouble],
    secrets,
    cause: error,
  });
}

function readAnswer(call: Call, { status, headers, body }: OutboundAnswer): Answer {
  const { step, secrets, finds = true } = call;
  const ok = status >= 200 && status < 300;
  const document = bodyOf(body);
  if (ok && document === null) throw unreadable(step, "the answer is no JSON object", status);
  const read = document ?? NOTHING;
  if (!ok || "error" in read) throw errorIn({ step, status, headers, body: read, secrets, finds });
  return { status, headers, body: read };
}

/** Null for what is no JSON object; an empty one for no body at all. */
function bodyOf(bytes: Buffer): JsonObject | null {
  if (bytes.length === 0) return NOTHING;
  try {
    const read = readJson(bytes);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}
