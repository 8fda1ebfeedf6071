// The HTTP front: any number of listeners over one pipeline. They share the count of connections and the
// clock hand that ends what takes too long.

import type { Address, Nanos } from "@holdfast/shared/world";
import { Arrivals } from "../base/arrivals.ts";
import { ConnectionBook } from "../base/connection-book.ts";
import { HeldBytes } from "./held-bytes.ts";
import { OpenStreams } from "./http2/stream-room.ts";
import { HttpListener } from "./listener.ts";
import {
  withDefaults,
  type ListenerSettings,
  type ResponseHeaders as Configured,
} from "./listener-settings.ts";
import type { HttpOptions } from "./options.ts";
import { Sweep } from "@holdfast/shared/sweep";

export interface Bound {
  /** For people and clients; a socket's path as unix:/path. */
  readonly url: string;
  readonly address: Address;
  /** Replaces the configured headers of answers; refused as a whole if one cannot be sent. */
  setResponseHeaders(headers: Configured): void;
}

export class HttpServer {
  readonly #options: HttpOptions;
  readonly #arrivals: Arrivals;
  readonly #book = new ConnectionBook();
  readonly #memory = new HeldBytes();
  readonly #streams = new OpenStreams();
  readonly #sweep: Sweep;
  readonly #listeners: HttpListener[] = [];

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#arrivals = new Arrivals(options);
    this.#sweep = new Sweep(options.clock, options.timers);
  }

  /** Requests that have no answer yet. */
  get inFlight(): number {
    return this.#listeners.reduce((sum, { reception }) => sum + reception.running, 0);
  }

  get connections(): number {
    return this.#book.all;
  }

  /** Of bodies and answers that lie in memory, the large ones. */
  get heldBytes(): number {
    return this.#memory.all;
  }

  /** Of HTTP/2. */
  get openStreams(): number {
    return this.#streams.all;
  }

  async listen(options: ListenerSettings): Promise<Bound> {
    const settings = withDefaults(options);
    const listener = new HttpListener(this.#options, settings, {
      arrivals: this.#arrivals,
      book: this.#book,
      sweep: this.#sweep,
      memory: this.#memory,
      streams: this.#streams,
    });
    const address = await listener.listen();
    this.#listeners.push(listener);
    const scheme = settings.tls === null ? "http" : "https";
    const url =
      settings.kind === "unix"
        ? `unix:${address.host}`
        : `${scheme}://${hostOf(address.host)}:${address.port}`;
    return {
      url,
      address,
      setResponseHeaders: (headers) => listener.reception.responseHeaders.use(headers),
    };
  }

  /** Reads certificates and keys again. Gives what was wrong; there the old ones stay in use. */
  reload(): Promise<string[]> {
    const problems = this.#listeners.map((listener) => listener.reload());
    return Promise.resolve(problems.filter((problem) => problem !== null));
  }

  /** Stops accepting, lets requests finish for as long as `grace`, then cuts what is left. */
  async close(grace: Nanos): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close(grace)));
  }
}

/** An address that stands for all of them is reached under the nearest one. */
function hostOf(address: string): string {
  if (address === "0.0.0.0") return "127.0.0.1";
  if (address === "::") return "[::1]";
  return address.includes(":") ? `[${address}]` : address;
}
