// One request and its answer over HTTP/1.1. Redirects are answers like others; what is longer than the
// limits, encoded or cut off is none. Bodies go out and come in as they are made and read: only send()
// holds an answer whole.

import type { ClientRequest, IncomingMessage } from "node:http";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { GrowingBytes, utf8 } from "@holdfast/shared/bytes";
import type { Timer, Timers } from "@holdfast/shared/world";
import {
  type OpenedAnswer,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
  type OutboundStream,
} from "@holdfast/plugin-sdk/outbound";
import { request as ask } from "../base/node-http.ts";
import type { Connections } from "./connections.ts";
import { sentHeaders } from "./request-headers.ts";

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_BYTES = 1024 * 1024;
const WITHIN_MS = 30_000;
const METHOD = /^[A-Z]{1,20}$/;
const BODILESS = new Set(["GET", "HEAD"]);

/** The whole answer. Throws OutboundError and nothing else. */
export async function exchange(
  outbound: OutboundRequest,
  connections: Connections,
  timers: Timers,
): Promise<OutboundAnswer> {
  const call = new Call(outbound, connections, timers, { renewed: isStream(outbound.body) });
  const { status, headers, body } = await call.open();
  const all = new GrowingBytes();
  for await (const part of body) all.add(part);
  return { status, headers, body: all.bytes };
}

/** The answer's head, and its body as it comes. */
export function open(
  outbound: OutboundRequest,
  connections: Connections,
  timers: Timers,
): Promise<OpenedAnswer> {
  return new Call(outbound, connections, timers, { renewed: true }).open();
}

class Call {
  readonly #outbound: OutboundRequest;
  readonly #host: string;
  readonly #connections: Connections;
  readonly #timers: Timers;
  /** Whether its time begins anew whenever something goes on. */
  readonly #renewed: boolean;
  /** Those who wait, each until what it waits for has come: told when the call is given up. */
  readonly #waiting = new Set<(error: OutboundError) => void>();
  #failure: OutboundError | null = null;
  #request: ClientRequest | null = null;
  #timer: Timer | null = null;
  #end: (() => void) | null = null;
  #sent = false; // from then on it may have had its effect
  readonly #abort = () =>
    this.#giveUp(new OutboundError("aborted", `a call to ${this.#host} was given up`));

  constructor(
    outbound: OutboundRequest,
    connections: Connections,
    timers: Timers,
    { renewed }: { readonly renewed: boolean },
  ) {
    this.#outbound = outbound;
    this.#host = outbound.url.hostname;
    this.#connections = connections;
    this.#timers = timers;
    this.#renewed = renewed;
  }

  async open(): Promise<OpenedAnswer> {
    const { signal, body } = this.#outbound;
    if (signal.aborted) {
      throw new OutboundError("aborted", `a call to ${this.#host} was given up`);
    }
    const request = begin(this.#outbound, this.#connections);
    this.#request = request;
    const answered = Promise.withResolvers<IncomingMessage>();
    request.once("socket", () => {
      this.#sent = true;
    });
    request.on("error", (error) => answered.reject(this.#troubleOf(error)));
    const closed = () => answered.reject(this.#broken("the connection was closed"));
    request.once("close", closed);
    request.once("response", (response) => {
      request.off("close", closed); // from now on the answer itself tells whether it is whole
      answered.resolve(response);
    });
    signal.addEventListener("abort", this.#abort, { once: true });
    this.#restart();
    this.#end = this.#connections.begin();
    let response: IncomingMessage | null = null;
    try {
      if (isStream(body)) void this.#feed(request, body);
      else request.end(bytesOf(body) ?? undefined);
      response = await this.#wait(answered.promise);
      this.#progress();
      const headers = checkedHeaders(response, this.#outbound);
      return { status: response.statusCode ?? 0, headers, body: this.#body(response) };
    } catch (error) {
      response?.destroy(); // first: ending the request would read the rest and keep the connection
      request.destroy();
      this.#over();
      throw this.#troubleOf(error);
    }
  }

  /** Sends the body as it is made, no faster than it is taken. */
  async #feed(request: ClientRequest, { length, chunks }: OutboundStream): Promise<void> {
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        if (request.destroyed) return;
        bytes += chunk.length;
        if (bytes > length) throw new Error("longer than announced");
        if (!request.write(chunk)) {
          await this.#wait(drained(request));
        }
        this.#progress();
      }
      if (bytes < length) throw new Error("shorter than announced");
      request.end();
    } catch (error) {
      const host = this.#host;
      this.#giveUp(
        error instanceof OutboundError
          ? error
          : new OutboundError("lost", `what was to be sent to ${host} could not be read`),
      );
    }
  }

  async *#body(response: IncomingMessage): AsyncGenerator<Uint8Array, void, void> {
    const { maxBytes = MAX_BYTES } = this.#outbound;
    let length = 0;
    let whole = false;
    const parts = response[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#wait(parts.next());
        if (next.done === true) break;
        this.#progress();
        const part: unknown = next.value;
        if (!(part instanceof Uint8Array)) continue; // no text encoding is set: every part is bytes
        length += part.length;
        if (length > maxBytes) throw oversized(this.#host, maxBytes);
        yield part;
      }
      if (!response.complete) throw new Error("the answer ended early");
      whole = true;
    } catch (error) {
      throw this.#troubleOf(error);
    } finally {
      this.#over();
      if (!whole) {
        // The answer first: ending the request would read the rest and keep the connection.
        response.destroy();
        this.#request?.destroy();
      }
    }
  }

  #progress(): void {
    // What was still being sent when it was over begins no time anew.
    if (this.#renewed && this.#end !== null) this.#restart();
  }

  #restart(): void {
    const { within = WITHIN_MS } = this.#outbound;
    this.#timer?.cancel();
    this.#timer = this.#timers.after(BigInt(within) * MILLISECOND, () =>
      this.#giveUp(this.#broken("it took too long")),
    );
  }

  /** No race against one promise of the whole call: that would hold on to everything that ever came before it. */
  #wait<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#failure === null) this.#waiting.add(reject);
    else reject(this.#failure);
    work.then(resolve, reject).finally(() => this.#waiting.delete(reject));
    return promise;
  }

  #giveUp(error: OutboundError): void {
    this.#failure ??= error;
    for (const tell of this.#waiting) tell(this.#failure);
    this.#waiting.clear();
    this.#request?.destroy();
  }

  #over(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#end?.();
    this.#end = null;
    this.#outbound.signal.removeEventListener("abort", this.#abort);
  }

  #broken(why: string): OutboundError {
    return this.#sent
      ? new OutboundError("lost", `${this.#host} gave no whole answer: ${why}`)
      : new OutboundError("unreachable", `${this.#host} cannot be reached: ${why}`);
  }

  #troubleOf(error: unknown): OutboundError {
    if (error instanceof OutboundError) return error;
    // Codes alone: the parser's own words repeat what was sent.
    const code =
      error instanceof Error && "code" in error ? String(error.code) : "the answer is cut";
    return code === "HPE_HEADER_OVERFLOW" ? tooManyHeaders(this.#host) : this.#broken(code);
  }
}

async function drained(request: ClientRequest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  request.once("drain", resolve);
  request.once("close", resolve);
  await promise;
  request.off("drain", resolve);
  request.off("close", resolve);
}

function begin(outbound: OutboundRequest, connections: Connections): ClientRequest {
  const { method, url, body } = outbound;
  const refuse = (what: string): never => {
    throw new OutboundError("forbidden", `a request to ${url.hostname} may not be sent: ${what}`);
  };
  if (!METHOD.test(method)) refuse("its method is none");
  if (body !== undefined && BODILESS.has(method)) refuse(`a ${method} has no body`);
  const length = isStream(body) ? body.length : (bytesOf(body)?.length ?? null);
  const headers = sentHeaders(outbound, length ?? (BODILESS.has(method) ? null : 0));
  try {
    const request = ask({
      agent: connections,
      protocol: url.protocol,
      host: url.hostname,
      port: url.port,
      method,
      path: url.pathname + url.search,
      headers,
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
    });
    // Node would leave the rest away; checkedHeaders() counts them, with the bytes between that Node does not.
    request.maxHeadersCount = 0;
    return request;
  } catch {
    return refuse("it is malformed");
  }
}

function isStream(body: OutboundRequest["body"]): body is OutboundStream {
  return typeof body === "object" && !(body instanceof Uint8Array);
}

function bytesOf(body: Exclude<OutboundRequest["body"], OutboundStream>): Uint8Array | null {
  if (body === undefined) return null;
  return typeof body === "string" ? utf8(body) : body;
}

function checkedHeaders(
  { rawHeaders }: IncomingMessage,
  { method, url: { hostname }, maxBytes = MAX_BYTES }: OutboundRequest,
): Record<string, string> {
  const headerBytes = rawHeaders.reduce((sum, { length }) => sum + length + 2, 0);
  if (headerBytes > MAX_HEADER_BYTES) throw tooManyHeaders(hostname);
  const headers = joined(rawHeaders);
  const { "content-encoding": encoding, "transfer-encoding": transfer } = headers;
  // None was asked for. One that is sent all the same could be a bomb, several surely are (T-N11).
  if ((encoding ?? "identity").toLowerCase() !== "identity") {
    throw new OutboundError("lost", `${hostname} answered in an encoding that was not asked for`);
  }
  if (transfer !== undefined && transfer.toLowerCase() !== "chunked") {
    throw new OutboundError("lost", `${hostname} answered in a framing that is not spoken`);
  }
  // Of a HEAD it is the length of what a GET would bring.
  const length = method === "HEAD" ? 0 : Number(headers["content-length"] ?? 0);
  if (length > maxBytes) throw oversized(hostname, maxBytes);
  return headers;
}

function joined(raw: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]?.toLowerCase() ?? "";
    const value = raw[i + 1] ?? "";
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}

function oversized(host: string, maxBytes: number): OutboundError {
  return new OutboundError("oversized", `${host} answered with more than ${maxBytes} bytes`);
}

function tooManyHeaders(host: string): OutboundError {
  return new OutboundError("oversized", `${host} answered with more than 16 KiB of headers`);
}
