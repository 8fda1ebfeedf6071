// What all parts of a receiver share: what it is told by those around it, what it has found out so far, and how it
// waits.

import { explain, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { Cursor, HelloAnswer, Standing } from "../../cluster/hello.ts";
import type { PeerLink, Self } from "../../cluster/peer-link.ts";
import type { Store, Surplus } from "../../storage/store.ts";
import type { ReplicationFigures } from "../figures.ts";
import type { Decision } from "./decision.ts";
import { noRoom } from "./failures.ts";
import type { Measured } from "./echo-times.ts";
import type {
  EchoAnswer,
  Evacuation,
  Heal,
  LeasesWanted,
  Place,
  SetMember,
  ToReceiver,
} from "./messages.ts";

/** Begins the names of events. */
export const EVENT = "replication";

/** What every receiver is told, and what it asks for. */
export interface LinkPorts {
  /** A link to an address; it is not open yet. */
  readonly open: (address: string) => PeerLink;
  /** In the order in which they are tried. */
  readonly addresses: () => readonly string[];
  readonly self: () => Pick<
    Self,
    "clusterId" | "version" | "apiAddress" | "clusterAddresses" | "region" | "logEpoch" | "logFirst"
  >;
  /** Of the set, as it is known here. */
  readonly epoch: () => number;
  /** Whether whoever answers is followed; throws where not, and keeps a later epoch. */
  readonly accept: (answer: HelloAnswer) => Promise<void>;
  /** Fetches the present keys of the set: ours are older, or an entry cannot be read. */
  readonly keys: (link: PeerLink) => Promise<void>;
  readonly keysVersion: () => string;
  /** Under the keys that all members share. */
  readonly encryptions: () => bigint;
  /** How far it is with mounts that the primary disables or moves; null where it has given nothing by any. Default: it is told of none. */
  readonly evacuations?: () => readonly Evacuation[] | null;
  /** How many leases it has given below a place of a shared mount; with `isRevoked` they are queued for revocation. Default: none. */
  readonly countLeases?: (question: Omit<LeasesWanted, "id">) => Promise<number>;
  /** Whom it has just connected to, and null when that is over. Default: nobody wants to know. */
  readonly met?: (connection: Connection | null) => void;
  /** How late it is at the primary, as it has just said. Default: nobody wants to know. */
  readonly heard?: (time: Instant) => void;
  /** What came of calling the primary. Default: nobody wants to know. */
  readonly called?: (outcome: CallOutcome) => void;
  /** Whether a comparison with the primary found the same; false where what differs cannot be mended. Default: nobody wants to
   *  know. */
  readonly compared?: (isEqual: boolean) => void;
  /** The primary has given up its place, and everything that it wrote is here. */
  readonly ended: (final: Place) => Promise<void>;
  /** When the certificate of this cluster ends, by which every primary takes it. Default: it does not. */
  readonly expires?: () => Instant;
  /** Where the primary says that it can be found, and its other secondaries. */
  readonly learned: (
    apiAddress: string,
    clusterAddresses: readonly string[],
    others: Pick<EchoAnswer, "siblings" | "revoked" | "failover" | "revokedClusters">,
  ) => void;
  /** Who stands in for this cluster, for the primary; and of whom that one has told. Default: neither is told of anybody. */
  readonly around?: {
    readonly standIns: () => readonly SetMember[];
    readonly learned: (members: readonly SetMember[]) => void;
  };
}

/** The same where the log here is that of the primary. */
export interface ReceiverPorts extends LinkPorts {
  /** Up to which index the log must be applied before the rows here are of one index. It outlives a crash, and is no
   *  part of what is replicated. */
  readonly marks: {
    readonly read: () => bigint | null;
    readonly write: (index: bigint | null) => Promise<void>;
  };
  /** Whether somebody has said that entries which the primary does not have are given up. */
  readonly mayRewind: () => boolean;
  /** Keeps what a rewind is about to give up; the entries are in the log. */
  readonly giveUp: (surplus: Surplus) => Promise<void>;
  /** The same, where the entries are not in the log any more: nobody knows what they have changed. Default: nothing. */
  readonly giveUpAll?: () => Promise<void>;
  /** The rewind is over, and its permission used up. */
  readonly rewound: (fork: bigint) => Promise<void>;
}

/** What answers where a primary is looked for, and does not prove to be it. */
export interface Sighting {
  readonly kind: "sealed" | "other";
  readonly address: string;
  readonly text: string;
}

/** Whether a primary that was called is there. */
export type CallOutcome =
  /** `seen`: not the primary as such, but something at its address. `isLate`: nobody waited longer, which tells nothing of that. */
  | { readonly kind: "nobody"; readonly seen?: Sighting; readonly isLate?: boolean }
  | { readonly kind: "takes" }
  /** It is, and does not take this cluster; `forGood`: it has said that it never will; `isOver`: nor anybody else. */
  | {
      readonly kind: "refuses";
      readonly reason: string;
      readonly forGood: boolean;
      readonly isOver?: boolean;
    };

export interface LinkParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly ports: LinkPorts;
  readonly figures?: ReplicationFigures;
  /** The highest index that the primary is known to have told of. Default: none is. */
  readonly announced?: bigint;
}

export interface ReceiverParts extends LinkParts {
  readonly ports: ReceiverPorts;
}

export type ReceiverState = "idle" | "connecting" | "stream-wals" | "merkle-diff" | "merkle-sync";
export type ConnectionState = "idle" | "connecting" | "ready" | "transient_failure" | "shutdown";

/** The primary at the other end of one session. */
export interface Connection {
  readonly link: PeerLink;
  /** Of the set, while it lasts. */
  readonly epoch: number;
  readonly signal: AbortSignal;
}

/** What is kept here of the log of a primary: that log itself, or what is shared beside a log of its own. */
export interface ReceivedLog {
  /** Up to here everything is durable. */
  readonly cursor: Cursor;
  /** Whether the rows here are those of one index. */
  readonly isConsistent: boolean;
  /** The version of what is withheld from it; empty where nothing is. */
  readonly filter: string;
  /** What a hello says of it beside the cursor. */
  standing(): Pick<Standing, "timeline" | "half" | "isEmpty" | "limits">;
  session(progress: Progress, connection: Connection): ReceivedSession;
}

/** The same while there is a primary to ask. */
export interface ReceivedSession {
  /** Until the log of the primary goes on from where this one ends. */
  begin(decision: Decision, timeline: Uint8Array): Promise<void>;
  /** Whatever has to be written where nothing may come meanwhile: before a stream of the log, and after each message of it. */
  settle(): Promise<void>;
  /** Takes the entries of a message. Resolves when they are durable. */
  apply(message: ToReceiver, signal: AbortSignal): Promise<void>;
  /** With a head that a message has; null where all is well. */
  compare(message: ToReceiver): StreamEnd | null;
  answer(heal: Heal): Promise<void>;
  /** How the log goes on after a stream of it has ended. Throws where the session is over. */
  after(end: StreamEnd): Promise<void>;
}

/** How a stream of the log ends. */
export type StreamEnd =
  | { readonly kind: "trimmed" | "suspect" }
  | { readonly kind: "diverged" | "closed" }
  /** Something else is withheld than by what is here. */
  | { readonly kind: "filtered" }
  | { readonly kind: "differs"; readonly head: Uint8Array }
  | { readonly kind: "goodbye"; readonly reason: string };

/** What is shown of a receiver; its parts write it down as they go. */
export class Progress {
  #state: ReceiverState = "idle";
  #withRoom: ReceiverState = "idle"; // before there was none
  /** Called when it has become another one. */
  onState: (now: ReceiverState, before: ReceiverState) => void = () => {};
  /** Called with why nothing is followed. */
  onTrouble: (cause: string) => void = () => {};
  /** Called when the primary has more to tell than it did. */
  onNews: () => void = () => {};
  connection: ConnectionState = "idle";
  error: string | null = null;
  /** When that was. */
  errorAt: Instant | null = null;
  /** Whoever has a clock says so. */
  now: () => Instant | null = () => null;
  /** The last index that came, or that rows were taken over at. */
  lastRemote = 0n;
  /** The highest index that the primary has spoken of. */
  announced = 0n;
  /** What a primary that gave up its place has written last. */
  final: Place | null = null;
  /** Of rows that are taken over: how many there are, as far as it is known, and how many are here. */
  rows: { total: number | null; done: number } = { total: null, done: 0 };
  /** Comparisons since the last head that was the same. */
  rounds = 0;
  isUnmended = false;
  /** What has come is not written for want of room. */
  lacksRoom = false;
  measured: Measured | null = null;
  /** Everything is here that the primary had told of then; null before. */
  completeAt: Nanos | null = null;
  #awaited: { readonly index: bigint; readonly since: Nanos } | null = null;
  /** Since the session began something came that was right: the next attempt need not wait long. */
  isGetting = false;

  get state(): ReceiverState {
    return this.#state;
  }

  set state(next: ReceiverState) {
    const before = this.#state;
    this.#state = next;
    if (next !== before) this.onState(next, before);
  }

  announce(index: bigint): void {
    if (index > this.announced) this.announced = index;
  }

  /** Another primary goes on from here: what was spoken of beyond it is in nobody's log. */
  goBack(index: bigint): void {
    if (index >= this.announced) return;
    this.announced = index;
    this.#awaited = null;
  }

  /** Everything up to this index is here. A primary that never rests always has more: what counts is what it had told of before. */
  reach(index: bigint, now: Nanos): void {
    const awaited = this.#awaited;
    if (index >= this.announced) this.completeAt = now;
    else if (awaited !== null && index >= awaited.index) this.completeAt = awaited.since;
    if (awaited === null || index >= awaited.index) {
      this.#awaited = index >= this.announced ? null : { index: this.announced, since: now };
    }
  }

  fail(error: unknown): void {
    this.error = explain(error);
    this.errorAt = this.now();
    this.onTrouble(this.error);
  }

  /** Something was not written for want of room: nothing is followed until it is. */
  wantsRoom(error: Failure): void {
    this.fail(error);
    if (this.#state !== "idle") this.#withRoom = this.#state;
    this.lacksRoom = true;
    this.state = "idle";
  }

  /** What has come was written. */
  hasRoom(): void {
    if (!this.lacksRoom) return;
    this.lacksRoom = false;
    if (this.#state === "idle") this.state = this.#withRoom;
  }

  /** All is well. */
  well(): void {
    this.error = null;
    this.errorAt = null;
    this.isGetting = true;
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Failure && codes.includes(error.code);
}

export function cursorOf({ head }: Store): Cursor {
  const { lineage, epoch, index, chain } = head!;
  return { lineage, epoch, index, chain };
}

const LONGEST: Nanos = 10n * SECOND;

/** Tries again for as long as the disk is nearly full. Parts of an entry cannot be left out, so nothing else helps. Meanwhile nothing is
 *  followed, whatever the connection is. */
export async function patiently<T>(
  { timers, progress }: { readonly timers: Timers; readonly progress: Progress },
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  for (let pause = SECOND; ; pause = pause * 2n < LONGEST ? pause * 2n : LONGEST) {
    signal.throwIfAborted();
    try {
      const done = await run();
      progress.hasRoom();
      return done;
    } catch (error) {
      if (!hasCode(error, "storage-full")) throw error;
      progress.wantsRoom(noRoom(error as Failure));
      await sleep(timers, pause, signal);
    }
  }
}

/** Rejects with the signal's reason when that comes first. */
export function sleep(timers: Timers, length: Nanos, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = timers.after(length, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}
