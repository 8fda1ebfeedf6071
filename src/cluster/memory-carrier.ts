// Both ends of a link in one process, for the simulator: the same methods, gates and messages as over TLS, byte for byte,
// without a socket. Who runs it decides what happens on the way.

import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { type CallOptions, type Messages, MOVES, type Shape } from "@holdfast/shared/grpc/method";
import { Status, StatusError, statusOf } from "@holdfast/shared/grpc/status";
import { peerRefused } from "./failures.ts";
import { PeerGate, type ServedSet } from "./hello.ts";
import type { Carried, Carrier } from "./peer-link.ts";
import type { Peer } from "./verify.ts";

/** What lies between the two. Each message waits for it; a message may be late, and a connection may be cut. */
export interface Way {
  /** Resolves when somebody is there, before a connection stands. Default: at once. */
  reach?(): Promise<void>;
  /** Resolves when a connection stands; rejects where there is none to be had. */
  connect(): Promise<void>;
  /** Resolves when the message has arrived. Messages of one stream keep their order, those of several need not. */
  pass(to: "server" | "client", message: Uint8Array): Promise<void>;
}

/** As a network that has no delay, and never fails. */
export const STRAIGHT: Way = { connect: async () => {}, pass: async () => {} };

export interface MemoryWorld {
  readonly clock: Pick<Clock, "now">;
  readonly timers: Pick<Timers, "after">;
}

const PING = new Uint8Array(8);

export class MemoryCarrier implements Carrier {
  readonly #set: ServedSet;
  readonly #peer: Peer;
  readonly #way: Way;
  readonly #world: MemoryWorld;
  readonly #open = new Set<MemoryConnection>();
  #isReached = false;

  /** `peer` is what a certificate would prove. */
  constructor(set: ServedSet, peer: Peer, world: MemoryWorld, way: Way = STRAIGHT) {
    this.#set = set;
    this.#peer = peer;
    this.#world = world;
    this.#way = way;
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  async connect(within: Nanos, signal: AbortSignal | undefined): Promise<Carried> {
    this.#isReached = false;
    signal?.throwIfAborted();
    const { clock, timers } = this.#world;
    const late = new AbortController();
    const give = () => late.abort(signal?.reason);
    const timer = timers.after(within, () =>
      late.abort(peerRefused("the peer does not answer in time")),
    );
    signal?.addEventListener("abort", give, { once: true });
    try {
      await unless(this.#reach(), late.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", give);
    }
    const gate = new PeerGate(this.#peer, this.#set, clock);
    const connection = new MemoryConnection(gate, this.#way, timers);
    this.#open.add(connection);
    void connection.closed.then(() => this.#open.delete(connection));
    return connection;
  }

  async #reach(): Promise<void> {
    await this.#way.reach?.();
    this.#isReached = true;
    await this.#way.connect();
  }

  /** All connections, at once: as a cable that is pulled, or a certificate that is revoked. */
  cut(): void {
    for (const connection of this.#open) connection.destroy();
  }
}

class MemoryConnection implements Carried {
  readonly #gate: PeerGate;
  readonly #way: Way;
  readonly #over = new AbortController();
  readonly #lost = new StatusError(Status.unavailable, "the session was lost");
  readonly #timers: MemoryWorld["timers"];
  readonly closed: Promise<void>;
  /** Bytes of answers, and of what comes back for a ping. */
  #came = 0;

  constructor(gate: PeerGate, way: Way, timers: MemoryWorld["timers"]) {
    this.#gate = gate;
    this.#way = way;
    this.#timers = timers;
    this.closed = new Promise((resolve) =>
      this.#over.signal.addEventListener("abort", () => resolve()),
    );
  }

  destroy(): void {
    this.#over.abort(this.#lost);
  }

  get came(): number {
    return this.#came;
  }

  ping(): void {
    void this.#ping().catch(() => {}); // nobody waits for it
  }

  async #ping(): Promise<void> {
    for (const to of ["server", "client"] as const) {
      await unless(this.#way.pass(to, PING), this.#over.signal);
    }
    this.#came += PING.length;
  }

  async *exchange(
    shape: Shape,
    requests: Messages,
    { signal, timeout, isQueued = false }: CallOptions = {},
  ): AsyncGenerator<Uint8Array> {
    const ended = new AbortController();
    const cancelled = new StatusError(Status.cancelled, "the call was cancelled");
    const cut = () => ended.abort(this.#lost);
    const cancel = () => ended.abort(cancelled);
    if (signal?.aborted === true) throw cancelled;
    if (this.#over.signal.aborted) throw this.#lost;
    this.#over.signal.addEventListener("abort", cut, { once: true });
    signal?.addEventListener("abort", cancel, { once: true });
    const late = () =>
      ended.abort(new StatusError(Status.deadlineExceeded, "the time of the call is over"));
    let came = this.#came;
    const look = () => {
      if (!isQueued || this.#came - came < MOVES) return late();
      came = this.#came;
      timer = this.#timers.after(timeout ?? 0n, look);
    };
    let timer = timeout === undefined ? null : this.#timers.after(timeout, look);
    try {
      const answers = this.#served(shape, orEnd(requests, ended), ended.signal);
      yield* this.#carry("client", answers, shape.maxResponse, ended.signal);
    } catch (error) {
      throw ended.signal.aborted ? ended.signal.reason : error;
    } finally {
      timer?.cancel();
      this.#over.signal.removeEventListener("abort", cut);
      signal?.removeEventListener("abort", cancel);
      ended.abort(cancelled); // whatever the handler still does, nobody waits for it
    }
  }

  /** What the peer ends it with is what it says. */
  async *#served(
    { path }: Shape,
    requests: Messages,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      this.#gate.admit(path);
      const served = this.#gate.table.get(path);
      if (served === undefined) throw new StatusError(Status.unimplemented, "no such method");
      const arriving = this.#carry("server", requests, served.shape.maxRequest, signal);
      yield* served.run(arriving, {
        peer: this.#gate.peer,
        signal,
        metadata: () => undefined, // clusters say everything in messages
      });
    } catch (error) {
      const { status, message, cause } = statusOf(error);
      throw new StatusError(status, message, { isSaid: true, cause });
    }
  }

  /** One at a time: the next is asked for when this one has arrived and somebody wants another. */
  async *#carry(
    to: "server" | "client",
    messages: Messages,
    max: number,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const iterator = messages[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await unless(iterator.next(), signal);
        if (next.done === true) return;
        if (next.value.length > max) {
          const text = `a message may have at most ${max} bytes`;
          throw new StatusError(Status.resourceExhausted, text);
        }
        await unless(this.#way.pass(to, next.value), signal);
        if (to === "client") this.#came += next.value.length;
        yield next.value.slice(); // the other end has memory of its own
      }
    } finally {
      iterator.return?.().catch(() => {});
    }
  }
}

/** An error of the requests is the caller's: the call ends with it, and the server only sees that it ended. */
async function* orEnd(messages: Messages, ended: AbortController): AsyncGenerator<Uint8Array> {
  try {
    yield* messages;
  } catch (error) {
    ended.abort(error);
    throw new StatusError(Status.cancelled, "the stream was cut");
  }
}

/** Rejects with the signal's reason when that comes first. */
function unless<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => {}); // nobody waits for it any more
      return reject(signal.reason);
    }
    const cut = () => reject(signal.reason);
    signal.addEventListener("abort", cut, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", cut));
  });
}
