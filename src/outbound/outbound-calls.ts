// The one way out of the server for engines: each mount gets its own, and connections are
// shared by nobody else. What may be called is in allowed-addresses.ts, how in dialling.ts and exchange.ts.

import type { Net, Timers } from "@holdfast/shared/world";
import {
  type EndpointRules,
  type StreamingOutbound,
  OutboundError,
  type OutboundRequest,
} from "@holdfast/plugin-sdk/outbound";
import { placeOf } from "./address-kinds.ts";
import { AllowedAddresses, type Destination } from "./allowed-addresses.ts";
import { Connections } from "./connections.ts";
import { Dialling } from "./dialling.ts";
import { destinationOf, readEndpoint } from "./endpoint-url.ts";
import { endpointInvalid } from "./failures.ts";
import { exchange, open } from "./exchange.ts";
import { type Resolve, resolveBySystem } from "./system-resolver.ts";

export interface OutboundOptions {
  /** Addresses, networks and hosts beside the public ones: outbound_allow. */
  readonly allow: readonly string[];
  /** Opens loopback and private addresses. */
  readonly dev: boolean;
  readonly timers: Timers;
  readonly net: Pick<Net, "connect">;
  /** Default: as the system does. */
  readonly resolve?: Resolve;
  /** PEM certificates that are trusted. Default: those of the runtime. */
  readonly authorities?: readonly string[];
}

export class OutboundCalls {
  readonly #timers: Timers;
  readonly #allowed: AllowedAddresses;
  readonly #dialling: Dialling;
  readonly #connections = new Map<string, Connections>();
  #closed = false;

  constructor({ allow, dev, timers, net, resolve, authorities }: OutboundOptions) {
    this.#timers = timers;
    this.#allowed = new AllowedAddresses({ allow, dev });
    this.#dialling = new Dialling({
      allowed: this.#allowed,
      net,
      timers,
      resolve: resolve ?? resolveBySystem,
      authorities,
    });
  }

  for(mountUuid: string): StreamingOutbound {
    return {
      endpoint: (field, text, rules) => this.#endpoint(field, text, rules),
      send: async (request) =>
        exchange(request, this.#connectionsFor(mountUuid, request), this.#timers),
      open: async (request) =>
        open(request, this.#connectionsFor(mountUuid, request), this.#timers),
    };
  }

  /** Cuts every connection; nothing is called any more. */
  close(): void {
    this.#closed = true;
    for (const connections of this.#connections.values()) connections.close();
    this.#connections.clear();
  }

  /** An address that may never be called is told of now, not at every call. */
  #endpoint(field: string, text: string, { plain, metadata = false }: EndpointRules): URL {
    const url = readEndpoint(field, text, { plain: plain !== false });
    const to = destinationOf(url, { plain: true, metadata });
    if (plain === "loopback" && !to.secure && placeOf(to.host)?.kind !== "loopback") {
      throw endpointInvalid(
        field,
        "must begin with https://, or be an address of this machine, such as http://127.0.0.1:8080: " +
          "what is sent there proves who this server is",
      );
    }
    if (placeOf(to.host) !== null) this.#checkAddress(field, to);
    return url;
  }

  #checkAddress(field: string, to: Destination): void {
    const why = this.#allowed.refusal(to.host, to);
    if (why === null) return;
    const message = `${to.host}:${to.port} may not be called: it is ${why}`;
    throw endpointInvalid(field, `${message}, ${this.#allowed.cure()}`);
  }

  #connectionsFor(mountUuid: string, request: OutboundRequest): Connections {
    const { url, plain = false, metadata = false, identity = "" } = request;
    const to = destinationOf(url, { plain, metadata });
    if (this.#closed) {
      throw new OutboundError("unreachable", `${to.host} cannot be reached: the server is closing`);
    }
    // What a connection was allowed for is part of what it is.
    const key = JSON.stringify([mountUuid, url.origin, metadata, identity]);
    const known = this.#connections.get(key);
    if (known !== undefined) return known;
    for (const [other, { isEmpty }] of this.#connections) {
      if (isEmpty) this.#connections.delete(other);
    }
    const made = new Connections(to, this.#dialling);
    this.#connections.set(key, made);
    return made;
  }
}
