// A connection to the cluster port of another cluster: TCP from the world, TLS with the set's own authority, HTTP/2.

import { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Address, Clock, Nanos, Net, Timer, Timers } from "@holdfast/shared/world";
import type { Sweep } from "@holdfast/shared/sweep";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import { peerOther, peerRefused } from "./failures.ts";
import { refusedHandshake } from "./turned-away.ts";
import { type DialledName, hostOf } from "./names.ts";
import type { Carried, Carrier } from "./peer-link.ts";
import { type Credentials, PROTOCOL_NAME, withCredentials } from "./tls.ts";
import { verifyBeside, verifyServer } from "./verify.ts";

/** A connection that took so long is far away: its first word takes as long again. */
const FAR: Nanos = 300n * MILLISECOND;

/** Packets that are dropped come again ever later, and each half of a handshake waits for the other. Where nothing has come back for so long the
 *  connection is tried anew, beside the one that is waited for. */
const ANEW: Nanos = 1500n * MILLISECOND;

export interface CarrierWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly net: Pick<Net, "connect">;
  readonly sweep: Sweep;
}

export class TlsCarrier implements Carrier {
  readonly #world: CarrierWorld;
  readonly #to: Address;
  readonly #set: DialledName & Credentials;
  /** Connections that stand, and for how long each was waited for. */
  #raws: { readonly stream: Duplex & { readonly bytesRead?: number }; readonly took: Nanos }[] = [];

  constructor(world: CarrierWorld, to: Address, set: DialledName & Credentials) {
    this.#world = world;
    this.#to = to;
    this.#set = set;
  }

  /** Who only takes the connection, and says nothing, may be the system of one that is dead. */
  get isReached(): boolean {
    return this.#raws.some(({ stream, took }) => took >= FAR || (stream.bytesRead ?? 0) > 0);
  }

  async connect(within: Nanos, signal: AbortSignal | undefined): Promise<Carried> {
    const { timers } = this.#world;
    this.#raws = [];
    const late = new AbortController();
    const give = () => late.abort(signal?.reason);
    const timer = timers.after(within, () =>
      late.abort(peerRefused("the peer does not answer in time")),
    );
    signal?.addEventListener("abort", give, { once: true });
    try {
      signal?.throwIfAborted();
      const socket = await this.#first(late.signal);
      return new ClientSession(socket, hostOf(this.#set), this.#world);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", give);
    }
  }

  /** Whichever stands first; where none does, why the first did not. */
  async #first(signal: AbortSignal): Promise<TLSSocket> {
    const { timers } = this.#world;
    const others = new AbortController();
    const either = AbortSignal.any([signal, others.signal]);
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const failed: unknown[] = [];
    let begun = 0;
    let timer: Timer | null = null;
    const begin = () => {
      begun++;
      timer = timers.after(ANEW, () => {
        if (!this.isReached) begin();
      });
      this.#connect(either).then(
        (socket) => {
          if (others.signal.aborted) socket.destroy();
          else resolve(socket);
        },
        (error: unknown) => {
          if (failed.push(error) === begun) reject(failed[0]);
        },
      );
    };
    begin();
    try {
      return await promise;
    } finally {
      timer!.cancel();
      others.abort();
    }
  }

  async #connect(signal: AbortSignal): Promise<TLSSocket> {
    const { net, clock } = this.#world;
    const began = clock.elapsed();
    const raw = await net.connect(this.#to, signal);
    this.#raws.push({ stream: raw, took: clock.elapsed() - began });
    return await this.#secure(raw, signal);
  }

  async #secure(raw: Duplex, signal: AbortSignal): Promise<TLSSocket> {
    const set = this.#set;
    const socket = withCredentials(set, (options) =>
      connect({
        ...options,
        socket: raw,
        servername: hostOf(set),
        ALPNProtocols: [PROTOCOL_NAME],
        // Looked at below, and more closely. That a member serves is no use that OpenSSL knows of its certificate.
        checkServerIdentity: () => undefined,
        rejectUnauthorized: set.beside !== true,
      }),
    );
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const over = () => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", over, { once: true });
    socket.once("secureConnect", resolve);
    socket.on("error", (cause) => reject(refusedHandshake(cause)));
    socket.once("close", () => reject(refusedHandshake(null)));
    try {
      await promise;
      const certificate = socket.getPeerX509Certificate();
      const authority = new X509Certificate(set.authority);
      const verify = set.beside === true ? verifyBeside : verifyServer;
      const wrong =
        certificate === undefined || socket.alpnProtocol !== PROTOCOL_NAME
          ? "it does not speak HTTP/2"
          : verify(certificate, authority, set, this.#world.clock.now());
      if (wrong !== null) throw peerOther(`the peer is not the port of this set: ${wrong}`);
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", over);
    }
  }
}
