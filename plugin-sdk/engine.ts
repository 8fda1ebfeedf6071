// What an engine declares and what it is given: the one contract, whether it is built in or runs as a
// plugin. Built-in engines import shared/ and this folder, and nothing else.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import {
  type Declaration,
  type Endpoint,
  endpointsOf,
  type Placed,
} from "@holdfast/shared/endpoint/endpoint";
import type { Output } from "@holdfast/shared/endpoint/output";
import type { Fields } from "@holdfast/shared/endpoint/field";
import type { LoginRenewal, LoginRenewalRequest } from "@holdfast/shared/endpoint/lease";
import type { EngineRequest, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { Concern } from "./concern.ts";
import type { LockoutConfig } from "./lockout.ts";
import type { MetricDeclarations } from "./metrics.ts";
import type { EngineStorage } from "./storage.ts";
import type { EngineServices } from "./engine-services.ts";

export interface EngineType<E> {
  /** As in `type` of a mount: "kv". */
  readonly type: string;
  readonly kind: "secret" | "auth";
  readonly summary: string;
  /** Such as v1.0.0+builtin. */
  readonly version: string;
  /** Endpoints, made with engineEndpoints<E>(); their paths begin at the mount: "/data/:path+". */
  readonly paths: (options: EngineOptions) => readonly Endpoint<E>[];
  /** Refuses what it does not know; gives the options as they are kept, defaults filled in. `local`: the data of the
   *  mount stays in its cluster. Default false. */
  readonly checkOptions: (
    options: EngineOptions,
    about?: { readonly local: boolean },
  ) => EngineOptions;
  /** Whether a mount may go from the one to the other, both as checked: a text why not, or null. Its
   *  engine is then opened anew. Default: options are fixed when it is mounted. */
  readonly canChangeOptions?: (before: EngineOptions, after: EngineOptions) => string | null;
  /** The same where an opened engine alone knows: asked before, both as they were given. Default: nobody is asked. */
  readonly mayChangeOptions?: (
    engine: E,
    before: EngineOptions,
    after: EngineOptions,
  ) => Promise<string | null>;
  /** Also over the data of a loaded snapshot, beside the mount: there storage refuses every write, and nobody outside is
   *  reached. Endpoints declare whether they are answered from one (`fromSnapshot`, `recovers`). */
  readonly open: (needs: EngineNeeds) => E | Promise<E>;
  /** Before its first request, when it is the only one of its mount: `open` may run beside an engine whose place it is to take. Where it
   *  throws, the engine is closed and there is none. Default nothing. */
  readonly begin?: (engine: E) => Promise<void>;
  /** What an engine answers to, where that is known of an opened one alone. Default: what `paths` says. */
  readonly sorts?: (engine: E) => SortedPaths<E>;
  /** The same while it is closed, by what was last kept of it: who may not know of a path learns no more than before. */
  readonly closed?: ClosedPaths<E>;
  /** What runs outside this server for it. Default: nothing. */
  readonly running?: (engine: E) => RunningProgram;
  /** Plugins of the catalog that it uses, by the paths below the mount that say so. Default: none. */
  readonly plugins?: (engine: E) => Promise<readonly UsedPlugin[]>;
  /** What it uses at one of those paths runs by what the catalog says now. Throws a Failure where that cannot be, and then what
   *  ran before goes on. */
  readonly reloadPlugin?: (engine: E, place: string) => Promise<void>;
  /** Why it answers nothing now though it was opened: what runs outside for it does not start, or does not begin. At once. Default: it answers. */
  readonly trouble?: (engine: E) => string | null;
  /** Whether an engine that could not be opened may be the next time though nobody has done anything: then it is tried again, after pauses
   *  that grow. Default: never. */
  readonly triesAgain?: (error: unknown) => boolean;
  /** For documents alone, where more is known of what it answers to than what is declared; a text: why it is not known now. Default: what is
   *  declared. */
  readonly described?: (engine: E) => Promise<readonly Endpoint<never>[] | string>;
  /** What its engines count. Default nothing. */
  readonly metrics?: MetricDeclarations;
  /** Secrets that end. Default none. */
  readonly secrets?: Readonly<Record<string, SecretType<E>>>;
  /** What undoes a write-ahead record of each kind. Success removes the record. Default none. */
  readonly undo?: Readonly<
    Record<string, (engine: E, record: WriteAheadRecord, signal: AbortSignal) => Promise<void>>
  >;
  /** A record that is younger may belong to a request that still runs. Default 10 min. */
  readonly minUndoAge?: Nanos;
  /** For one revocation or one undoing. Default 60 s. */
  readonly jobDeadline?: Nanos;
  /** Work that is due now and then, asked for about once a minute. Default none. */
  readonly periodic?: (engine: E, signal: AbortSignal) => Promise<void>;
  /** What somebody should look at, from memory and at once: the server asks every minute. Default nothing. */
  readonly concerns?: (engine: E) => readonly Concern[];
  /** What disabling would leave behind outside, in words; null for nothing. Default nothing. */
  readonly abandoned?: (engine: E) => Promise<string | null>;
  /** The mount is being disabled and takes no more requests: what is outside, and neither a lease nor
   *  noted, goes now. A failure stops the disabling, unless the operator has said to abandon. Called again
   *  after a crash. Default nothing. */
  readonly leave?: (engine: E, signal: AbortSignal) => Promise<void>;
  /** Of login methods: asked before a token of such a login is renewed, and before it makes one that could be. `owner` is whom it has let in,
   *  as its offer said, or else the metadata that it vouched for. Null: it knows them no more; who was made anew is another. What it throws is
   *  the answer. Default: it knows everybody. */
  readonly renewLogin?: (
    engine: E,
    owner: Readonly<Record<string, string>>,
    request: LoginRenewalRequest,
  ) => Promise<LoginRenewal | null>;
  /** Takes a use of something that the mount keeps, for its engine in another cluster that shares the mount and writes nothing there
   *  (`uses` of what an engine is given). `what` is as that has said it, and to be checked like the input of a request. False: there is no such use.
   *  Default: nothing is counted. */
  readonly takeUse?: (engine: E, what: JsonObject) => Promise<boolean>;
  /** This node is the active one: work of its own, which writes or calls outside though no request asks for
   *  it, begins. Nothing of the kind begins before. Default: it has none. */
  readonly lead?: (engine: E, leading: Leading) => void;
  /** No longer: when it resolves, nothing of that work is under way. Default: it has none. */
  readonly rest?: (engine: E) => void | Promise<void>;
  /** Stops what it has begun: before the mount goes, the node seals, or the engine is opened anew. */
  readonly close?: (engine: E) => void | Promise<void>;
  /** Called with the keys of its storage that somebody else has changed (replication, another node), each
   *  time, before anybody who waits for the change is woken. What it keeps in memory of them it forgets or
   *  reads again; one that throws is opened anew. Default: it keeps nothing in memory that could be old. */
  readonly invalidate?: (engine: E, keys: readonly string[]) => void;
}

/** Endpoints in several sets. Which of them answers on a path is for the engine to say. */
export interface SortedPaths<E> {
  readonly sets: Readonly<Record<string, readonly Endpoint<E>[]>>;
  /** Name of the set. `path` is below the mount, that of a list with a slash at its end. */
  readonly sort: (path: string) => string;
}

export interface ClosedPaths<E> {
  /** What is kept of an opened one: no secret. */
  readonly keep: (engine: E) => JsonObject;
  /** Null: none was ever opened here. */
  readonly sorts: (kept: JsonObject | null) => SortedPaths<E>;
}

export interface UsedPlugin {
  readonly type: "database";
  readonly name: string;
  /** That it is to have; empty: whichever the catalog says. */
  readonly version: string;
  /** Below the mount; the name of what is reloaded. */
  readonly place: string;
}

export interface RunningProgram {
  readonly version: string;
  /** Empty where it has none. */
  readonly sha256: string;
}

/** How a node came to lead. */
export interface Leading {
  /** When its cluster took the place of another, which may have done the same work until then and not have told of it;
   *  null: it never has. */
  readonly tookOverAt: bigint | null; // nanoseconds since 1970
}

export type EngineOptions = Readonly<Record<string, string>>;

export interface EngineNeeds extends EngineServices {
  readonly storage: EngineStorage;
  /** What stays in this cluster, also where the mount is shared with others. Default: `storage`, which it is where the mount is not. */
  readonly localStorage?: EngineStorage;
  readonly writeAhead: WriteAhead;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly mount: MountFacts;
  readonly options: EngineOptions;
}

export interface MountFacts {
  /** Never changes, also not when the mount moves. */
  readonly uuid: string;
  readonly accessor: string;
  readonly namespace: NamespaceRef;
  /** Where it is now; with a slash at the end, relative to its namespace. */
  path(): string;
  /** As tuned now; the server's where the mount says nothing. */
  defaultTtl(): Nanos;
  maxTtl(): Nanos;
  /** Of auth mounts: how often one may fail to log in, as tuned now. Default: DEFAULT_LOCKOUT. */
  lockout?(): LockoutConfig;
}

/** A note of what is about to be made outside, so that a crash leaves nothing behind. */
export interface WriteAheadRecord {
  readonly id: string;
  readonly kind: string;
  readonly data: JsonObject;
  readonly created: bigint; // nanoseconds since 1970
}

export interface WriteAhead {
  /** Durable when it resolves: only then is something made outside. Gives its id. */
  begin(kind: string, data: JsonObject): Promise<string>;
  /** Replaces what the record says, such as the id that the provider gave. */
  note(id: string, data: JsonObject): Promise<void>;
  /** It was undone, or came to nothing. What a lease settles is removed with the lease. */
  drop(id: string): Promise<void>;
  /** What a revocation had to leave behind although its secret is dead: operators see it at once, and
   *  what undoes its `kind` is tried now and then, in the end every six hours. The same said twice is one. Gives its id. */
  orphan(kind: string, data: JsonObject, cause: string): Promise<string>;
}

export interface LeaseFacts {
  readonly leaseId: string;
  readonly internal: JsonObject;
  readonly issued: bigint;
  readonly expires: bigint;
}

export interface SecretType<E> {
  /** Null: it cannot be renewed. Gives what holds from now on; null where the role says nothing. */
  readonly renew:
    | ((engine: E, lease: LeaseFacts, increment: Nanos | null) => Promise<Renewal>)
    | null;
  /** Ends it outside. "Already gone" is success. A PermanentFailure is not tried again. */
  readonly revoke: (engine: E, lease: LeaseFacts, signal: AbortSignal) => Promise<Revoked | void>;
  /** For the receipt that is left when it has ended: no secret. Default: nothing is said. */
  readonly receipt?: (lease: LeaseFacts) => ReceiptFacts;
}

/** What came of a revocation. */
export interface Revoked {
  /** By which the provider knows the calls that ended it, in the form of request-id.ts; the last 16 count. Default none. */
  readonly requestIds?: readonly string[];
}

export interface ReceiptFacts {
  /** That it was made for. Default: none. */
  readonly role?: string;
  /** What the provider calls what was made: names and ids. Default none. */
  readonly objects?: readonly string[];
  /** Nobody can end it before: what was handed out is good until then. Default: revoking ends it. */
  readonly goodUntil?: bigint | null; // nanoseconds since 1970
}

export interface Renewal {
  readonly ttl?: Nanos | null;
  readonly maxTtl?: Nanos | null;
  /** Default true. */
  readonly renewable?: boolean;
  readonly internal?: JsonObject;
}

/** Declares endpoints of an engine: endpointsOf, but handlers see of a request what an engine may see. */
export function engineEndpoints<E>() {
  const declare = endpointsOf<E>();
  return <F extends Fields, O extends Output<unknown>>(
    declared: Declaration<E, F, O, EngineRequest> & Placed,
  ): Endpoint<E> => declare(declared);
}

/** A type without that of its engines: what tables of types are made of. Whoever calls it hands it the
 *  engines that it has opened itself, and no others. */
export function anyEngine<E>(type: EngineType<E>): EngineType<unknown> {
  return type as EngineType<unknown>;
}
