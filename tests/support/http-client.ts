// A small HTTP client for tests: any verb, any header, no redirects, no opinion. The product's own client is
// tested elsewhere; this one must not share its bugs.

import { Agent, type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";

export interface CallOptions {
  readonly token?: string | undefined;
  readonly namespace?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ca?: string;
  /** Default: connections are kept for the next call. False: this call has one of its own. */
  readonly agent?: Agent | false;
}

/** A connection for each call would be half of what a call costs. */
const KEPT = new Agent({ keepAlive: true });

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parsed body; undefined when it is empty or not JSON. */
  readonly json: unknown;
}

/** `base` such as http://127.0.0.1:8200; `path` is sent as it stands. */
export function call(
  base: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { hostname, port, protocol } = new URL(base);
  const { token, namespace, body, ca } = options;
  const payload =
    body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const headers: Record<string, string> = {
    ...(token === undefined ? {} : { "X-Service-Token": token }),
    ...(namespace === undefined ? {} : { "X-Service-Namespace": namespace }),
    ...(payload === undefined
      ? {}
      : {
          "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
          "Content-Length": String(Buffer.byteLength(payload)),
        }),
    ...options.headers,
  };
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const settings = { host: hostname, port, method, path, headers, agent: options.agent ?? KEPT };
  const sent =
    protocol === "https:"
      ? secureRequest({ ...settings, agent: false, ca }, read)
      : request(settings, read);
  function read(response: IncomingMessage): void {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("error", reject);
    response.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text,
        json: parsed(text),
      });
    });
  }
  sent.on("error", (error: NodeJS.ErrnoException) => {
    // The server had ended the connection before it saw the request, as it may.
    const isOver = sent.reusedSocket && error.code === "ECONNRESET" && options.agent === undefined;
    if (isOver) resolve(call(base, method, path, { ...options, agent: false }));
    else reject(error);
  });
  sent.end(payload);
  return promise;
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A member of an answer by its path: at(answer, "data", "id"). */
export function at(answer: Answer, ...path: readonly (string | number)[]): unknown {
  let value: unknown = answer.json;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

export function errorsOf(answer: Answer): unknown {
  return at(answer, "errors");
}
