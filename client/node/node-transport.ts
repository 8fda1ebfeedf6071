// One request and its answer over HTTP/1.1 on Node's sockets, with or without TLS. It knows sockets and
// limits, not what is said over them.

import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http";

import https from "node:https";
import { GrowingBytes } from "@holdfast/shared/bytes";
import { SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import { ConnectionFailure, connectionFailure } from "../connection-failure.ts";
import type { ServerAddress } from "../server-address.ts";
import {
  isStreamed,
  MAX_ANSWER,
  type Received,
  type ReceivedStream,
  type Sent,
  type Transport,
} from "../transport.ts";

// Not imported: an import reads all its names, and some load the runtime's whole fetch.
const http = process.getBuiltinModule("node:http");

/** PEM texts; null where none was given. */
export interface TlsChoice {
  readonly ca: string | null;
  readonly certificate: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
  readonly skipVerify: boolean;
}

export interface NodeTransportOptions {
  readonly address: ServerAddress;
  readonly tls: TlsChoice;
  /** From the start of a request to the last byte of its answer. */
  readonly timeout: Nanos;
  readonly timers: Pick<Timers, "after">;
  /** Largest answer in bytes. */
  readonly maxAnswer?: number;
}

const PROBE_PATIENCE = 2n * SECOND;

export class NodeTransport implements Transport {
  readonly address: ServerAddress;
  readonly #options: NodeTransportOptions;
  readonly #agent: Agent;

  constructor(options: NodeTransportOptions) {
    this.#options = options;
    this.address = options.address;
    this.#agent = this.address.secure
      ? new https.Agent({ keepAlive: true, ...tlsOptions(options.tls, this.address) })
      : new http.Agent({ keepAlive: true });
  }

  async send(sent: Sent): Promise<Received> {
    return this.#explaining(async () => {
      const begun = this.#begin(sent);
      try {
        const received = await this.#collect(await begun.response, begun);
        if (!begun.request.writableEnded) begun.request.destroy(); // a body that was not wanted
        return received;
      } catch (error) {
        begun.request.destroy();
        throw begun.patience.late ?? error;
      } finally {
        begun.patience.end();
      }
    });
  }

  open(sent: Sent): Promise<ReceivedStream> {
    return this.#explaining(async () => {
      const begun = this.#begin(sent);
      const response = await begun.response;
      return {
        status: response.statusCode ?? 0,
        header: (name) => joined(response.headers[name.toLowerCase()]),
        chunks: this.#chunks(response, begun),
        trailer: (name) => response.trailers[name.toLowerCase()],
      };
    });
  }

  async #explaining<T>(exchange: () => Promise<T>): Promise<T> {
    try {
      return await exchange();
    } catch (error) {
      throw await this.#explained(connectionFailure(error, this.address));
    }
  }

  /**
   * A server that speaks TLS hangs up on plain HTTP, or answers with an alert. Whether that was it, a
   * handshake tells; without one "try again" would be the advice, for ever.
   */
  async #explained(failure: ConnectionFailure): Promise<ConnectionFailure> {
    const { address, timeout, timers, tls } = this.#options;
    const guess = failure.problem === "broken" || failure.problem === "not-http";
    if (!guess || address.secure || address.socketPath !== null) return failure;
    const { probeTls } = await import("./tls-probe.ts");
    const patience = timeout < PROBE_PATIENCE ? timeout : PROBE_PATIENCE;
    try {
      await probeTls({ address, tls, timeout: patience, timers });
    } catch (error) {
      // An alert is TLS too: it was refused for something else than the language.
      const { problem } = connectionFailure(error, address);
      if (problem !== "client-certificate") return failure;
    }
    return new ConnectionFailure("speaks-tls", address, "");
  }

  /** Ends idle connections, which would otherwise keep the process. */
  close(): void {
    this.#agent.destroy();
  }

  /** From here on nothing may stand still for longer than the time-out. */
  #begin({ method, target, headers, body, held }: Sent): Begun {
    const { address, timers } = this.#options;
    const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const length = isStreamed(body) ? body.length : (body?.length ?? null);
    const options: RequestOptions = {
      method,
      path: address.base + target,
      agent: this.#agent,
      headers: { ...headers, ...(length === null ? {} : { "content-length": length }) },
      ...(address.socketPath === null
        ? { host: address.host, port: address.port }
        : { socketPath: address.socketPath }),
    };
    const request = address.secure ? https.request(options) : http.request(options);
    const timeout = this.#options.timeout + held;
    const patience = new Patience(timers, timeout, () => {
      const detail = ` (waited ${showDuration(timeout)})`;
      const late = new ConnectionFailure("timed-out", address, detail);
      request.destroy(late);
      return late;
    });
    // An answer that comes before all of a body was sent is the answer; what breaks after it was broken off.
    request.on("error", reject);
    request.on("response", resolve);
    if (isStreamed(body)) void sendChunks(request, body.chunks, patience);
    else request.end(body ?? undefined);
    response.catch(() => patience.end());
    return { request, response, patience };
  }

  async *#chunks(response: IncomingMessage, { request, patience }: Begun) {
    const { address } = this.#options;
    patience.renew();
    try {
      for await (const part of response) {
        if (!(part instanceof Uint8Array)) continue; // no encoding is set: every part is bytes
        patience.renew();
        yield part;
        patience.renew(); // whoever took it may have taken its time
      }
    } catch (error) {
      throw patience.late ?? connectionFailure(error, address);
    } finally {
      patience.end();
      if (!response.complete) request.destroy();
    }
  }

  async #collect(response: IncomingMessage, { patience }: Begun): Promise<Received> {
    const { address, maxAnswer = MAX_ANSWER } = this.#options;
    const all = new GrowingBytes();
    for await (const part of response) {
      if (!(part instanceof Uint8Array)) continue; // as above
      if (all.length + part.length > maxAnswer) {
        throw new ConnectionFailure("too-large", address, "");
      }
      all.add(part);
    }
    patience.end();
    return {
      status: response.statusCode ?? 0,
      header: (name) => joined(response.headers[name.toLowerCase()]),
      body: all.bytes,
    };
  }
}

interface Begun {
  readonly request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
  readonly patience: Patience;
}

/** Waits for so long, from now or from the last progress on. */
class Patience {
  readonly #timers: Pick<Timers, "after">;
  readonly #timeout: Nanos;
  readonly #over: () => ConnectionFailure;
  #timer: Timer | null = null;
  /** There when it was over. */
  late: ConnectionFailure | null = null;

  constructor(timers: Pick<Timers, "after">, timeout: Nanos, over: () => ConnectionFailure) {
    this.#timers = timers;
    this.#timeout = timeout;
    this.#over = over;
    this.renew();
  }

  renew(): void {
    this.#timer?.cancel();
    this.#timer = this.#timers.after(this.#timeout, () => {
      this.late = this.#over();
    });
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}

/** As fast as the server takes it. */
async function sendChunks(
  request: ClientRequest,
  chunks: AsyncIterable<Uint8Array>,
  patience: Patience,
): Promise<void> {
  let answered = false;
  request.once("response", () => (answered = true));
  try {
    for await (const chunk of chunks) {
      if (request.destroyed || answered) return; // nobody wants the rest
      patience.renew();
      if (request.write(chunk)) continue;
      await new Promise<void>((resolve) => {
        const goOn = () => {
          request.off("drain", goOn).off("close", goOn);
          resolve();
        };
        request.on("drain", goOn).on("close", goOn);
      });
    }
    request.end();
  } catch (error) {
    request.destroy(error instanceof Error ? error : new Error("the body could not be read"));
  }
}

function joined(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(", ") : value;
}

export function tlsOptions(tls: TlsChoice, address: ServerAddress): https.AgentOptions {
  // An IP address is no server name: TLS forbids it, and Node warns.
  const named = tls.serverName ?? (/^[\d.]+$|:/.test(address.host) ? null : address.host);
  return {
    minVersion: "TLSv1.2",
    rejectUnauthorized: !tls.skipVerify,
    ...(named === null ? {} : { servername: named }),
    ...(tls.ca === null ? {} : { ca: tls.ca }),
    ...(tls.certificate === null ? {} : { cert: tls.certificate }),
    ...(tls.key === null ? {} : { key: tls.key }),
  };
}
