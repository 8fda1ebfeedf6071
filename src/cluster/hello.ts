// The first call on every session. Under TLS 1.3 a client that is refused has seen the handshake completed before: that
// a peer takes us is proved by the answer to this, and by nothing else.

import {
  bytes,
  flag,
  list,
  message,
  type MessageOf,
  part,
  text,
  uint32,
  uint64,
} from "@holdfast/shared/grpc/message";
import { method, type Served, serveUnary, type ServiceTable } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { EMPTY } from "@holdfast/shared/bytes";
import type { Clock } from "@holdfast/shared/world";
import type { Peer } from "./verify.ts";

/** What both sides speak; another number is another language. */
export const PROTOCOL = 1;

const MAX_ADDRESSES = 16;
const MAX_FORMERS = 3; // as one that follows, as one that has followed, as one that has led
const MAX_HELLO = 1024 * 1024; // a timeline has some two hundred bytes for each epoch

/** A place in a log: the chain says whose. */
export const cursor = message({
  lineage: bytes(1),
  epoch: uint32(2),
  index: uint64(3),
  chain: bytes(4),
});
export type Cursor = MessageOf<typeof cursor>;

/** What of another cluster's rows is half taken over: a copy goes on after its cursor, all else begins anew. */
const half = message({ isCopy: flag(1), head: bytes(2) });
const limits = message({ operations: uint32(1), bytes: uint64(2) });

/** By which the cluster was known before, and what only that one can sign: see replication/joining/whose-id.ts. */
const former = message({ certificate: bytes(1), proof: bytes(2) });
export type FormerPlace = MessageOf<typeof former>;

const request = message({
  set: text(1),
  kind: text(2),
  secondaryId: text(3),
  clusterId: text(4),
  epoch: uint32(5), // of the set
  timeline: bytes(6),
  cursor: part(7, cursor),
  protocol: uint32(8),
  storageFormat: uint32(9),
  version: text(10),
  apiAddress: text(11),
  clusterAddresses: list(text(12), MAX_ADDRESSES),
  limits: part(13, limits), // of one transaction
  half: part(14, half),
  isEmpty: flag(15),
  isTrial: flag(16), // only to hear what would become of it
  formers: list(part(17, former), MAX_FORMERS),
  region: text(18), // of who comes to follow in performance replication
  publicKey: bytes(19), // of a trial with a token: the key that would be registered
  logEpoch: uint32(20), // of its own log, where it has one beside that of the primary: who stands in for it begins another
  logFirst: text(21), // where that began
});

/** How the member goes on: `resume`, `diff`, `copy`, `rewind` or `refuse`. */
const decision = message({
  kind: text(1),
  fork: uint64(2), // of a rewind: the last index in common
  chain: bytes(3), // there
  reason: text(4),
});
export type SentDecision = MessageOf<typeof decision>;

const answer = message({
  epoch: uint32(1), // of the set
  epochProof: bytes(2),
  timeline: bytes(3),
  clusterId: text(4),
  protocol: uint32(5),
  version: text(6),
  decision: part(7, decision),
  keysVersion: text(8),
  epochFirst: text(9), // where the log began when the epoch did; a restore begins another log in the same epoch
  head: uint64(10), // its index; zero where nothing is said of it
  time: uint64(11), // there, in nanoseconds since 1970
  region: text(12), // of a primary of performance replication
  withheld: uint32(13), // how many mounts and namespaces whoever says hello is not sent
});

export type Hello = MessageOf<typeof request>;
export type HelloAnswer = MessageOf<typeof answer>;

/** What a member says beside its names where it replicates; and what it is told. */
type Names = "set" | "kind" | "secondaryId" | "protocol" | "clusterId" | "version";
export type Standing = Omit<Hello, Names>;
export type Greeting = Pick<HelloAnswer, "clusterId" | "protocol" | "version"> &
  Partial<HelloAnswer>;

export const NO_STANDING: Standing = {
  epoch: 0,
  timeline: EMPTY,
  cursor: null,
  storageFormat: 0,
  apiAddress: "",
  clusterAddresses: [],
  limits: null,
  half: null,
  isEmpty: false,
  isTrial: false,
  formers: [],
  region: "",
  publicKey: EMPTY,
  logEpoch: 0,
  logFirst: "",
};
const NO_DECISION = {
  epoch: 0,
  epochProof: EMPTY,
  timeline: EMPTY,
  decision: null,
  keysVersion: "",
  epochFirst: "",
  head: 0n,
  time: 0n,
  region: "",
  withheld: 0,
};

export const hello = method("unary", "/holdfast.cluster.v1.Replication/Hello", request, answer, {
  maxRequest: MAX_HELLO,
  maxResponse: MAX_HELLO,
});

const REVOKED = "the certificate is revoked";

/** Whether the peer says that it takes this certificate no more. */
export function isRevokedThere(error: unknown): boolean {
  return isDeniedWith(error, REVOKED);
}

/** What a cluster hears in whose place another one comes with the same certificate. */
export const REPLACED = "another cluster has come in the place of this one";

/** Whether the peer says that another cluster comes in the place of this one. */
export function isReplacedThere(error: unknown): boolean {
  return isDeniedWith(error, REPLACED);
}

function isDeniedWith(error: unknown, reason: string): boolean {
  const isDenied = error instanceof StatusError && error.status === Status.permissionDenied;
  return isDenied && error.message === reason;
}

/** A set as the port serves it. */
export interface ServedSet {
  readonly table: ServiceTable<Peer>;
  /** Whether this member is taken, and what it is told; throws where it is not. */
  readonly greet: (hello: Hello, peer: Peer) => Promise<Greeting>;
  readonly isRevoked: (serial: string) => boolean;
  /** Whether another cluster than this has come since as the same member. Default: none has. */
  readonly isReplaced?: (peer: Peer, cluster: string) => boolean;
}

/** What one session may do: nothing before its hello was answered, and nothing from the moment it is revoked. */
export class PeerGate {
  readonly peer: Peer;
  readonly #set: ServedSet;
  readonly #clock: Pick<Clock, "now">;
  #isGreeted = false;
  #cluster = "";

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
    const served = Array.from(
      this.#set.table,
      ([path, one]) => [path, one.shape.kind === "unary" ? one : this.#watched(one)] as const,
    );
    return new Map([...served, [hello.path, greeting]]);
  }

  /** A call that lasts ends with what allowed it: whoever reads slowly would be answered for as long as it likes. */
  #watched(one: Served<Peer>): Served<Peer> {
    const assertTaken = () => this.#assertTaken();
    return {
      shape: one.shape,
      async *run(requests, call) {
        for await (const answer of one.run(requests, call)) {
          assertTaken();
          yield answer;
        }
      },
    };
  }

  /** Asked before every call. */
  admit(path: string): void {
    if (this.peer.expires < this.#clock.now()) {
      throw new StatusError(Status.unauthenticated, "the certificate has expired");
    }
    this.#assertTaken();
    if (!this.#isGreeted && path !== hello.path) {
      throw new StatusError(Status.failedPrecondition, "a session begins with a hello");
    }
  }

  #assertTaken(): void {
    if (this.#set.isRevoked(this.peer.serial)) {
      throw new StatusError(Status.permissionDenied, REVOKED);
    }
    if (this.#isGreeted && this.#set.isReplaced?.(this.peer, this.#cluster) === true) {
      throw new StatusError(Status.permissionDenied, REPLACED);
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
    if (!sent.isTrial) {
      this.#isGreeted = true;
      this.#cluster = sent.clusterId;
    }
    return { ...NO_DECISION, ...answered };
  }
}
