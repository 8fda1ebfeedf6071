// Requests over `fetch`: in browsers and wherever else the runtime brings it. What the runtime decides by
// itself is left to it: which certificates are trusted, and how connections are kept.

import { Failure } from "@holdfast/shared/failure";
import { MILLISECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { ConnectionFailure, connectionFailure } from "./connection-failure.ts";
import type { ServerAddress } from "./server-address.ts";
import { MAX_ANSWER, type Received, type Sent, type Transport } from "./transport.ts";

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
    const timeout = this.#options.timeout + sent.held;
    const late = AbortSignal.timeout(Math.min(Number(timeout / MILLISECOND), MAX_DELAY));
    const url = this.#urlOf(sent.target);
    try {
      return await this.#exchange(url, sent, late);
    } catch (error) {
      if (late.aborted) {
        throw new ConnectionFailure(
          "timed-out",
          this.address,
          ` (waited ${showDuration(timeout)})`,
        );
      }
      throw this.#explained(error);
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

  async #exchange(
    url: string,
    { method, headers, body }: Sent,
    signal: AbortSignal,
  ): Promise<Received> {
    const send = this.#options.fetch ?? fetch;
    const response = await send(url, {
      method,
      headers,
      body,
      redirect: "manual",
      credentials: "omit",
      cache: "no-store",
      signal,
    });
    // Browsers hide where a redirect leads, and its number.
    const status = response.type === "opaqueredirect" ? 307 : response.status;
    const bytes = await this.#collect(response);
    return { status, header: (name) => response.headers.get(name) ?? undefined, body: bytes };
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
    const whole = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  /** What went wrong is the cause of a TypeError, where it is told at all. */
  #explained(error: unknown): ConnectionFailure {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return connectionFailure(cause, this.address);
  }
}
