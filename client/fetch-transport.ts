// Requests over `fetch`: in browsers and wherever else the runtime brings it. What the runtime decides by
// itself is left to it: which certificates are trusted, and how connections are kept.

import { Failure } from "@holdfast/shared/failure";
import { MILLISECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { ConnectionFailure, connectionFailure } from "./connection-failure.ts";
import { joinedBytes } from "./joined-bytes.ts";
import type { ServerAddress } from "./server-address.ts";
import {
  isStreamed,
  MAX_ANSWER,
  type Received,
  type ReceivedStream,
  type Sent,
  type StreamedBody,
  type Transport,
} from "./transport.ts";

export interface FetchOptions {
  readonly address: ServerAddress;
  /** From the start of a request to the last byte of its answer. */
  readonly timeout: Nanos;
  /** Default: the runtime's. */
  readonly fetch?: typeof fetch;
  readonly maxAnswer?: number;
}

const MAX_DELAY = 2 ** 31 - 1; // of a timer, in milliseconds

export class FetchTransport implements Transport {
  readonly address: ServerAddress;
  readonly #options: FetchOptions;

  constructor(options: FetchOptions) {
    if (options.address.socketPath !== null) {
      const message = "a Unix socket cannot be reached with fetch; use @holdfast/client/node";
      throw new Failure("invalid", "address-invalid", message);
    }
    this.#options = options;
    this.address = options.address;
  }

  async send(sent: Sent): Promise<Received> {
    const waiting = new Waiting(this.#options.timeout + sent.held, isStreamed(sent.body));
    try {
      const response = await this.#ask(sent, waiting);
      const bytes = await this.#collect(response);
      return { ...headOf(response), body: bytes };
    } catch (error) {
      throw this.#explained(error, waiting);
    } finally {
      waiting.end();
    }
  }

  async open(sent: Sent): Promise<ReceivedStream> {
    const waiting = new Waiting(this.#options.timeout + sent.held, true);
    try {
      const response = await this.#ask(sent, waiting);
      return {
        ...headOf(response),
        chunks: this.#chunks(response, waiting),
        trailer: () => undefined,
      };
    } catch (error) {
      waiting.end();
      throw this.#explained(error, waiting);
    }
  }

  /** The runtime resolves dots and turns backslashes before it sends: that would be another request. */
  #urlOf(target: string): string {
    const { secure, host, port, base } = this.address;
    const displayHost = host.includes(":") ? `[${host}]` : host;
    const url = `${secure ? "https" : "http"}://${displayHost}:${port}${base}${target}`;
    const [path] = `${base}${target}`.split("?", 1);
    if (URL.canParse(url) && new URL(url).pathname === path) return url;
    const message = 'a path may not hold ".", ".." or "\\": they are resolved before it is sent';
    throw new Failure("invalid", "path-segment", message);
  }

  close(): void {
    // Connections are the runtime's.
  }

  #ask({ method, target, headers, body }: Sent, waiting: Waiting): Promise<Response> {
    const send = this.#options.fetch ?? fetch;
    const streamed = isStreamed(body);
    return send(this.#urlOf(target), {
      method,
      headers,
      body: streamed ? streamOf(body, waiting) : body,
      ...(streamed ? { duplex: "half" as const } : {}),
      redirect: "manual",
      credentials: "omit",
      cache: "no-store",
      signal: waiting.signal,
    });
  }

  async *#chunks(response: Response, waiting: Waiting): AsyncGenerator<Uint8Array, void, void> {
    try {
      for await (const part of response.body ?? []) {
        waiting.renew();
        yield part;
        waiting.renew(); // whoever took it may have taken its time
      }
    } catch (error) {
      throw this.#explained(error, waiting);
    } finally {
      waiting.end();
    }
  }

  async #collect(response: Response): Promise<Uint8Array> {
    const { maxAnswer = MAX_ANSWER } = this.#options;
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of response.body ?? []) {
      length += part.length;
      if (length > maxAnswer) throw new ConnectionFailure("too-large", this.address, "");
      parts.push(part);
    }
    return joinedBytes(parts);
  }

  /** What went wrong is the cause of a TypeError, where it is told at all. */
  #explained(error: unknown, { late, timeout }: Waiting): ConnectionFailure | Failure {
    if (error instanceof Failure) return error;
    if (late) {
      const detail = ` (waited ${showDuration(timeout)})`;
      return new ConnectionFailure("timed-out", this.address, detail);
    }
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return connectionFailure(cause, this.address);
  }
}

function headOf(response: Response): Pick<Received, "status" | "header"> {
  return {
    // Browsers hide where a redirect leads, and its number.
    status: response.type === "opaqueredirect" ? 307 : response.status,
    header: (name) => response.headers.get(name) ?? undefined,
  };
}

function streamOf({ chunks }: StreamedBody, waiting: Waiting): ReadableStream<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const next = await source.next();
      waiting.renew();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await source.return?.();
    },
  });
}

/** How long is waited: in all, or where something is streamed since the last progress. */
class Waiting {
  readonly timeout: Nanos;
  readonly #streams: boolean;
  readonly #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout>;
  /** Whether it was over. */
  late = false;

  constructor(timeout: Nanos, streams: boolean) {
    this.timeout = timeout;
    this.#streams = streams;
    this.#timer = this.#begin();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  renew(): void {
    if (!this.#streams) return;
    clearTimeout(this.#timer);
    this.#timer = this.#begin();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #begin() {
    return setTimeout(
      () => {
        this.late = true;
        this.#abort.abort();
      },
      Math.min(Number(this.timeout / MILLISECOND), MAX_DELAY),
    );
  }
}
