// The cluster port: where other clusters come in. Several replication sets share it; the name that a client asks for
// selects one. Until a certificate has proved who comes, a connection is worth little: there are few of them, each has
// ten seconds, and those of one address wait behind each other.

import type { Duplex } from "node:stream";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { clientOf } from "@holdfast/shared/text/client-address";
import { MILLISECOND, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Address, Clock, Listener, Nanos, Net, Timers } from "@holdfast/shared/world";
import { Arrivals, CONNECTION_COST, HANDSHAKE_COST } from "../base/arrivals.ts";
import { Hello, serverNameOf } from "../base/tls-hello.ts";
import {
  type Busy,
  ConnectionBook,
  endsOf,
  plainAddress,
  type Seat,
} from "../base/connection-book.ts";
import { Sweep, type Swept } from "@holdfast/shared/sweep";
import { ServerSession } from "@holdfast/shared/grpc/server-session";
import type { SessionLimits } from "@holdfast/shared/grpc/session-life";
import type { PeerGate } from "./hello.ts";
import { hostOf, type PortName } from "./names.ts";
import { PortSet, type SetToServe } from "./port-set.ts";
import { PROTOCOL_NAME, TLS_OPTIONS } from "./tls.ts";
import { SEALED_HERE, UNKNOWN_HERE } from "./turned-away.ts";
import type { Peer } from "./verify.ts";

export interface PortLimits {
  readonly handshake: Nanos;
  /** Connections that have not proved anything. */
  readonly unproven: number;
  readonly unprovenPerAddress: number;
  readonly sessionsPerCertificate: number;
  readonly session: Partial<SessionLimits>;
}

const PORT_LIMITS: PortLimits = {
  handshake: 10n * SECOND,
  unproven: 64,
  unprovenPerAddress: 8,
  sessionsPerCertificate: 4,
  session: {},
};
/** Whoever is refused comes back by itself: the log has one line for many. */
const LOGGED: Nanos = MINUTE;

export interface PortWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly net: Net;
  readonly log: Log;
  /** Whether what is served lies behind a seal. Default: it does not. */
  readonly isSealed?: () => boolean;
}

type Connection = Duplex & { readonly remoteAddress?: string | undefined };

export class ClusterPort {
  readonly #world: PortWorld;
  readonly #limits: PortLimits;
  readonly #tls: Server;
  readonly #arrivals: Arrivals;
  readonly #book = new ConnectionBook();
  readonly #sweep: Sweep;
  readonly #sets = new Map<string, PortSet>(); // by host
  readonly #handshakes = new Map<string, Handshake>(); // by both ends of the connection
  #listener: Listener | null = null;
  #isClosing = false;
  #refused = 0; // since it was logged
  #logged: Nanos | null = null;

  constructor(world: PortWorld, limits: Partial<PortLimits> = {}) {
    this.#world = world;
    this.#limits = { ...PORT_LIMITS, ...limits };
    this.#arrivals = new Arrivals(world);
    this.#sweep = new Sweep(world.clock, world.timers);
    this.#tls = createServer({
      ...TLS_OPTIONS,
      ALPNProtocols: [PROTOCOL_NAME],
      requestCert: true,
      rejectUnauthorized: true,
      // Without a name there is no certificate to show, and the handshake ends.
      SNICallback: (host, done) => {
        const set = this.#sets.get(host);
        if (set === undefined) done(new Error("no such set"));
        else done(null, set.context);
      },
      // The sweep ends them; Node's own timers would end all at once.
      handshakeTimeout: Number((2n * this.#limits.handshake) / MILLISECOND),
    });
    this.#tls.on("secureConnection", (socket) => this.#secured(socket));
    this.#tls.on("tlsClientError", (_error, socket) => {
      this.#refuse(socket, "the handshake failed");
    });
  }

  /** Connections that have not proved anything yet. */
  get unproven(): number {
    return this.#book.all;
  }

  // ── sets ──

  /** Also in the place of what it served by that name, whose sessions end. */
  serve(set: SetToServe): void {
    const served = new PortSet(set);
    this.forget(set);
    this.#sets.set(served.host, served);
  }

  /** Its sessions end at once. */
  forget(name: PortName): void {
    const host = hostOf(name);
    for (const session of this.#sets.get(host)?.sessions ?? []) session.destroy();
    this.#sets.delete(host);
  }

  /** The certificate is refused from now on, and its sessions end at once. How many that were. */
  revoke(name: PortName, serial: string): number {
    return this.#sets.get(hostOf(name))?.revoke(serial) ?? 0;
  }

  /** These certificates are refused from now on, and no others. */
  refuseOnly(name: PortName, serials: Iterable<string>): void {
    this.#sets.get(hostOf(name))?.refuseOnly(serials);
  }

  // ── connections ──

  #accept(socket: Connection): void {
    socket.on("error", () => {}); // "close" follows, and that is what counts
    const address = plainAddress(socket.remoteAddress ?? "");
    const { unproven: connections, unprovenPerAddress: each } = this.#limits;
    const place = clientOf(address);
    const seat =
      this.#isClosing || address === ""
        ? null
        : this.#book.enter(place, false, {
            connections,
            connectionsPerAddress: each,
            connectionsPerLocalAddress: each,
          });
    if (seat === null) {
      socket.destroy();
      return;
    }
    const since = this.#world.clock.elapsed();
    const handshake = new Handshake(socket, { seat, address }, since, this.#limits.handshake);
    this.#handshakes.set(handshake.ends, handshake);
    seat.holder = handshake;
    this.#sweep.add(handshake);
    socket.on("close", () => this.#forget(handshake));
    this.#arrivals.add(place, {
      cost: CONNECTION_COST,
      serve: () => {
        if (!socket.destroyed) this.#listenFor(socket, place);
      },
    });
  }

  #forget(handshake: Handshake): void {
    this.#book.leave(handshake.seat);
    this.#sweep.remove(handshake);
    const { ends } = handshake;
    if (this.#handshakes.get(ends) === handshake) this.#handshakes.delete(ends);
  }

  /** Looks at what comes first: what cannot be a handshake costs none, and what is one waits for its turn whole. */
  #listenFor(socket: Connection, place: string): void {
    const over = () => socket.destroy();
    const hello = new Hello();
    const look = (chunk: Buffer) => {
      const state = hello.add(chunk);
      if (state === "more") return;
      socket.off("end", over);
      socket.off("data", look);
      socket.pause();
      if (state === "none") {
        this.#refuse(socket, "it does not speak TLS");
        return;
      }
      const name = serverNameOf(hello.bytes);
      if (name !== null && !this.#sets.has(name)) {
        this.#turnAway(socket);
        return;
      }
      const serve = () => {
        if (socket.destroyed) return;
        socket.unshift(hello.bytes);
        this.#tls.emit("connection", socket);
      };
      this.#arrivals.wait(place, { cost: HANDSHAKE_COST, serve });
    };
    socket.once("end", over);
    socket.on("data", look);
  }

  #secured(socket: TLSSocket): void {
    socket.on("error", () => {});
    const handshake = this.#handshakes.get(endsOf(socket));
    const set = this.#sets.get(typeof socket.servername === "string" ? socket.servername : "");
    const certificate = socket.getPeerX509Certificate();
    if (handshake === undefined || this.#isClosing) return void socket.destroy();
    if (set === undefined || certificate === undefined || !socket.authorized) {
      return this.#refuse(socket, "it shows no certificate");
    }
    if (socket.alpnProtocol !== PROTOCOL_NAME)
      return this.#refuse(socket, "it does not speak HTTP/2");
    if (socket.isSessionReused()) return this.#refuse(socket, "it goes on with an older session");
    const gate = set.judge(certificate, handshake.address, this.#world.clock);
    if ("mismatch" in gate) return this.#refuse(socket, `its certificate: ${gate.mismatch}`);
    const { serial } = gate.peer;
    if (set.sessionsOf(serial) >= this.#limits.sessionsPerCertificate) {
      return this.#refuse(socket, "its certificate has as many sessions as it may");
    }
    if (set.isRevoked(serial)) this.#note(handshake.address, "its certificate: it is revoked");
    this.#forget(handshake);
    set.add(serial, this.#begin(socket, gate));
  }

  #begin(socket: TLSSocket, gate: PeerGate): ServerSession<Peer> {
    const { clock, timers, log } = this.#world;
    const world = { clock, timers, sweep: this.#sweep };
    const session = new ServerSession<Peer>(socket, world, {
      table: gate.table,
      peer: gate.peer,
      admit: (path) => gate.admit(path),
      trouble: (path, error) =>
        log.error("a call of a peer failed", { path, error: describe(error) }),
      limits: this.#limits.session,
    });
    // Whoever has a certificate and says nothing is no peer either.
    const timer = timers.after(this.#limits.handshake, () => {
      if (!gate.isGreeted) session.destroy();
    });
    // Calls are refused from then on, and one that began before must not last for ever.
    const expiry = timers.after(gate.peer.expires - clock.now(), () => session.destroy());
    void session.closed.then(() => {
      timer.cancel();
      expiry.cancel();
    });
    return session;
  }

  #refuse(socket: Connection, reason: string): void {
    const from = this.#addressOf(socket);
    socket.destroy();
    this.#note(from, reason);
  }

  /** Whoever comes for a set that is not served learns whether it may be later, as anybody does by `sys/seal-status`. */
  #turnAway(socket: Connection): void {
    const isSealed = this.#world.isSealed?.() === true;
    this.#note(this.#addressOf(socket), isSealed ? "this cluster is sealed" : "no such set");
    socket.end(isSealed ? SEALED_HERE : UNKNOWN_HERE, () => socket.destroy());
  }

  #note(from: string, reason: string): void {
    const now = this.#world.clock.elapsed();
    this.#refused++;
    if (this.#logged !== null && now - this.#logged < LOGGED) return;
    this.#world.log.warn("a peer was refused at the cluster port", {
      ...(from === "" ? {} : { from }),
      reason,
      times: this.#refused,
    });
    this.#logged = now;
    this.#refused = 0;
  }

  /** One whose handshake has failed is closed already and has none: then it is that of whoever was closed just now. */
  #addressOf({ remoteAddress }: Connection): string {
    if (remoteAddress !== undefined) return plainAddress(remoteAddress);
    return this.#handshakes.values().find(({ isOver }) => isOver)?.address ?? "";
  }

  // ── begin and end ──

  async listen(on: Address): Promise<Address> {
    this.#listener = await this.#world.net.listen(on, (socket) => this.#accept(socket));
    return this.#listener.address;
  }

  /** Calls under way have until `grace` is over; then their signals are aborted, and their handlers are waited for. */
  async close(grace: Nanos): Promise<void> {
    this.#isClosing = true;
    for (const handshake of this.#handshakes.values()) handshake.drop();
    const sessions = [...this.#sets.values()].flatMap((set) => set.sessions);
    for (const session of sessions) session.drain();
    const timer = this.#world.timers.after(grace, () => {
      for (const session of sessions) session.destroy();
    });
    await Promise.all(sessions.map(({ closed }) => closed));
    timer.cancel();
    await this.#listener?.close();
  }
}

/** A connection that has not proved anything. */
class Handshake implements Swept {
  readonly busy: Busy = "beginning";
  readonly seat: Seat;
  readonly address: string;
  readonly ends: string;
  readonly #socket: Duplex;
  readonly #since: Nanos;
  readonly #limit: Nanos;

  constructor(
    socket: Duplex,
    { seat, address }: { readonly seat: Seat; readonly address: string },
    since: Nanos,
    limit: Nanos,
  ) {
    this.#socket = socket;
    this.ends = endsOf(socket); // it forgets them when it is closed
    this.seat = seat;
    this.address = address;
    this.#since = since;
    this.#limit = limit;
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  drop(): void {
    this.#socket.destroy();
  }

  check(now: Nanos): boolean {
    if (now - this.#since <= this.#limit) return false;
    this.#socket.destroy();
    return true;
  }
}
