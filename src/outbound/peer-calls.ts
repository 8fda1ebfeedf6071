// Single calls to the API of another cluster, whose address an operator has named: trust is of the one call, nothing is kept
// of its connection, and one redirect to the active node is followed.

import { OutboundError, type OutboundAnswer } from "@holdfast/plugin-sdk/outbound";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Address, Net, Timers } from "@holdfast/shared/world";
import { placeOf } from "./address-kinds.ts";
import { PeerAddresses } from "./allowed-addresses.ts";
import { Connections } from "./connections.ts";
import { Dialling, type DiallingOptions, judgedAddresses } from "./dialling.ts";
import { destinationOf, readEndpoint } from "./endpoint-url.ts";
import { exchange } from "./exchange.ts";
import { type Resolve, resolveBySystem } from "./system-resolver.ts";

const WITHIN_MS = 5_000; // each address
const WITHIN = BigInt(WITHIN_MS) * MILLISECOND;
const MAX_BYTES = 64 * 1024;
const MAX_LOCATION = 2048;

export interface PeerCallsOptions {
  /** outbound_allow: of it only what opens this machine counts. */
  readonly allow: readonly string[];
  readonly dev: boolean;
  readonly timers: Timers;
  readonly net: Pick<Net, "connect">;
  /** Default: as the system does. */
  readonly resolve?: Resolve;
}

export type PeerTrust = Pick<DiallingOptions, "authorities" | "identity">;

export interface PeerRequest {
  readonly method: string;
  /** Below the address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export class PeerCalls {
  readonly #options: PeerCallsOptions;
  readonly #allowed: PeerAddresses;

  constructor(options: PeerCallsOptions) {
    this.#options = options;
    this.#allowed = new PeerAddresses(options);
  }

  /** Throws an "invalid" Failure that begins with `field` for what is no address, and OutboundError for everything else. */
  async send(
    field: string,
    address: string,
    request: PeerRequest,
    trust: PeerTrust = {},
  ): Promise<OutboundAnswer> {
    const base = readEndpoint(field, address.replace(/\/+$/, ""), { plain: this.#options.dev });
    const url = new URL(base.pathname.replace(/\/$/, "") + request.path, base);
    const answer = await this.#call(url, request, trust);
    if (answer.status !== 307) return answer;
    return await this.#call(targetOf(answer, url), request, trust);
  }

  /**
   * Where a cluster port is that somebody has named, for whoever connects by itself: addresses that were judged, so that a second
   * answer of the name server changes nothing. Throws as `send` does.
   */
  async locate(field: string, address: string, signal: AbortSignal): Promise<readonly Address[]> {
    const url = readEndpoint(field, address, { plain: false });
    const to = destinationOf(url, { plain: false, metadata: false });
    const { timers, resolve = resolveBySystem } = this.#options;
    const late = new AbortController();
    const timer = timers.after(WITHIN, () => late.abort());
    const until = AbortSignal.any([signal, late.signal]);
    try {
      const found = await judgedAddresses(to, { resolve, allowed: this.#allowed }, until);
      return found.map((host) => ({ host, port: to.port }));
    } catch (error) {
      if (error instanceof OutboundError) throw error;
      throw new OutboundError("unreachable", `${to.host} cannot be reached: its name is not known`);
    } finally {
      timer.cancel();
    }
  }

  async #call(url: URL, request: PeerRequest, trust: PeerTrust): Promise<OutboundAnswer> {
    const { net, timers, resolve = resolveBySystem } = this.#options;
    const plain = this.#mayBePlain(url);
    const to = destinationOf(url, { plain, metadata: false });
    const dialling = new Dialling({ allowed: this.#allowed, net, timers, resolve, ...trust });
    const connections = new Connections(to, dialling);
    try {
      const { method, headers, signal } = request;
      const sent = { method, url, headers, signal, plain, within: WITHIN_MS, maxBytes: MAX_BYTES };
      return await exchange(sent, connections, timers);
    } finally {
      connections.close();
    }
  }

  /** What is sent is worth as much as a key: without TLS only to this machine, while somebody tries things out. */
  #mayBePlain({ hostname }: URL): boolean {
    return this.#options.dev && placeOf(hostname.replace(/^\[|\]$/g, ""))?.kind === "loopback";
  }
}

function targetOf({ headers }: OutboundAnswer, from: URL): URL {
  const { location = "" } = headers;
  const target = location.length <= MAX_LOCATION ? URL.parse(location, from) : null;
  if (target === null || location === "") {
    throw new OutboundError("lost", `${from.hostname} redirects to nowhere`);
  }
  return target;
}
