// One request and its answer over HTTP/1.1. Redirects are answers like others; what is longer than the
// limits, encoded or cut off is none.

import { type ClientRequest, type IncomingMessage, request as ask } from "node:http";
import { concat, utf8 } from "@holdfast/shared/bytes";
import type { Nanos, Timers } from "@holdfast/shared/world";
import {
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
} from "@holdfast/plugin-sdk/outbound";
import type { Connections } from "./connections.ts";
import { sentHeaders } from "./request-headers.ts";

const MILLI: Nanos = 1_000_000n;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_BYTES = 1024 * 1024;
const WITHIN_MS = 30_000;
const METHOD = /^[A-Z]{1,20}$/;
const BODILESS = new Set(["GET", "HEAD"]);

/** Throws OutboundError and nothing else. */
export async function exchange(
  asked: OutboundRequest,
  connections: Connections,
  timers: Timers,
): Promise<OutboundAnswer> {
  const { url, signal, within = WITHIN_MS } = asked;
  const host = url.hostname;
  if (signal.aborted) throw new OutboundError("aborted", `a call to ${host} was given up`);
  const request = begin(asked, connections);
  const { promise, resolve, reject } = Promise.withResolvers<OutboundAnswer>();

  let sent = false; // from then on it may have had its effect
  request.once("socket", () => {
    sent = true;
  });
  const broken = (why: string) =>
    sent
      ? new OutboundError("lost", `${host} gave no whole answer: ${why}`)
      : new OutboundError("unreachable", `${host} cannot be reached: ${why}`);
  request.on("error", (error) => reject(troubleOf(error, host, broken)));
  const closed = () => reject(broken("the connection was closed"));
  request.once("close", closed);
  request.once("response", (response) => {
    request.off("close", closed); // from now on the answer itself tells whether it is whole
    collect(response, asked).then(resolve, (error: unknown) => {
      reject(troubleOf(error, host, broken));
      // The answer first: ending the request would read the rest and keep the connection.
      response.destroy();
      request.destroy();
    });
  });

  const giveUp = (error: OutboundError) => {
    reject(error);
    request.destroy();
  };
  const abort = () => giveUp(new OutboundError("aborted", `a call to ${host} was given up`));
  signal.addEventListener("abort", abort, { once: true });
  const timer = timers.after(BigInt(within) * MILLI, () => giveUp(broken("it took too long")));
  const end = connections.begin();
  request.end(bytesOf(asked) ?? undefined);
  try {
    return await promise;
  } finally {
    end();
    timer.cancel();
    signal.removeEventListener("abort", abort);
  }
}

function begin(asked: OutboundRequest, connections: Connections): ClientRequest {
  const { method, url } = asked;
  const refuse = (what: string): never => {
    throw new OutboundError("forbidden", `a request to ${url.hostname} may not be sent: ${what}`);
  };
  if (!METHOD.test(method)) refuse("its method is none");
  const body = bytesOf(asked);
  if (body !== null && BODILESS.has(method)) refuse(`a ${method} has no body`);
  const length = body?.length ?? (BODILESS.has(method) ? null : 0);
  const headers = sentHeaders(asked, length);
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
    // Node would leave the rest away; collect() counts them, with the bytes between that Node does not.
    request.maxHeadersCount = 0;
    return request;
  } catch {
    return refuse("it is malformed");
  }
}

function bytesOf({ body }: OutboundRequest): Uint8Array | null {
  if (body === undefined) return null;
  return typeof body === "string" ? utf8(body) : body;
}

async function collect(
  response: IncomingMessage,
  { url: { hostname }, maxBytes = MAX_BYTES }: OutboundRequest,
): Promise<OutboundAnswer> {
  const { rawHeaders } = response;
  const headerBytes = rawHeaders.reduce((sum, { length }) => sum + length + 2, 0);
  if (headerBytes > MAX_HEADER_BYTES) throw tooManyHeaders(hostname);
  const headers = joined(rawHeaders);
  const oversized = () =>
    new OutboundError("oversized", `${hostname} answered with more than ${maxBytes} bytes`);
  const { "content-encoding": encoding, "transfer-encoding": transfer } = headers;
  // None was asked for. One that is sent all the same could be a bomb, several surely are (T-N11).
  if ((encoding ?? "identity").toLowerCase() !== "identity") {
    throw new OutboundError("lost", `${hostname} answered in an encoding that was not asked for`);
  }
  if (transfer !== undefined && transfer.toLowerCase() !== "chunked") {
    throw new OutboundError("lost", `${hostname} answered in a framing that is not spoken`);
  }
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw oversized();
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response) {
    if (!(part instanceof Uint8Array)) continue; // no text encoding is set: every part is bytes
    length += part.length;
    if (length > maxBytes) throw oversized();
    parts.push(part);
  }
  if (!response.complete) throw new Error("the answer ended early");
  return { status: response.statusCode ?? 0, headers, body: concat(...parts) };
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

function troubleOf(
  error: unknown,
  host: string,
  broken: (why: string) => OutboundError,
): OutboundError {
  if (error instanceof OutboundError) return error;
  // Codes alone: the parser's own words repeat what was sent.
  const code = error instanceof Error && "code" in error ? String(error.code) : "the answer is cut";
  return code === "HPE_HEADER_OVERFLOW" ? tooManyHeaders(host) : broken(code);
}

function tooManyHeaders(host: string): OutboundError {
  return new OutboundError("oversized", `${host} answered with more than 16 KiB of headers`);
}
