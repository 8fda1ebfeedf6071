// What the pipeline asks of the rooms. Each room has a class that fits; server.ts puts them together.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { Log } from "@holdfast/shared/log";
import type { Turns } from "@holdfast/shared/sliced";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import type { DrOperation } from "@holdfast/shared/endpoint/access";
import type { Served, WritesTo } from "@holdfast/shared/endpoint/endpoint";
import type { AuditedAnswer, AuditedRequest } from "../endpoint/audited.ts";
import type { Decision, Question } from "../endpoint/decision.ts";
import type { Judgement } from "../endpoint/judgement.ts";
import type { LeaseOffer, LoginOffer } from "@holdfast/shared/endpoint/lease";
import type { Leased, Reply, WrapInfo } from "@holdfast/shared/endpoint/reply";
import type {
  RequestContext,
  Caller,
  MountRef,
  NamespaceRef,
  Origin,
} from "@holdfast/shared/endpoint/request";
import type { ProgramInput } from "../program/request/program-input.ts";
import type { NodeRole } from "../seal/health.ts";
import type { Incoming } from "./incoming.ts";
import type { Running } from "./running.ts";
import type { Governor } from "../policies/governing/governing-places.ts";
import type { Route } from "@holdfast/shared/endpoint/router";

/** The node itself. */
export interface NodeState {
  readonly initialised: boolean;
  readonly sealed: boolean;
  /** Of a disaster-recovery secondary: nothing is open there but what runs the node. No tokens, no namespaces, no mounts,
   *  no policies and no quotas. */
  readonly drSecondary: boolean;
  /** It is as bare as one (`drSecondary` holds too), because the first copy of a performance secondary is under way. Default false. */
  readonly copying?: boolean;
  /** What the cluster is among others changes at this moment. Default false. */
  readonly changing?: boolean;
  readonly role: NodeRole;
  /** Last durable index. */
  readonly index: bigint;
}

export interface TokenLookup {
  /** By the salted hash of the secret. Null for unknown, deleted and expired ones alike. */
  find(secret: string): Caller | null;
  /** Whether the secret belongs to a token that has expired and is not yet removed. */
  hasExpired(secret: string): boolean;
  /** Takes one use of a counted token: how many are left, or null when there was none. */
  use(caller: Caller): Promise<number | null>;
  /** Who it is now that has taken one for a request, though it was the last: null where it was revoked or has
   *  run out since. */
  underWay(caller: Caller): Caller | null;
  /** The request with the last use has been answered. */
  spent(caller: Caller): Promise<void>;
  /** Of a secret that nobody has here, where another cluster writes tokens: resolves when its token has come from there, or it is known that
   *  there is none. Null where nobody is asked. Default: nobody ever is. */
  awaited?(secret: string, address: string, signal: AbortSignal): Promise<void> | null;
  /** Calls after each change of the caller's token. Default: nobody is told. */
  onChange?(caller: Caller, call: () => void): () => void;
}

/** Operation tokens and operator tickets: the only credentials that a disaster-recovery secondary knows. */
export interface Operations {
  /** Whether the ceremony in which one is made needs one, for `operation-token`. */
  readonly guarded: boolean;
  /** Null for one that is unknown, has ended or is not for this operation. */
  judge(text: string, operation: DrOperation, now: Instant): Operator | null;
  /** Why such a one is not taken, for whoever holds what the set itself has made; null for everybody else. */
  refusal?(text: string, operation: DrOperation, now: Instant): string | null;
}

/** Who holds an operation token or a ticket. */
export interface Operator {
  readonly caller: Caller;
  /** What it is told with its answer. */
  readonly warnings: readonly string[];
}

export interface NamespaceTree {
  /** By its full path, without slashes at the ends; null when there is none (or it is being deleted). */
  named(path: string): NamespaceRef | null;
  /** The longest namespace below `base` that the segments begin with, and how many segments it took. */
  resolve(
    base: NamespaceRef,
    segments: readonly string[],
  ): { readonly namespace: NamespaceRef; readonly taken: number };
}

export interface MountTable {
  /** The mount that the path leads to, with the endpoints of its type; null when there is none, or it
   *  is being disabled. */
  find(namespace: NamespaceRef, segments: readonly string[]): FoundMount | null;
}

export interface FoundMount {
  readonly ref: MountRef;
  /** Segments of the path that are the mount's own. */
  readonly taken: number;
  /** Resolves when what is being opened is there, or is not: then it is to be found anew. Default: nobody waits for it. */
  readonly opening?: Promise<void> | null;
  readonly endpoints: {
    find(segments: readonly string[]): Route;
    readonly endpoints: readonly Served[];
  };
}

/** Where an answer with a secret that ends becomes a lease. */
export interface Leasing {
  /** Before the secret is made. Throws a Failure of kind "rate-limited" where a quota is full. */
  admit(context: RequestContext): void;
  issue(
    offer: LeaseOffer,
    context: RequestContext,
  ): Promise<{ leased: Leased; warnings: readonly string[] }>;
  /** The secret of an answer that is refused is ended: now, or as leases are whose time is over. Never rejects. */
  end(offer: LeaseOffer, context: RequestContext): Promise<void>;
}

/** Where a login becomes a token. */
export interface Logins {
  login(
    offer: LoginOffer,
    context: RequestContext,
  ): Promise<{ auth: AuthBlock; warnings: readonly string[] }>;
  /** Who the token will belong to. */
  originOf(offer: LoginOffer, context: RequestContext): Origin;
}

export interface Wrapping {
  /** Before the handler runs: refuses where the answer could not be kept. */
  admit(ttl: Nanos, context: RequestContext): void;
  /** Before whoever has logged in gets a token, in the same way. */
  admitLogin(origin: Origin, context: RequestContext): void;
  /** Keeps the answer for one who unwraps it. */
  wrap(
    reply: Reply,
    ttl: Nanos,
    context: RequestContext,
  ): Promise<{ wrapInfo: WrapInfo; warnings: readonly string[] }>;
}

export interface Decisions {
  /** By the ACL policies of a client token and the built-in default. At once, unless the rights of
   *  the caller must be worked out first and that takes long. */
  decide(caller: Caller, question: Question): Decision | Promise<Decision>;
  /** Whether there is any request of that kind that `decide` could allow. */
  mightEver(
    caller: Caller,
    question: Pick<Question, "namespace" | "path" | "capability">,
  ): boolean | Promise<boolean>;
}

export interface Governance {
  /** Whether only who has `sudo` on the path may override. */
  readonly overrideNeedsSudo: boolean;
  /** Names of the headers that programs may see, in lower case. */
  headers(): readonly string[];
  /** What programs are told of replication. */
  replication(): ProgramInput["replication"];
  /** The RGPs of the caller, then the EGPs on the path; null for a path that no EGP reaches. A promise
   *  only where they are not in memory yet. */
  applying(
    caller: Caller | null,
    namespace: NamespaceRef,
    path: string | null,
  ): readonly Governor[] | Promise<readonly Governor[]>;
  judge(
    policies: readonly Governor[],
    request: { readonly input: ProgramInput; readonly override: boolean },
  ): Promise<Judgement>;
}

export interface Auditing {
  /** From unsealing until the node has waited for its requests. */
  readonly isOpen: boolean;
  /** Resolves when at least one device has taken the record or none is configured; rejects with a
   *  Failure of kind "internal" when all of them failed. */
  request(request: AuditedRequest, error: string): Promise<void> | void;
  response(request: AuditedRequest, answer: AuditedAnswer): Promise<void> | void;
}

export interface RateLimiting {
  /** Whether refusals of a quota are to be audited. */
  readonly auditRefusals: boolean;
  /** Counts the request. Gives headers to send, or throws a Failure of kind "rate-limited". */
  admit(request: {
    readonly namespace: NamespaceRef;
    readonly path: CanonicalPath; // relative to the namespace
    readonly mountPoint: string;
    readonly address: string;
    /** The declaration says that quotas do not count here. */
    readonly exempt: boolean;
  }): Readonly<Record<string, string>>;
}

/** Failed authentications by address. */
export interface Attempts {
  /** Counts one, or throws a Failure of kind "rate-limited". */
  take(address: string): void;
  /** Throws it while there were too many, and counts nothing. */
  check(address: string): void;
  /** Counts what has failed, once that is known. */
  count(address: string): void;
}

/** Snapshots that are loaded beside the data. */
export interface LoadedData {
  /** Runs it with what answered at that place then. The snapshot stays loaded meanwhile. Throws a Failure where it is
   *  not loaded, and where it has no such place. */
  use<T>(
    id: string,
    place: {
      readonly namespace: NamespaceRef;
      readonly mount: MountRef | null;
      readonly endpoint: Served;
    },
    run: (room: unknown) => Promise<T>,
  ): Promise<T>;
}

/** How far what is to be seen here goes, as a text that clients hand back. */
export interface Consistency {
  /** Null where nothing is told. `written`: up to where the primary has written for this answer, whether that is here or not; `by`: which
   *  primary of the set that was, 0 where nobody knows. */
  mark(written: bigint, by?: number): string | null;
  judge(mark: string): Reached;
  /** Whether it is, as soon as it is and when the time is over. */
  reaches(mark: string, within: Nanos, signal: AbortSignal): Promise<boolean>;
}

/** Whether everything that a mark stands for is here: it is not yet; it never will be, since another cluster went on from
 *  before it; or it is no mark of this set. */
export type Reached = "reached" | "behind" | "lost" | "unknown";

/** The cluster that writes what several share, where that is another one. */
export interface SharedElsewhere {
  /** Null while this cluster writes it itself. */
  readonly primary: PrimaryCluster | null;
  /** Whether what is here may be so old that a global token may have been revoked long ago. */
  readonly isStale: boolean;
  /** Whether what it has written has come and is not applied: a revocation may be among it. */
  readonly lacksRoom: boolean;
  /** What of it is not sent here. Default: everything is. */
  readonly withheld?: WithheldPlaces | null;
  /** What of the data that this cluster writes is not sent to a member of the set; null: it is sent everything. Default: everybody is. */
  withheldFrom?(member: string): Promise<WithheldPlaces | null>;
}

/** Mounts and namespaces by id, with their paths from root and a slash at the end. */
export interface WithheldPlaces {
  readonly mounts: ReadonlyMap<string, string>;
  readonly namespaces: ReadonlyMap<string, string>;
}

export interface PrimaryCluster {
  /** Whether what it has written is here in part: nobody should be answered from that. */
  readonly isTorn: boolean;
  /** Whether it is here as it was at one time, as soon as it is, and false when the time is over. */
  whole(within: Nanos, signal: AbortSignal): Promise<boolean>;
  /** Name of its region; empty while it is not known. */
  readonly region: string;
  /** Has the request done there. Where it was, what it wrote is here when this resolves, or the answer warns that it is
   *  not yet. Throws a Failure where it was refused there, and where nobody knows what became of it. */
  send(request: SentRequest): Promise<Sent>;
}

export interface Sent {
  readonly reply: Reply;
  /** Up to where the primary had written then. */
  readonly written: bigint;
  /** Which primary of the set that was. */
  readonly by: number;
}

/** What goes to the primary. It finds, judges and records it once more. */
export interface SentRequest {
  readonly incoming: Incoming;
  readonly target: string;
  /** That the primary knows; null without one. */
  readonly credential: string | null;
  /** Whose token the primary cannot know. */
  readonly attested: Caller | null;
  readonly body: Uint8Array;
  /** Names of the headers that somebody there may look at, in lower case. */
  readonly headers: readonly string[];
  /** Whether the client has named that region: numbers in it are those that it shows. */
  readonly isNamed: boolean;
  /** Whether it may wait there for a change. */
  readonly mayWait: boolean;
  /** Aborted as soon as it is not to be done any more, with what is to be said then. Default: that of `incoming`. */
  readonly signal?: AbortSignal;
}

/** Sees what a request writes beside what its endpoint declares: only tests have one. */
export type Witness = <T>(
  request: {
    readonly endpoint: Pick<Served, "name">;
    /** Looked at before it runs, since what is looked at may be gone then. Null: a plain read. */
    readonly belongs: () => Promise<WritesTo> | null;
  },
  run: () => Promise<T>,
) => Promise<T>;

/** Everything that a request meets on its way. */
export interface PipelineParts {
  readonly endpoints: readonly Served[];
  readonly node: NodeState;
  readonly tokens: TokenLookup;
  readonly operations: Operations;
  readonly namespaces: NamespaceTree;
  readonly mounts: MountTable;
  readonly leases: Leasing;
  readonly logins: Logins;
  readonly wrapping: Wrapping;
  readonly decisions: Decisions;
  readonly governance: Governance;
  readonly audit: Auditing;
  readonly quotas: RateLimiting;
  readonly attempts: Attempts;
  /** Failed logins by the member of the set that has sent them on. Default: none is counted. */
  readonly memberAttempts?: Pick<Attempts, "check" | "count">;
  readonly loaded: LoadedData;
  /** Default: this cluster writes all of its data itself. */
  readonly elsewhere?: SharedElsewhere;
  /** Default: nothing is told, and nobody is answered by it. */
  readonly consistency?: Consistency;
  /** How long a request waits that wants to. Default two seconds. */
  readonly awaited?: Nanos | undefined;
  /** Name of the own region. Default empty: nobody asks for one. */
  readonly region?: () => string;
  readonly running: Running;
  /** For work that is long. */
  readonly turns: Turns;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly log: Log;
  readonly witness?: Witness | undefined;
}
