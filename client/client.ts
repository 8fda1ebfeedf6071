// The API as a program calls it: headers, paths, JSON, envelopes, refusals. api.ts, generated from the
// declarations, gives every endpoint a typed function over this.

import { text as utf8Text, wipe } from "@holdfast/shared/bytes";
import { showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import { ApiError, errorsOf } from "./api-error.ts";
import { ConnectionFailure } from "./connection-failure.ts";
import { parseExact } from "./exact-json.ts";
import { ownBytes } from "./own-bytes.ts";
import type { Received, Transport } from "./transport.ts";

export type Verb = "GET" | "LIST" | "POST" | "PATCH" | "DELETE";
export type Query = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface Ask {
  readonly query?: Query;
  readonly body?: JsonObject;
  /** Statuses above 399 that are answers here and no refusals, as those of sys/health are. */
  readonly accept?: readonly number[];
  /** How long the server was asked to hold its answer back, on top of the usual time for one. */
  readonly held?: Nanos;
  /** The answer is to be kept on the server for so long, for whoever unwraps it. */
  readonly wrapTtl?: Nanos | undefined;
  /** Warnings that whoever asks deals with, and nobody else needs to be told. */
  readonly untold?: RegExp;
}

export interface Answer {
  readonly status: number;
  /** Undefined when there was no body or it was not JSON. */
  readonly body: JsonValue | undefined;
  /** What the endpoint answered, taken out of the envelope where there is one. */
  readonly data: JsonValue | undefined;
  readonly text: string;
  readonly contentType: string;
  readonly warnings: readonly string[];
  readonly requestId: string;
  header(name: string): string | undefined;
}

/** What generated functions call. */
export interface Call extends Ask {
  readonly method: Verb;
  readonly path: string; // escaped, without a slash at the front
  readonly answer: "data" | "auth" | "bare" | "text" | "nothing";
}

export interface Caller {
  call<T>(call: Call): Promise<T>;
}

/** Told of every request; it learns no secret: neither headers, nor bodies, nor queries. */
export interface Watcher {
  /**
   * `held`: the server was asked to answer only when there is something new. What it returns is called
   * at the end of this very request: several may be under way.
   */
  started(method: Verb, path: string, held: boolean): Ended;
}

export type Ended = (status: number | null, requestId: string) => void;

export interface ClientOptions {
  readonly transport: Transport;
  readonly token: Secret<string> | null;
  readonly namespace: string;
  /** Region that requests on tokens are meant for; empty for the server's own. */
  readonly region: string;
  /** Asks that soft-mandatory policies let the requests pass. Default false. */
  readonly policyOverride?: boolean;
  readonly watcher?: Watcher;
  readonly warn?: (warning: string) => void;
}

export class Client implements Caller {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The same server with another token, or none. */
  withToken(token: Secret<string> | null): Client {
    return new Client({ ...this.#options, token });
  }

  /** Of its requests; empty for root. */
  get namespace(): string {
    return this.#options.namespace;
  }

  /** The same server, outside of every namespace: for what is the node's and not a namespace's. */
  inRoot(): Client {
    return new Client({ ...this.#options, namespace: "" });
  }

  /** The same, with nobody told of its requests: for those beside what a person looks at. */
  unwatched(): Client {
    const { watcher: _, ...rest } = this.#options;
    return new Client(rest);
  }

  close(): void {
    this.#options.transport.close();
  }

  /** `path` is escaped already: see request-path.ts. */
  async request(method: Verb, path: string, ask: Ask = {}): Promise<Answer> {
    const { transport, watcher, warn, region } = this.#options;
    const query = path.startsWith("acl/") && region !== "" ? { region, ...ask.query } : ask.query;
    const body = ask.body === undefined ? null : ownBytes(JSON.stringify(ask.body));
    const headers = this.#headers(method, body !== null, ask.wrapTtl);
    const ended = watcher?.started(method, path, ask.held !== undefined);
    let received: Received | null = null;
    try {
      const target = `/v1/${path}${queryText(query)}`;
      received = await transport.send({ method, target, headers, body, held: ask.held ?? 0n });
    } finally {
      wipe(body);
      const id = received?.header("x-service-request-id") ?? "";
      ended?.(received?.status ?? null, id);
    }
    const answer = answerOf(received);
    if (received.status >= 300 && !(ask.accept ?? []).includes(received.status)) {
      if (PLAIN_TO_TLS.test(answer.text) && received.status === 400) {
        throw new ConnectionFailure("speaks-tls", transport.address, "");
      }
      throw refusal(method, path, received, answer);
    }
    for (const warning of answer.warnings) if (ask.untold?.test(warning) !== true) warn?.(warning);
    return answer;
  }

  async call<T>({ method, path, answer, ...ask }: Call): Promise<T> {
    const { data, body, text } = await this.request(method, path, ask);
    const auth = isObject(body) ? body["auth"] : undefined;
    const given = { data, auth, bare: body, text, nothing: undefined }[answer];
    // The declaration that made the caller's type made the server's answer as well.
    return given as T;
  }

  #headers(method: Verb, hasBody: boolean, wrapTtl: Nanos | undefined): Record<string, string> {
    const { token, namespace, policyOverride = false } = this.#options;
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    return {
      accept: "application/json",
      "x-service-request": "true",
      ...(hasBody ? { "content-type": type } : {}),
      ...(token === null ? {} : { "x-service-token": checkedToken(token) }),
      ...(namespace === "" ? {} : { "x-service-namespace": checkedNamespace(namespace) }),
      ...(policyOverride ? { "x-service-policy-override": "true" } : {}),
      ...(wrapTtl === undefined ? {} : { "x-service-wrap-ttl": showDuration(wrapTtl) }),
    };
  }
}

function answerOf(received: Received): Answer {
  const contentType = received.header("content-type") ?? "";
  const text = utf8Text(received.body);
  const body = /\bjson\b/.test(contentType) ? parsed(text) : undefined;
  const inner = isObject(body) ? body : {};
  const enveloped = "request_id" in inner && "data" in inner;
  return {
    status: received.status,
    body,
    data: enveloped ? (inner["data"] ?? undefined) : body,
    text,
    contentType,
    warnings: warningsOf(inner, received),
    requestId: received.header("x-service-request-id") ?? "",
    header: (name) => received.header(name),
  };
}

/** How servers and proxies that take TLS alone say so. */
const PLAIN_TO_TLS =
  /\bthis port speaks HTTPS\b|\bHTTP request (?:was sent )?to (?:an )?HTTPS (?:server|port)\b/i;

/** In the envelope, or in the header where the answer has none: there, several come as one text. */
function warningsOf({ warnings }: JsonObject, received: Received): readonly string[] {
  if (Array.isArray(warnings)) return warnings.filter((one) => typeof one === "string");
  const told = received.header("x-service-warning");
  return told === undefined ? [] : [told];
}

function parsed(text: string): JsonValue | undefined {
  if (text === "") return undefined;
  try {
    return parseExact(text);
  } catch {
    // The parser's message quotes the answer, which may hold secrets.
    throw new Failure("upstream", "answer-malformed", "the server's answer is not valid JSON");
  }
}

function refusal(
  method: Verb,
  path: string,
  received: Received,
  { body, requestId }: Answer,
): Failure {
  const { status } = received;
  if (status < 400) {
    const to = received.header("location") ?? "another address";
    const message = `the server sends this request on to ${to} (${status})`;
    return new Failure("unavailable", "redirected", message);
  }
  const seconds = Number(received.header("retry-after") ?? "");
  const retry = Number.isInteger(seconds) && seconds > 0 ? { retryAfter: seconds } : {};
  return new ApiError({ method, path, status, errors: errorsOf(body), requestId, body, ...retry });
}

function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/** Node's own refusal of a header would come later and say less. */
function checkedToken(token: Secret<string>): string {
  const text = token.reveal();
  if (/^[\x21-\x7e]{1,8192}$/.test(text)) return text;
  const message =
    "the token cannot be sent: it must be 1 to 8192 printable ASCII characters without spaces";
  throw new Failure("invalid", "token-unsendable", message);
}

function checkedNamespace(namespace: string): string {
  if (/^[\x21-\x7e]{1,1024}$/.test(namespace)) return namespace;
  const message = "the namespace must be printable ASCII without spaces, such as team/app";
  throw new Failure("invalid", "namespace-unsendable", message);
}
