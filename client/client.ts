// The API as a program calls it: headers, paths, JSON, envelopes, refusals. api/, generated from the
// declarations, gives every endpoint a typed function over this.

import { readDuration, showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { optionInvalid } from "./options.ts";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import { ApiError, errorsOf } from "./api-error.ts";
import { ConnectionFailure } from "./connection-failure.ts";
import { joinedBytes } from "./joined-bytes.ts";
import { parseExact, rawText } from "./exact-json.ts";
import {
  isStreamed,
  type Received,
  type ReceivedStream,
  type Sent,
  type StreamedBody,
  type Transport,
} from "./transport.ts";
import { ownBytes, textOf } from "./utf8.ts";

export type Verb = "GET" | "LIST" | "POST" | "PATCH" | "DELETE";
export type Query = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

/** What can be said of any request, whatever it asks for. */
export interface CallOptions {
  /** Statuses above 399 that are answers here and no refusals, as those of sys/health are. */
  readonly accept?: readonly number[];
  /** How long the server was asked to hold its answer back, on top of the usual time for one. */
  readonly held?: Nanos;
  /** Warnings that whoever asks deals with, and nobody else needs to be told. */
  readonly untold?: RegExp;
  /** Beside those that every request has, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Ask extends CallOptions {
  readonly query?: Query;
  readonly body?: JsonObject;
  /** In place of `body`: one that never lies in memory whole. */
  readonly stream?: StreamedBody;
  /** Every status that comes with JSON is an answer, where `accept` names none. */
  readonly anyStatus?: boolean;
}

/** A secret that ends, unless it is renewed. */
export interface LeaseInfo {
  readonly id: string;
  readonly seconds: number;
  readonly renewable: boolean;
}

/** Where an answer is kept for whoever unwraps it. */
export interface WrapInfo {
  readonly token: Secret<string>;
  readonly accessor: string;
  readonly seconds: number;
  readonly creationTime: string;
  readonly creationPath: string;
}

export interface Answer<T = JsonValue | undefined> {
  readonly status: number;
  /** What the endpoint answered, taken out of the envelope where there is one; undefined when the answer
   *  was wrapped. */
  readonly data: T;
  readonly lease: LeaseInfo | null;
  readonly wrapInfo: WrapInfo | null;
  readonly warnings: readonly string[];
  readonly requestId: string;
  /** All that was answered. Undefined when there was no body or it was not JSON. */
  readonly body: JsonValue | undefined;
  readonly text: string;
  readonly contentType: string;
  header(name: string): string | undefined;
}

/** What generated functions call. */
export interface Call extends Ask {
  readonly method: Verb;
  readonly path: string; // escaped, without a slash at the front
  readonly answer: "data" | "auth" | "bare" | "text" | "nothing";
}

/** An answer that is read as it comes, once. Whoever does not read it to its end leaves the loop. */
export type StreamedAnswer = ReceivedStream;

export interface Caller {
  call<T>(call: Call, options?: CallOptions): Promise<Answer<T>>;
  stream(call: Omit<Call, "answer">, options?: CallOptions): Promise<StreamedAnswer>;
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
  /** Answers are to be kept on the server for so long, for whoever unwraps them. Default: they come. */
  readonly wrapTtl?: Nanos;
  /** A loaded snapshot that reads and lists are answered from. Default: the data of now. */
  readonly readSnapshot?: string;
  /** A loaded snapshot that writes write back from. Default: what they send. */
  readonly recoverFrom?: string;
  readonly watcher?: Watcher;
  readonly warn?: (warning: string) => void;
}

const MAX_REFUSAL = 256 * 1024;

export class Client implements Caller {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The same server with another token, or none. */
  withToken(token: Secret<string> | string | null): Client {
    const hidden = typeof token === "string" ? new Secret(token) : token;
    return new Client({ ...this.#options, token: hidden });
  }

  /** Of its requests; empty for root. */
  get namespace(): string {
    return this.#options.namespace;
  }

  /** The same server, outside of every namespace: for what is the node's and not a namespace's. */
  inRoot(): Client {
    return new Client({ ...this.#options, namespace: "" });
  }

  /** The same server in another namespace. */
  inNamespace(namespace: string): Client {
    return new Client({ ...this.#options, namespace });
  }

  /** The same, with answers that stay on the server: their `wrapInfo` says how to get them, once. */
  wrapping(ttl: Nanos | string): Client {
    return new Client({ ...this.#options, wrapTtl: nanosOf("the time of wrapping", ttl) });
  }

  /** The same, reading and listing from a loaded snapshot: secrets of key/value, policies and roles. */
  readingFrom(snapshotId: string): Client {
    return new Client({ ...this.#options, readSnapshot: snapshotId });
  }

  /** The same, with writes that write back what a loaded snapshot held: whatever data they are given is not sent. */
  recoveringFrom(snapshotId: string): Client {
    return new Client({ ...this.#options, recoverFrom: snapshotId });
  }

  /** The same, with no snapshot: for what is asked beside. */
  ofNow(): Client {
    const { readSnapshot: _, recoverFrom: __, ...rest } = this.#options;
    return new Client(rest);
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
    const { warn } = this.#options;
    const received = await this.#send(method, path, ask, (transport, sent) => transport.send(sent));
    const answer = answerOf(received);
    if (received.status >= 300 && !isAccepted(answer, ask)) {
      throw this.#refused(method, path, received, answer);
    }
    for (const warning of answer.warnings) if (ask.untold?.test(warning) !== true) warn?.(warning);
    return answer;
  }

  /** One whose answer is read as it comes: time-outs are those of its progress. */
  async stream(
    { method, path, ...ask }: Omit<Call, "answer">,
    options?: CallOptions,
  ): Promise<StreamedAnswer> {
    const asking = { ...ask, ...options };
    const opened = await this.#send(method, path, asking, (transport, sent) =>
      transport.open(sent),
    );
    if (opened.status < 300) return opened;
    const received = { ...opened, body: await startOf(opened) };
    throw this.#refused(method, path, received, answerOf(received));
  }

  async #send<R extends Received | ReceivedStream>(
    method: Verb,
    path: string,
    ask: Ask,
    by: (transport: Transport, sent: Sent) => Promise<R>,
  ): Promise<R> {
    const { transport, watcher, region, readSnapshot, recoverFrom } = this.#options;
    const query = completed(ask.query, {
      region: hasRegion(path) && region !== "" ? region : undefined,
      read_snapshot_id: readSnapshot,
    });
    const own = recoverFrom === undefined ? ask.body : undefined; // what the snapshot held is written
    const body = ask.stream ?? (own === undefined ? null : ownBytes(JSON.stringify(own)));
    const headers = { ...ask.headers, ...this.#headers(method, body) };
    const ended = watcher?.started(method, path, ask.held !== undefined);
    let received: R | null = null;
    try {
      const target = `/v1/${path}${queryText(query)}`;
      const sent = { method, target, headers, body, held: ask.held ?? 0n };
      return (received = await by(transport, sent));
    } finally {
      if (!isStreamed(body)) body?.fill(0);
      const id = received?.header("x-service-request-id") ?? "";
      ended?.(received?.status ?? null, id);
    }
  }

  #refused(method: Verb, path: string, received: Received, answer: Answer): Failure {
    const { transport } = this.#options;
    if (PLAIN_TO_TLS.test(answer.text) && received.status === 400) {
      return new ConnectionFailure("speaks-tls", transport.address, "");
    }
    return refusal(method, path, received, answer);
  }

  async call<T>({ method, path, answer, ...ask }: Call, options?: CallOptions): Promise<Answer<T>> {
    const got = await this.request(method, path, { ...ask, ...options });
    // The declaration that made the caller's type made the server's answer as well.
    return { ...got, data: partOf(got, answer) as T };
  }

  #headers(method: Verb, body: Sent["body"]): Record<string, string> {
    const { token, namespace, policyOverride = false, wrapTtl, recoverFrom } = this.#options;
    const json = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const type = isStreamed(body) ? body.contentType : json;
    return {
      accept: "application/json",
      "x-service-request": "true",
      ...(body === null ? {} : { "content-type": type }),
      ...(token === null ? {} : { "x-service-token": checkedToken(token) }),
      ...(namespace === "" ? {} : { "x-service-namespace": checkedNamespace(namespace) }),
      ...(policyOverride ? { "x-service-policy-override": "true" } : {}),
      ...(recoverFrom === undefined
        ? {}
        : { "x-service-recover-snapshot-id": checkedId(recoverFrom) }),
      ...(wrapTtl === undefined ? {} : { "x-service-wrap-ttl": showDuration(wrapTtl) }),
    };
  }
}

/** Of an answer that says why there is none: no more than any such answer has. */
async function startOf({ chunks }: ReceivedStream): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of chunks) {
    parts.push(part);
    length += part.length;
    if (length > MAX_REFUSAL) break;
  }
  return joinedBytes(parts);
}

function answerOf(received: Received): Answer {
  const contentType = received.header("content-type") ?? "";
  const text = textOf(received.body);
  const body = /\bjson\b/.test(contentType) ? parsed(text) : undefined;
  const inner = isObject(body) ? body : {};
  const enveloped = "request_id" in inner && "data" in inner;
  return {
    status: received.status,
    body,
    data: enveloped ? (inner["data"] ?? undefined) : body,
    lease: enveloped ? leaseOf(inner) : null,
    wrapInfo: enveloped ? wrapInfoOf(inner) : null,
    text,
    contentType,
    warnings: warningsOf(inner, received),
    requestId: received.header("x-service-request-id") ?? "",
    header: (name) => received.header(name),
  };
}

function leaseOf({
  lease_id: id,
  lease_duration: seconds,
  renewable,
}: JsonObject): LeaseInfo | null {
  if (typeof id !== "string" || id === "") return null;
  return { id, seconds: secondsOf(seconds), renewable: renewable === true };
}

function wrapInfoOf({ wrap_info: info }: JsonObject): WrapInfo | null {
  if (!isObject(info) || typeof info["token"] !== "string") return null;
  const text = (name: string) => (typeof info[name] === "string" ? info[name] : "");
  return {
    token: new Secret(info["token"]),
    accessor: text("accessor"),
    seconds: secondsOf(info["ttl"]),
    creationTime: text("creation_time"),
    creationPath: text("creation_path"),
  };
}

function secondsOf(value: JsonValue | undefined): number {
  return typeof value === "number" && value > 0 ? value : 0;
}

/** The part of an answer that a function gives: what is missing there no caller could go on with. */
function partOf(
  { status, data, body, text, wrapInfo }: Answer,
  answer: Call["answer"],
): JsonValue | undefined {
  if (answer === "nothing" || wrapInfo !== null) return undefined;
  if (answer === "text") return text;
  const auth = isObject(body) ? body["auth"] : undefined;
  const part = { data, auth, bare: body }[answer];
  if (typeof part === "object" && part !== null) return part;
  // What was wrapped may have been an answer without data.
  const empty = status === 204 || (isObject(body) && body["data"] === null);
  if (answer === "data" && empty) return {};
  const message = "the server's answer is not the one that this request has; is it Holdfast?";
  throw new Failure("upstream", "answer-malformed", message);
}

function isAccepted({ status, body }: Answer, { accept, anyStatus = false }: Ask): boolean {
  if (accept !== undefined) return accept.includes(status);
  return anyStatus && status >= 400 && isObject(body) && body["errors"] === undefined;
}

/** How servers and proxies that take TLS alone say so. */
const PLAIN_TO_TLS =
  /\bthis port speaks HTTPS\b|\bHTTP request (?:was sent )?to (?:an )?HTTPS (?:server|port)\b/i;

/** In the envelope, or in the header where the answer has none: there, several come as one text. */
function warningsOf({ warnings }: JsonObject, received: Received): readonly string[] {
  if (Array.isArray(warnings)) return warnings.filter((one) => typeof one === "string");
  const warning = received.header("x-service-warning");
  return warning === undefined ? [] : [warning];
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
  const word = received.header("x-service-error") ?? "";
  const code = /^[a-z0-9_]{1,64}$/.test(word) ? word : null;
  const errors = errorsOf(body);
  return new ApiError({ method, path, status, errors, code, requestId, body, ...retry });
}

/** A length of time as programs give it: such as "10m", or nanoseconds. Programs in JavaScript may give
 *  anything; a number is refused, since it may stand for any unit. */
export function nanosOf(name: string, length: string | Nanos): Nanos {
  const nanos: unknown = typeof length === "string" ? readDuration(length) : length;
  if (typeof nanos === "bigint" && nanos > 0n) return nanos;
  throw optionInvalid(
    `${name} must be text such as "30s" or "1m30s", or nanoseconds as a bigint, and longer than 0s`,
  );
}

/** Whether a request is sent to a region: those on tokens and their policies are. */
export function hasRegion(path: string): boolean {
  return path.startsWith("acl/");
}

/** What a call says itself goes before what holds for the client. Functions name every parameter that they
 *  have, those without a value too. */
function completed(query: Query = {}, ofClient: Query): Query {
  const missing = Object.entries(ofClient).filter(([name]) => query[name] === undefined);
  return { ...query, ...Object.fromEntries(missing) };
}

function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, rawText(value) ?? String(value)]],
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

/**
 * @code snapshot-id-unsendable The id of a loaded snapshot has characters that cannot be sent.
 * @remedy Give one that `holdfast snapshot loaded` lists.
 */
function checkedId(snapshotId: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(snapshotId)) return snapshotId;
  const message = "the id of a snapshot must be one that `holdfast snapshot loaded` lists";
  throw new Failure("invalid", "snapshot-id-unsendable", message);
}

function checkedNamespace(namespace: string): string {
  if (/^[\x21-\x7e]{1,1024}$/.test(namespace)) return namespace;
  const message = "the namespace must be printable ASCII without spaces, such as team/app";
  throw new Failure("invalid", "namespace-unsendable", message);
}
