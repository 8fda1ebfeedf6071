// One request and its answer over HTTP/1.1 on Node's sockets, with or without TLS. It knows sockets and
// limits, not what is said over them.

import type { Agent, IncomingMessage, RequestOptions } from "node:http";
import https from "node:https";
import { concat } from "@holdfast/shared/bytes";
import { SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { ConnectionFailure, connectionFailure } from "../connection-failure.ts";
import type { ServerAddress } from "../server-address.ts";
import { MAX_ANSWER, type Received, type Sent, type Transport } from "../transport.ts";

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
    try {
      return await this.#exchange(sent);
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

  #exchange({ method, target, headers, body, held }: Sent): Promise<Received> {
    const { address, timers } = this.#options;
    const timeout = this.#options.timeout + held;
    const { promise, resolve, reject } = Promise.withResolvers<Received>();
    const options: RequestOptions = {
      method,
      path: address.base + target,
      agent: this.#agent,
      headers: { ...headers, ...(body === null ? {} : { "content-length": body.length }) },
      ...(address.socketPath === null
        ? { host: address.host, port: address.port }
        : { socketPath: address.socketPath }),
    };
    const request = address.secure ? https.request(options) : http.request(options);
    const timer = timers.after(timeout, () => {
      const detail = ` (waited ${showDuration(timeout)})`;
      request.destroy(new ConnectionFailure("timed-out", address, detail));
    });
    request.on("error", reject);
    request.on("response", (response) => {
      this.#collect(response).then(resolve, (error: unknown) => {
        request.destroy();
        reject(error);
      });
    });
    request.end(body ?? undefined);
    return promise.finally(() => timer.cancel());
  }

  async #collect(response: IncomingMessage): Promise<Received> {
    const { address, maxAnswer = MAX_ANSWER } = this.#options;
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of response) {
      if (!(part instanceof Uint8Array)) continue; // no encoding is set: every part is bytes
      length += part.length;
      if (length > maxAnswer) throw new ConnectionFailure("too-large", address, "");
      parts.push(part);
    }
    return {
      status: response.statusCode ?? 0,
      header: (name) => {
        const value = response.headers[name.toLowerCase()];
        return Array.isArray(value) ? value.join(", ") : value;
      },
      body: concat(...parts),
    };
  }
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
