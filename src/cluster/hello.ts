// The first call on every session. Under TLS 1.3 a client that is refused has seen the handshake completed before: that
// a peer takes us is proved by the answer to this, and by nothing else.

import { message, type MessageOf, text, uint32 } from "../grpc/message.ts";
import { method, serveUnary, type ServiceTable } from "../grpc/method.ts";
import { Status, StatusError } from "../grpc/status.ts";
import type { Clock } from "@holdfast/shared/world";
import type { Peer } from "./verify.ts";

/** What both sides speak; another number is another language. */
export const PROTOCOL = 1;

const request = message({
  set: text(1),
  kind: text(2),
  secondaryId: text(3),
  clusterId: text(4),
  protocol: uint32(8),
  version: text(10),
});
const answer = message({
  clusterId: text(4),
  protocol: uint32(5),
  version: text(6),
});

export type Hello = MessageOf<typeof request>;
export type HelloAnswer = MessageOf<typeof answer>;

export const hello = method("unary", "/holdfast.cluster.v1.Replication/Hello", request, answer, {
  maxRequest: 64 * 1024,
  maxResponse: 64 * 1024,
});

/** A set as the port serves it. */
export interface ServedSet {
  readonly table: ServiceTable<Peer>;
  /** Whether this member is taken, and what it is told; throws where it is not. */
  readonly greet: (hello: Hello, peer: Peer) => Promise<HelloAnswer>;
  readonly isRevoked: (serial: string) => boolean;
}

/** What one session may do: nothing before its hello was answered, and nothing from the moment it is revoked. */
export class PeerGate {
  readonly peer: Peer;
  readonly #set: ServedSet;
  readonly #clock: Pick<Clock, "now">;
  #isGreeted = false;

  constructor(peer: Peer, set: ServedSet, clock: Pick<Clock, "now">) {
    this.peer = peer;
    this.#set = set;
    this.#clock = clock;
  }

  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  get table(): ServiceTable<Peer> {
    const greeting = serveUnary<Peer, Hello, HelloAnswer>(hello, (sent) => this.#greet(sent));
    return new Map([...this.#set.table, [hello.path, greeting]]);
  }

  /** Asked before every call. */
  admit(path: string): void {
    const { serial, expires } = this.peer;
    if (this.#set.isRevoked(serial)) {
      throw new StatusError(Status.permissionDenied, "the certificate is revoked");
    }
    if (expires < this.#clock.now()) {
      throw new StatusError(Status.unauthenticated, "the certificate has expired");
    }
    if (!this.#isGreeted && path !== hello.path) {
      throw new StatusError(Status.failedPrecondition, "a session begins with a hello");
    }
  }

  async #greet(sent: Hello): Promise<HelloAnswer> {
    const { set, kind, id } = this.peer;
    if (sent.set !== set || sent.kind !== kind || sent.secondaryId !== id) {
      throw new StatusError(Status.invalidArgument, "the certificate is another member's");
    }
    if (sent.protocol !== PROTOCOL) {
      const text = `this cluster speaks protocol ${PROTOCOL}, and not ${sent.protocol}`;
      throw new StatusError(Status.failedPrecondition, text);
    }
    const answered = await this.#set.greet(sent, this.peer);
    this.#isGreeted = true;
    return answered;
  }
}
