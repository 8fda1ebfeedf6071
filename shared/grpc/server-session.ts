// The serving end of a session: its streams as calls of a fixed table of methods.

import {
  constants,
  performServerHandshake,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import { SECOND } from "../text/duration.ts";
import type { Nanos } from "../world.ts";
import type { Swept } from "../sweep.ts";
import { MessageRoom } from "./message-room.ts";
import type { Served, ServiceTable } from "./method.ts";
import { ANSWER_HEAD, readOpening, trailersOf } from "./headers.ts";
import { ServerCall } from "./server-call.ts";
import {
  Liveness,
  Resets,
  SESSION_LIMITS,
  type SessionLimits,
  sessionOptions,
  type SessionWorld,
} from "./session-life.ts";
import { Status, StatusError, statusOf } from "./status.ts";

const LINGER: Nanos = 5n * SECOND;

export interface Serving<P> {
  readonly table: ServiceTable<P>;
  readonly peer: P;
  /** Asked before every call; throws where the peer may not call any more. */
  readonly admit?: (path: string) => void;
  /** An error that the peer is not told about. */
  readonly trouble?: (path: string, error: unknown) => void;
  readonly limits?: Partial<SessionLimits>;
}

export class ServerSession<P> implements Swept {
  readonly #session: ServerHttp2Session;
  readonly #socket: Duplex;
  readonly #world: SessionWorld;
  readonly #serving: Serving<P>;
  readonly #limits: SessionLimits;
  readonly #room: MessageRoom;
  readonly #liveness: Liveness;
  readonly #resets: Resets;
  readonly #calls = new Set<ServerCall<P>>();
  /** Streams that were answered and go on, by when they were. */
  readonly #lingering = new Map<ServerHttp2Stream, Nanos>();
  /** Resolves when nothing of it is left, handlers included. */
  readonly closed: Promise<void>;
  #over: (() => void) | null = null;
  #isClosed = false;

  constructor(socket: Duplex, world: SessionWorld, serving: Serving<P>) {
    this.#socket = socket;
    this.#world = world;
    this.#serving = serving;
    this.#limits = { ...SESSION_LIMITS, ...serving.limits };
    const limits = this.#limits;
    const now = world.clock.elapsed();
    this.#room = new MessageRoom(limits.heldBytes);
    this.#resets = new Resets(limits, now);
    this.#session = performServerHandshake(socket, {
      ...sessionOptions(limits),
      streamResetBurst: limits.resetBurst,
      streamResetRate: limits.resetsPerSecond,
    });
    this.#session.setLocalWindowSize(limits.allWindows);
    this.#liveness = new Liveness(this.#session, socket, limits, now);
    this.closed = new Promise((resolve) => (this.#over = resolve));
    this.#session.on("error", () => {});
    this.#session.on("stream", (stream, headers) => this.#arrived(stream, headers));
    this.#session.on("close", () => {
      world.sweep.remove(this);
      this.#isClosed = true;
      this.#settle();
    });
    world.sweep.add(this);
  }

  /** Calls that are under way, also those whose stream is gone. */
  get calls(): number {
    return this.#calls.size;
  }

  get heldBytes(): number {
    return this.#room.taken;
  }

  /** Calls under way finish; no other begins. */
  drain(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  /** At once: the signals of its calls are aborted. A session that closes already would leave its connection to the peer,
   *  which may be gone. */
  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  check(now: Nanos): boolean {
    for (const call of this.#calls) call.check(now, this.#limits.stall);
    for (const [stream, since] of this.#lingering) {
      if (now - since > LINGER) stream.close(constants.NGHTTP2_NO_ERROR);
    }
    if (this.#liveness.check(now)) return false;
    this.destroy();
    return true;
  }

  #arrived(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on("error", () => {});
    stream.on("close", () => {
      this.#lingering.delete(stream);
      this.#count(stream.rstCode);
    });
    // This says that nothing was done, and to try again.
    if (this.#calls.size >= this.#limits.streams) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const opening = readOpening(headers);
    if ("refusal" in opening) return this.#refuse(stream, opening.refusal);
    const { path, timeout, metadata } = opening;
    const served = this.#serving.table.get(path);
    try {
      this.#serving.admit?.(path);
      if (served === undefined) throw new StatusError(Status.unimplemented, "no such method");
      if (this.#callsOf(served) >= served.shape.atOnce) {
        throw new StatusError(
          Status.resourceExhausted,
          "as many calls of this method are under way as there may be",
        );
      }
    } catch (error) {
      return this.#refuse(stream, { ...ANSWER_HEAD, ...trailersOf(statusOf(error)) });
    }
    const call = new ServerCall<P>(stream, this.#world, {
      served,
      peer: this.#serving.peer,
      room: this.#room,
      timeout,
      metadata,
      linger: () => this.#linger(stream),
      trouble: (error) => this.#serving.trouble?.(path, error),
    });
    this.#calls.add(call);
    void call.done.then(() => {
      this.#calls.delete(call);
      this.#settle();
    });
  }

  #callsOf(served: Served<P>): number {
    let count = 0;
    for (const call of this.#calls) if (call.served === served) count++;
    return count;
  }

  /** Also those that a peer makes us reset, by frames that are none. */
  #count(code: number): void {
    if (code === constants.NGHTTP2_NO_ERROR || this.#session.destroyed) return;
    if (this.#resets.count(this.#world.clock.elapsed())) return;
    this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #settle(): void {
    if (this.#isClosed && this.#calls.size === 0) this.#over?.();
  }

  /** The whole answer in its head. */
  #refuse(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
    if (stream.destroyed) return;
    stream.respond(headers, { endStream: true });
    this.#linger(stream);
  }

  /**
   * What the caller still sends is let go, until it stops by itself, as callers do that have their answer. A reset at
   * once would overtake the answer in the runtime's hands.
   */
  #linger(stream: ServerHttp2Stream): void {
    stream.resume();
    this.#lingering.set(stream, this.#world.clock.elapsed());
  }
}
