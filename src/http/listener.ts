// One listener: accepts connections, counts them, does the TLS handshake and hands each connection to the
// protocol it speaks. Ends them all when the server stops.

import { Recurring } from "../base/recurring.ts";
import { createServer as createAcceptor, type Server, type Socket } from "node:net";
import {
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from "node:tls";
import { clientOf } from "@holdfast/shared/text/client-address";
import { MILLISECOND, HOUR, MINUTE } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import { forbidden } from "@holdfast/shared/failures";
import { isRefusal, whyNoPort, whyNoSocket } from "../base/forbidden.ts";
import type { Address, Nanos } from "@holdfast/shared/world";
import type { Remote } from "@holdfast/shared/endpoint/request";
import { type Arrivals, CONNECTION_COST, HANDSHAKE_COST } from "../base/arrivals.ts";
import {
  type Busy,
  type ConnectionBook,
  endsOf,
  plainAddress,
  type Seat,
  type Seated,
} from "../base/connection-book.ts";
import { spokePlainHttp, listenFailed } from "./failures.ts";
import type { HeldBytes } from "./held-bytes.ts";
import { ForwardedFor } from "./request/forwarded.ts";
import { Http1 } from "./http1/http1.ts";
import { Http2Connection } from "./http2/http2.ts";
import { type OpenStreams, StreamRoom } from "./http2/stream-room.ts";
import { isLoopbackAddress, type FullSettings } from "./listener-settings.ts";
import type { HttpOptions } from "./options.ts";
import { rawAnswer } from "./http1/raw-answer.ts";
import { Hello } from "../base/tls-hello.ts";
import { Reception } from "./reception.ts";
import { removeStale } from "./stale-socket.ts";
import type { Sweep, Swept } from "@holdfast/shared/sweep";
import { withTls } from "./tls-context.ts";

const TICKET_KEY_LIFE: Nanos = 12n * HOUR;
const TICKET_KEY_BYTES = 48;
// Connections that wait to be accepted. With the 511 of Node, thousands of clients that come back at
// once (after a restart, say) overflow it, and each that does waits for seconds. Systems lower it to
// what they allow: Linux to net.core.somaxconn, 4,096 by default.
const BACKLOG = 4096;

// Clients of the wrong protocol come back by themselves, each second perhaps: the log has one line for many.
const PLAIN_LOGGED: Nanos = MINUTE;
// A server that wants another key from a client answers with some hundred bytes, and with its certificate else. What costs
// comes after that, when the client likes: of one address so many may be at it.
const RETRY_BYTES = 120;
const MAX_RETRIES = 8;

interface Connection extends Swept, Seated {
  drain(): void;
}

/** What all listeners have in common. */
export interface SharedParts {
  readonly arrivals: Arrivals;
  readonly book: ConnectionBook;
  readonly sweep: Sweep;
  readonly memory: HeldBytes;
  readonly streams: OpenStreams;
}

export class HttpListener {
  readonly #options: HttpOptions;
  readonly #settings: FullSettings;
  readonly #arrivals: Arrivals;
  readonly #book: ConnectionBook;
  readonly #sweep: Sweep;
  readonly #streams: OpenStreams;
  readonly #forwarded: ForwardedFor;
  readonly reception: Reception;
  readonly #http1: Http1;
  readonly #acceptor: Server;
  readonly #tls: TlsServer | null;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Set<Connection>();
  readonly #handshakes = new Map<string, Handshake>(); // by both ends of the connection
  /** Handshakes that begin a second time, by client. */
  readonly #retries = new Map<string, number>();
  readonly #tickets: Recurring;
  #plainLogged: Nanos | null = null;
  #plainCount = 0; // since it was logged
  #draining = false;

  constructor(options: HttpOptions, settings: FullSettings, shared: SharedParts) {
    const { arrivals, book, sweep, memory, streams } = shared;
    this.#options = options;
    this.#settings = settings;
    this.#arrivals = arrivals;
    this.#book = book;
    this.#sweep = sweep;
    this.#streams = streams;
    this.#forwarded = new ForwardedFor(settings.forwardedForAuthorized);
    this.reception = new Reception(options, settings, this.#forwarded, memory);
    this.#http1 = new Http1(this.reception, settings.limits);
    this.#tls = settings.tls === null ? null : this.#makeTls();
    const { timers, log } = options;
    this.#tickets = new Recurring({
      trouble: "could not renew the keys of tickets",
      period: TICKET_KEY_LIFE,
      atOnce: false,
      run: async () => {
        if (this.#tls !== null) this.#renewTicketKeys(this.#tls);
      },
      timers,
      log,
    });
    const how = { noDelay: true, pauseOnConnect: true };
    this.#acceptor = createAcceptor(how, (socket) => this.#accept(socket));
  }

  // ── connections ──

  #accept(socket: Socket): void {
    socket.on("error", () => {}); // "close" follows, and that is what counts
    const remote = this.#remoteOf(socket);
    // A proxy speaks for many, and is the operator's own.
    const limited = remote !== null && remote.port > 0 && !this.#forwarded.believes(remote.address);
    const place = limited ? clientOf(remote.address) : null;
    const seat =
      remote === null || this.#draining
        ? null
        : this.#book.enter(place, remote.loopback, this.#settings.limits);
    if (remote === null || seat === null) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#book.leave(seat);
    });
    // Until it is served it keeps its seat, and nobody else's coming ends it.
    this.#arrivals.add(clientOf(remote.address), {
      cost: CONNECTION_COST,
      serve: () => {
        if (!socket.destroyed) this.#begin(socket, seat, remote);
      },
    });
  }

  #begin(socket: Socket, seat: Seat, remote: Remote): void {
    if (this.#tls === null) {
      this.#serve(socket, seat, this.#http1.take(socket, remote));
      socket.resume();
      return;
    }
    const { tlsHandshake } = this.#settings.limits;
    const handshake = new Handshake(socket, seat, this.reception.now(), tlsHandshake);
    const both = endsOf(socket);
    this.#handshakes.set(both, handshake);
    socket.on("close", () => {
      handshake.over();
      if (this.#handshakes.get(both) === handshake) this.#handshakes.delete(both);
    });
    this.#serve(socket, seat, handshake);
    this.#listenFor(socket, handshake, this.#tls, remote);
    socket.resume();
  }

  /** Looks at what comes first: whoever speaks plain HTTP is told so, in words that it understands; a hello is waited for
   *  whole. Whoever has begun in peace may send it when it likes, and many theirs at once. */
  #listenFor(socket: Socket, handshake: Handshake, tls: TlsServer, remote: Remote): void {
    const over = () => socket.destroy();
    const hello = new Hello();
    const look = (chunk: Buffer) => {
      const state = hello.add(chunk);
      if (state === "more") return;
      socket.off("end", over);
      socket.off("data", look);
      socket.pause();
      if (state === "whole") {
        const serve = () => this.#handshake(socket, hello.bytes, tls, remote);
        this.#arrivals.wait(clientOf(remote.address), { cost: HANDSHAKE_COST, serve });
        return;
      }
      if (!isHttp(hello.bytes)) {
        socket.destroy();
        return;
      }
      this.#notePlain(remote);
      const { headers, body } = this.reception.answerWithoutRequest(400, spokePlainHttp());
      handshake.answer(rawAnswer(400, headers, body), this.reception.now(), this.#settings.limits);
    };
    socket.once("end", over);
    socket.on("data", look);
  }

  #handshake(socket: Socket, hello: Buffer, tls: TlsServer, remote: Remote): void {
    if (socket.destroyed) return;
    socket.unshift(hello);
    tls.emit("connection", socket); // which answers it
    const client = clientOf(remote.address);
    void this.#options.timers.turn().then(() => this.#noteAnswer(socket, client));
  }

  /** What the hello was answered with is known now, and nothing else has come. */
  #noteAnswer(socket: Socket, client: string): void {
    const handshake = this.#handshakes.get(endsOf(socket));
    if (handshake === undefined || socket.bytesWritten > RETRY_BYTES) return;
    const count = (this.#retries.get(client) ?? 0) + 1;
    if (count > MAX_RETRIES) {
      socket.destroy();
      return;
    }
    this.#retries.set(client, count);
    handshake.onOver(() => {
      const left = (this.#retries.get(client) ?? 1) - 1;
      if (left === 0) this.#retries.delete(client);
      else this.#retries.set(client, left);
    });
  }

  #notePlain({ address }: Remote): void {
    const now = this.reception.now();
    this.#plainCount++;
    if (this.#plainLogged !== null && now - this.#plainLogged < PLAIN_LOGGED) return;
    this.#options.log.warn("plain HTTP came to a listener that speaks HTTPS", {
      from: address,
      times: this.#plainCount,
    });
    this.#plainLogged = now;
    this.#plainCount = 0;
  }

  #secured(socket: TLSSocket): void {
    const remote = this.#remoteOf(socket);
    const { limits } = this.#settings;
    socket.on("error", () => {});
    const handshake = this.#handshakes.get(endsOf(socket));
    handshake?.over();
    if (handshake !== undefined) this.#forget(handshake);
    const seat = handshake?.seat ?? null;
    // Asked for but not demanded: one that is sent must be good, or nobody is told that it is not.
    const unproven =
      socket.authorized === false && Object.keys(socket.getPeerCertificate()).length > 0;
    if (
      remote === null ||
      seat === null ||
      ((this.#settings.tls?.clientCaFile ?? null) !== null && unproven)
    ) {
      socket.destroy();
    } else if (socket.alpnProtocol === "h2") {
      const room = new StreamRoom(this.#streams, seat.place, limits);
      this.#serve(socket, seat, new Http2Connection(socket, remote, this.reception, limits, room));
    } else {
      this.#serve(socket, seat, this.#http1.take(socket, remote));
    }
  }

  #serve(socket: Socket, seat: Seat, connection: Connection): void {
    seat.holder = connection;
    this.#connections.add(connection);
    this.#sweep.add(connection);
    socket.on("close", () => this.#forget(connection));
    if (this.#draining) connection.drain();
  }

  #forget(connection: Connection): void {
    this.#connections.delete(connection);
    this.#sweep.remove(connection);
  }

  #remoteOf(socket: Socket): Remote | null {
    if (this.#settings.kind === "unix") return { address: "unix", port: 0, loopback: true };
    const { remoteAddress, remotePort } = socket;
    if (remoteAddress === undefined || remotePort === undefined) return null; // gone already
    const address = plainAddress(remoteAddress);
    return { address, port: remotePort, loopback: isLoopbackAddress(address) };
  }

  // ── TLS ──

  #makeTls(): TlsServer {
    const { tls, http2, limits } = this.#settings;
    const requireCert = tls?.requireClientCert === true;
    const server = createTlsServer({
      ALPNProtocols: http2 ? ["h2", "http/1.1"] : ["http/1.1"],
      requestCert: requireCert || (tls?.clientCaFile ?? null) !== null,
      rejectUnauthorized: requireCert,
      // The sweep ends them, a few at a time; Node's own timers would end all at once.
      handshakeTimeout: Number((2n * limits.tlsHandshake) / MILLISECOND),
    });
    server.on("secureConnection", (socket) => this.#secured(socket));
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }

  /** New connections use what the files hold now; a file that cannot be used changes nothing. */
  reload(): string | null {
    try {
      this.#useFiles();
      return null;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return error.message;
    }
  }

  #useFiles(): void {
    const { tls } = this.#settings;
    const server = this.#tls;
    if (tls === null || server === null) return;
    withTls(this.#options.fs, tls, (options) => server.setSecureContext(options));
    this.#renewTicketKeys(server);
    void this.#tickets.close(); // the next ones come a whole life later
    this.#tickets.open();
  }

  /** Whoever learns a ticket's key can read the connections that were resumed with it. */
  #renewTicketKeys(server: TlsServer): void {
    server.setTicketKeys(this.#options.random.bytes(TICKET_KEY_BYTES));
  }

  // ── begin and end ──

  async listen(): Promise<Address> {
    this.#useFiles();
    const { kind, host } = this.#settings;
    const acceptor = this.#acceptor;
    try {
      await this.#bind().catch(async (error: unknown) => {
        const free = kind === "unix" && (await removeStale(host, this.#options.fs));
        if (!free) throw error;
        await this.#bind();
      });
    } catch (error) {
      void this.#tickets.close();
      throw cannotListen(this.#settings, error);
    }
    // One connection could not be accepted, for want of descriptors, say. The listener goes on.
    acceptor.on("error", (error) =>
      this.#options.log.warn("a connection could not be accepted", { error: describe(error) }),
    );
    const bound = acceptor.address();
    return typeof bound === "object" && bound !== null
      ? { host: bound.address, port: bound.port }
      : { host, port: 0 };
  }

  #bind(): Promise<void> {
    const { kind, host, port } = this.#settings;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const acceptor = this.#acceptor;
    acceptor.once("error", reject);
    const where = kind === "unix" ? { path: host } : { host, port };
    acceptor.listen({ ...where, backlog: BACKLOG }, () => {
      acceptor.off("error", reject);
      resolve();
    });
    return promise;
  }

  /** No more connections; requests under way have until `grace` is over. */
  async close(grace: Nanos): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    void this.#tickets.close();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#acceptor.close(() => resolve());
    for (const connection of this.#connections) connection.drain();
    const timer = this.#options.timers.after(grace, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await promise;
    timer.cancel();
  }
}

/** A connection before it is one: a peer that does not get on with the handshake. */
class Handshake implements Connection {
  readonly seat: Seat;
  readonly busy: Busy = "beginning";
  readonly #socket: Socket;
  #since: Nanos;
  #limit: Nanos;

  #whenOver: () => void = () => {};

  constructor(socket: Socket, seat: Seat, since: Nanos, limit: Nanos) {
    this.#socket = socket;
    this.seat = seat;
    this.#since = since;
    this.#limit = limit;
  }

  onOver(call: () => void): void {
    this.#whenOver = call;
  }

  /** It is a connection now, or will be none. */
  over(): void {
    const call = this.#whenOver;
    this.#whenOver = () => {};
    call();
  }

  /** Unprotected, and the last that is said here. What still comes is read, for closing on it would take
   *  the answer away again. */
  answer(bytes: string, now: Nanos, { linger }: FullSettings["limits"]): void {
    this.#since = now;
    this.#limit = linger;
    this.#socket.end(bytes);
    this.#socket.on("data", () => {});
    this.#socket.resume();
  }

  drop(): void {
    this.#socket.destroy();
  }

  check(now: Nanos): boolean {
    if (now - this.#since <= this.#limit) return false;
    this.#socket.destroy();
    return true;
  }

  drain(): void {
    this.#socket.destroy();
  }
}

/** The beginning of a request line. */
function isHttp(chunk: Buffer): boolean {
  return /^[A-Z]{3,16} /.test(chunk.toString("latin1", 0, 17));
}

function cannotListen({ kind, host, port }: FullSettings, cause: unknown): Failure {
  const where = `cannot listen on ${kind === "unix" ? host : `${host}:${port}`}`;
  // What was in the way of the socket's file has said so itself.
  if (cause instanceof Failure)
    return new Failure(cause.kind, cause.code, `${where}: ${cause.message}`);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown cause";
  if (isRefusal(code)) {
    const why = kind === "unix" ? whyNoSocket(code, host) : whyNoPort(code, port);
    return forbidden(`${where}: ${why}`);
  }
  const reason = code === "EADDRINUSE" ? "the address is in use" : code;
  return listenFailed(`${where}: ${reason}`);
}
