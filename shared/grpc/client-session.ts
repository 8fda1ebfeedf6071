// The calling end of a session.

import { type ClientHttp2Session, connect } from "node:http2";
import type { Duplex } from "node:stream";
import type { Nanos, Timer } from "../world.ts";
import type { Swept } from "../sweep.ts";
import { ClientCall } from "./client-call.ts";
import { requestHead } from "./headers.ts";
import { MessageRoom } from "./message-room.ts";
import { type CallOptions, type Channel, type Messages, MOVES, type Shape } from "./method.ts";
import {
  CALLER_LIMITS,
  Liveness,
  type SessionLimits,
  sessionOptions,
  type SessionWorld,
} from "./session-life.ts";
import { Status, StatusError } from "./status.ts";

export class ClientSession implements Channel, Swept {
  readonly #session: ClientHttp2Session;
  readonly #socket: Duplex & { readonly bytesRead?: number };
  readonly #authority: string;
  readonly #world: SessionWorld;
  readonly #limits: SessionLimits;
  readonly #room: MessageRoom;
  readonly #liveness: Liveness;
  readonly #calls = new Set<ClientCall>();
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;

  /** `socket` is connected already, and secured. */
  constructor(
    socket: Duplex,
    authority: string,
    world: SessionWorld,
    limits: Partial<SessionLimits> = {},
  ) {
    this.#socket = socket;
    this.#authority = authority;
    this.#world = world;
    this.#limits = { ...CALLER_LIMITS, ...limits };
    this.#room = new MessageRoom(this.#limits.heldBytes);
    const { settings, ...options } = sessionOptions(this.#limits);
    this.#session = connect(`https://${authority}`, {
      ...options,
      settings: { ...settings, maxConcurrentStreams: 0 }, // nobody opens streams to a client
      createConnection: () => socket,
    });
    const session = this.#session;
    this.#liveness = new Liveness(session, socket, this.#limits, world.clock.elapsed());
    session.on("error", () => {});
    // What HTTP/2 begins with is too little for any distance, and every half of it is answered by a message of its own.
    session.once("connect", () => {
      if (!session.destroyed) session.setLocalWindowSize(this.#limits.allWindows);
    });
    this.closed = new Promise((resolve) => {
      session.on("close", () => {
        world.sweep.remove(this);
        resolve();
      });
    });
    world.sweep.add(this);
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  get heldBytes(): number {
    return this.#room.taken;
  }

  /** Bytes that have come from the peer. */
  get came(): number {
    return this.#socket.bytesRead ?? 0;
  }

  /** Where anything comes at all, something comes now: a ping waits for no handler, and for no room of a stream. */
  ping(): void {
    if (!this.#session.destroyed) this.#session.ping(() => {});
  }

  async *exchange(
    shape: Shape,
    requests: Messages,
    { signal, timeout, isQueued = false, metadata }: CallOptions = {},
  ): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted();
    if (!this.isOpen) throw new StatusError(Status.unavailable, "the session is closed");
    const stop = new AbortController();
    const limit = isQueued ? null : (timeout ?? null);
    const head = requestHead(this.#authority, shape.path, limit, metadata);
    const stream = this.#session.request(head, { endStream: false, signal: stop.signal });
    const { clock } = this.#world;
    const call = new ClientCall(stream, clock, {
      max: shape.maxResponse,
      room: this.#room,
      stop,
      isLost: () => !this.isOpen,
    });
    this.#calls.add(call);
    const cancel = () =>
      call.give(
        new StatusError(Status.cancelled, "the call was cancelled", { cause: signal?.reason }),
      );
    const late = () =>
      call.give(new StatusError(Status.deadlineExceeded, "the time of the call is over"));
    const timer = timeout === undefined ? null : this.#within(timeout, isQueued, late);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      call.send(requests);
      yield* call.answers();
    } finally {
      timer?.cancel();
      signal?.removeEventListener("abort", cancel);
      this.#calls.delete(call);
      call.leave();
    }
  }

  #within(timeout: Nanos, isQueued: boolean, late: () => void): Timer {
    const { timers } = this.#world;
    const read = () => this.#socket.bytesRead ?? 0;
    let before = read();
    const look = () => {
      const moved = read() - before;
      if (!isQueued || moved < MOVES) return late();
      before += moved;
      timer = timers.after(timeout, look);
    };
    let timer = timers.after(timeout, look);
    return { cancel: () => timer.cancel() };
  }

  check(now: Nanos): boolean {
    for (const call of this.#calls) call.check(now, this.#limits.stall);
    if (this.#liveness.check(now)) return false;
    this.destroy();
    return true;
  }

  /** Calls under way finish. */
  drain(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  /** At once: a session that closes already would leave its connection to the peer, which may be gone. */
  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }
}
