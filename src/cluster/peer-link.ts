// A link to a peer: opened by a hello, then calls and streams. What carries it is handed in: TLS (`tls-carrier.ts`), or the
// memory of a process that holds both ends (`memory-carrier.ts`), so that whoever replicates does not know which.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import {
  callBidirectional,
  type CallOptions,
  callStream,
  callUnary,
  type Channel,
  type Method,
} from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { peerRefused } from "./failures.ts";
import {
  type Hello,
  hello,
  type HelloAnswer,
  NO_STANDING,
  PROTOCOL,
  type Standing,
} from "./hello.ts";
import type { MemberName } from "./names.ts";

/** For connecting, and for the hello after it. */
const DIAL: Nanos = 5n * SECOND;
const HELLO: Nanos = 10n * SECOND;

/** A connection that exists. That it does proves nothing about what the peer thinks of us. */
export interface Carried extends Channel {
  /** Resolves when it is gone, whoever ended it. */
  readonly closed: Promise<void>;
  /** Bytes that have come from the peer. */
  readonly came: number;
  /** The peer is to send something now, if it is there. */
  ping(): void;
  /** At once. */
  destroy(): void;
}

export interface Carrier {
  /** Rejects where it takes longer than `within`. */
  connect(within: Nanos, signal: AbortSignal | undefined): Promise<Carried>;
  /** While it connects: whether something has come back, or could not have yet for how far away it is. */
  readonly isReached: boolean;
}

export interface PeerLink {
  /** Connects and says hello. Rejects, and leaves nothing behind, unless the peer has answered. */
  open(self: Self, signal?: AbortSignal): Promise<HelloAnswer>;
  call<Q, A>(method: Method<"unary", Q, A>, request: Q, options?: CallOptions): Promise<A>;
  /** With one request, or with those of an iterable where the method takes many. */
  stream<Q, A>(
    method: Method<"serverStream", Q, A>,
    request: Q,
    options?: CallOptions,
  ): AsyncGenerator<A>;
  stream<Q, A>(
    method: Method<"bidirectional", Q, A>,
    requests: AsyncIterable<Q>,
    options?: CallOptions,
  ): AsyncGenerator<A>;
  /** At once; resolves when nothing is left. */
  close(): Promise<void>;
  /** Null before it is open; resolves when it is not any more. */
  readonly closed: Promise<void> | null;
  /** Bytes that have come since it is open. */
  readonly came: number;
  /** The peer is to send something now, if it is there. */
  ping(): void;
  /** Whether the port of the set was there when this was last opened, whatever it said then. */
  readonly hasMet: boolean;
  /** Whether anything has come back since this was last opened: false where nobody is there. */
  readonly isReached: boolean;
}

/** What a member says of itself: who it is, and how far it is where it replicates. */
export interface Self extends Partial<Standing> {
  readonly clusterId: string;
  readonly version: string;
}

export class CarriedLink implements PeerLink {
  readonly #carrier: Carrier;
  readonly #member: MemberName;
  #carried: Carried | null = null;
  #hasMet = false;

  constructor(carrier: Carrier, member: MemberName) {
    this.#carrier = carrier;
    this.#member = member;
  }

  get closed(): Promise<void> | null {
    return this.#carried?.closed ?? null;
  }

  get came(): number {
    return this.#carried?.came ?? 0;
  }

  ping(): void {
    this.#carried?.ping();
  }

  get hasMet(): boolean {
    return this.#hasMet;
  }

  get isReached(): boolean {
    return this.#hasMet || this.#carrier.isReached;
  }

  async open(self: Self, signal?: AbortSignal): Promise<HelloAnswer> {
    await this.close();
    this.#hasMet = false;
    const carried = await this.#carrier.connect(DIAL, signal);
    this.#hasMet = true;
    const { set, kind, id } = this.#member;
    const sent: Hello = {
      ...NO_STANDING,
      ...self,
      set,
      kind,
      secondaryId: id,
      protocol: PROTOCOL,
    };
    const options = { timeout: HELLO, ...(signal === undefined ? {} : { signal }) };
    try {
      const answer = await callUnary(carried, hello, sent, options);
      if (answer.protocol !== PROTOCOL) throw peerRefused("the peer speaks another protocol");
      this.#carried = carried;
      return answer;
    } catch (error) {
      carried.destroy();
      // A session that is cut before it has answered is how a peer refuses under TLS 1.3.
      const isCut = error instanceof StatusError && error.status === Status.unavailable;
      throw isCut ? peerRefused("the peer does not take us", { cause: error }) : error;
    }
  }

  async call<Q, A>(method: Method<"unary", Q, A>, request: Q, options?: CallOptions): Promise<A> {
    return await callUnary(this.#channel, method, request, options);
  }

  stream<Q, A>(
    method: Method<"serverStream", Q, A> | Method<"bidirectional", Q, A>,
    requests: Q | AsyncIterable<Q>,
    options?: CallOptions,
  ): AsyncGenerator<A> {
    return method.kind === "serverStream"
      ? callStream(this.#channel, method, requests as Q, options)
      : callBidirectional(this.#channel, method, requests as AsyncIterable<Q>, options);
  }

  async close(): Promise<void> {
    const carried = this.#carried;
    this.#carried = null;
    carried?.destroy();
    await carried?.closed;
  }

  get #channel(): Channel {
    if (this.#carried !== null) return this.#carried;
    throw new StatusError(Status.unavailable, "the link is not open");
  }
}
