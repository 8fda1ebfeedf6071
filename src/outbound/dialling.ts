// A connection to where a request goes: the name is resolved here, every address it stands for is judged,
// and the connection goes to one that was judged, so that a second answer of the name server changes
// nothing. TLS names and verifies the host of the URL.

import { constants } from "node:crypto";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Net, Nanos, Timers } from "@holdfast/shared/world";
import { OutboundError } from "@holdfast/plugin-sdk/outbound";
import { orAborted } from "../base/or-aborted.ts";
import type { AddressRules, Destination } from "./allowed-addresses.ts";
import type { Resolve } from "./system-resolver.ts";

const WHOLE: Nanos = 10n * SECOND; // name, connection and TLS together
const ATTEMPT: Nanos = 3n * SECOND; // at one address while others are left
const MAX_ADDRESSES = 64; // a name with more of them is somebody's joke
const MAX_ATTEMPTS = 4;

export interface DiallingOptions {
  readonly allowed: AddressRules;
  readonly net: Pick<Net, "connect">;
  readonly timers: Timers;
  readonly resolve: Resolve;
  /** PEM certificates that are trusted. Default: those of the runtime. */
  readonly authorities?: readonly string[] | undefined;
  /** A certificate to show, where the other side wants one; PEM. */
  readonly identity?: { readonly certificate: string; readonly key: string } | undefined;
}

export class Dialling {
  readonly #options: DiallingOptions;
  #context: SecureContext | undefined;

  constructor(options: DiallingOptions) {
    this.#options = options;
  }

  /** Ready for a request. Throws OutboundError: "forbidden" or "unreachable". */
  async dial(to: Destination, closing: AbortSignal): Promise<Duplex> {
    const ended = new AbortController();
    const timer = this.#options.timers.after(WHOLE, () => ended.abort());
    const signal = AbortSignal.any([ended.signal, closing]);
    try {
      const addresses = await judgedAddresses(to, this.#options, signal);
      const connection = await this.#connect(addresses, to, signal);
      return to.secure ? await this.#secure(connection, to.host, signal) : connection;
    } catch (error) {
      if (error instanceof OutboundError) throw error;
      if (signal.aborted) throw unreachable(to.host, "it did not answer in time");
      throw unreachable(to.host, codeOf(error));
    } finally {
      timer.cancel();
    }
  }

  async #connect(
    addresses: readonly string[],
    { port }: Destination,
    signal: AbortSignal,
  ): Promise<Duplex> {
    let last: unknown;
    for (const [i, address] of addresses.entries()) {
      signal.throwIfAborted();
      const attempt = new AbortController();
      const isLast = i === addresses.length - 1;
      const timer = this.#options.timers.after(isLast ? WHOLE : ATTEMPT, () => attempt.abort());
      try {
        const until = AbortSignal.any([signal, attempt.signal]);
        return await this.#options.net.connect({ host: address, port }, until);
      } catch (error) {
        last = error;
      } finally {
        timer.cancel();
      }
    }
    throw last;
  }

  #secure(connection: Duplex, host: string, signal: AbortSignal): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    // No session is ever resumed: each connection verifies its own certificate (T-I05).
    const socket = connect({
      socket: connection,
      secureContext: this.#trust(),
      // An address is no server name; which name the certificate must bear is said below for both.
      servername: isIP(host) === 0 ? host : "",
      rejectUnauthorized: true,
      checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
      ALPNProtocols: ["http/1.1"],
    });
    const abort = () => socket.destroy(new Error("it did not answer in time"));
    signal.addEventListener("abort", abort, { once: true });
    socket.once("secureConnect", () => resolve(socket));
    socket.on("error", reject); // stays: a later one ends the request, not the process
    socket.once("close", () => reject(new Error("it closed the connection")));
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  #trust(): SecureContext {
    const { authorities, identity } = this.#options;
    this.#context ??= createSecureContext({
      ...(authorities === undefined ? {} : { ca: [...authorities] }),
      ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
      minVersion: "TLSv1.2",
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_COMPRESSION,
    });
    return this.#context;
  }
}

/** Those that a host stands for, each of them judged; the first few. Throws OutboundError, and what `signal` says. */
export async function judgedAddresses(
  to: Destination,
  { resolve, allowed }: Pick<DiallingOptions, "resolve" | "allowed">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { host } = to;
  // The name server cannot be told to stop; nobody waits for it any longer.
  const found = isIP(host) === 0 ? await orAborted(resolve(host), signal) : [host];
  if (found.length === 0) throw unreachable(host, "its name stands for no address");
  if (found.length > MAX_ADDRESSES) throw unreachable(host, "its name stands for too many");
  for (const address of found) {
    const why = allowed.refusal(address, to);
    if (why === null) continue;
    const reason = isIP(host) === 0 ? "its name stands for" : "it is";
    throw new OutboundError(
      "forbidden",
      `${host}:${to.port} may not be called: ${reason} ${why}, ${allowed.cure(why)}`,
    );
  }
  return found.slice(0, MAX_ATTEMPTS);
}

function unreachable(host: string, why: string): OutboundError {
  return new OutboundError("unreachable", `${host} cannot be reached: ${why}`);
}

/** The code alone: the words of a certificate error repeat what the certificate says. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "failed";
  if ("code" in error && error.code === "network-failed") {
    return error.message.slice(error.message.lastIndexOf(" ") + 1);
  }
  return "code" in error ? String(error.code) : error.message;
}
