// How the SDK's clients send: through the one careful way out that the engine was given, and no other. It
// decides by itself what an answer is, before the SDK sees it: an error by its code (never by the SDK's
// class of it, which takes LimitExceeded for throttling), a success only if it is the answer to this action.

import { type Outbound, OutboundError, type OutboundTrouble } from "@holdfast/plugin-sdk/outbound";
import { ProviderError, type ProviderErrorKind } from "../../cloud/provider-error.ts";
import { errorIn, rootOf } from "./answer-xml.ts";

/** As much of the SDK's request as is used; its shape is the SDK's. */
export interface SdkRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface HandlerOptions {
  readonly outbound: Outbound;
  /** As in permissions: "iam". */
  readonly service: string;
  /** Whether the operator's endpoint speaks http. */
  readonly plain: boolean;
  /** Connections are not shared between two of these. */
  readonly identity: string;
  /** What must not be in any text. */
  readonly secrets: () => readonly string[];
}

const THROTTLING = new Set([
  "Throttling",
  "ThrottlingException",
  "ThrottledException",
  "RequestThrottled",
  "RequestThrottledException",
  "RequestLimitExceeded",
  "TooManyRequestsException",
  "PriorRequestNotComplete",
  "SlowDown",
]);
const MAX_READ = 16 * 1024;

export class SdkHandler {
  readonly metadata = { handlerProtocol: "http/1.1" };
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  async handle(request: SdkRequest, { abortSignal }: { readonly abortSignal?: unknown } = {}) {
    const { outbound, service, plain, identity } = this.#options;
    const body = typeof request.body === "string" ? request.body : "";
    const action = /^Action=([A-Za-z0-9]+)(?:&|$)/.exec(body)?.[1] ?? "";
    const step = `${service}:${action}`;
    const port = request.port === undefined ? "" : `:${request.port}`;
    const url = new URL(`${request.protocol}//${request.hostname}${port}${request.path}`);
    // Both are the sender's to set, from the same URL and body that were signed.
    const { host: _, "content-length": __, ...headers } = request.headers;
    let answer;
    try {
      const signal =
        abortSignal instanceof AbortSignal ? abortSignal : new AbortController().signal;
      const { method } = request;
      answer = await outbound.send({ method, url, headers, body, signal, plain, identity });
    } catch (error) {
      throw this.#untold(step, error);
    }
    const { status } = answer;
    if (status < 200 || status > 299) throw this.#refusal(step, answer);
    const xml = answer.body.toString("utf8");
    if (rootOf(xml) !== `${action}Response`) throw this.#strange(step, status, xml);
    return { response: { statusCode: status, headers: { ...answer.headers }, body: answer.body } };
  }

  /** The SDK asks for it; connections are the sender's. */
  destroy(): void {}

  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): Readonly<Record<string, never>> {
    return {};
  }

  #refusal(
    step: string,
    answer: { status: number; headers: Readonly<Record<string, string>>; body: Buffer },
  ): ProviderError {
    const { status, headers } = answer;
    const said = errorIn(answer.body.subarray(0, MAX_READ).toString("utf8"));
    const code = said.code === "" ? `HTTP ${status}` : said.code;
    return new ProviderError({
      step,
      code,
      message: said.message,
      status,
      requestId: said.requestId === "" ? (headers["x-amzn-requestid"] ?? "") : said.requestId,
      kind: kindOf(code, status),
      gone: code === "NoSuchEntity" || code === "NoSuchEntityException",
      retryAfter: secondsIn(headers["retry-after"]),
      secrets: this.#options.secrets(),
    });
  }

  /** "Success" with something else in it counts for nothing (T-I07). */
  #strange(step: string, status: number, xml: string): ProviderError {
    const said = errorIn(xml.slice(0, MAX_READ));
    return new ProviderError({
      step,
      code: said.code === "" ? "UnexpectedAnswer" : said.code,
      message: said.message === "" ? "the answer is not the one to this action" : said.message,
      status,
      requestId: said.requestId,
      kind: "unknown",
      secrets: this.#options.secrets(),
    });
  }

  #untold(step: string, error: unknown): unknown {
    if (!(error instanceof OutboundError)) return error;
    const { kind, code } = TROUBLES[error.trouble];
    return new ProviderError({
      step,
      code,
      message: error.message,
      status: 0,
      requestId: "",
      kind,
      secrets: this.#options.secrets(),
    });
  }
}

const TROUBLES: Readonly<Record<OutboundTrouble, { kind: ProviderErrorKind; code: string }>> = {
  forbidden: { kind: "forbidden", code: "AddressForbidden" },
  unreachable: { kind: "unreachable", code: "Unreachable" },
  lost: { kind: "unknown", code: "AnswerLost" },
  oversized: { kind: "unknown", code: "AnswerTooLarge" },
  aborted: { kind: "unknown", code: "TimedOut" },
};

function kindOf(code: string, status: number): ProviderErrorKind {
  if (THROTTLING.has(code) || status === 429) return "throttled";
  return status >= 400 && status < 500 ? "refused" : "unknown";
}

function secondsIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : null;
}
