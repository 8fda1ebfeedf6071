// A request as the pipeline takes it from http/, and what it gives back. Sockets, headers' spellings
// and status numbers are http's; who may do what is not.

import type { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { Family } from "@holdfast/shared/endpoint/endpoint";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { BodyStream, BodyStreamRules } from "@holdfast/shared/endpoint/stream";
import type {
  Caller,
  ListenerTraits,
  NamespaceRef,
  Operation,
  Remote,
  WrapForm,
} from "@holdfast/shared/endpoint/request";

export interface Incoming {
  /** A fresh UUID: request_id of the envelope, of the header and of both audit records. */
  readonly id: string;
  /** As on the wire: GET, HEAD, LIST, POST, PUT, PATCH, DELETE, or anything else. */
  readonly verb: string;
  /** The raw request target, untouched. */
  readonly target: string;
  /** The caller's secret, from whichever header; null without one, and where there is a fault. */
  readonly credential: string | null;
  /** Why it is not clear which secret is meant; paths that ask nobody take no notice. Default: it is. */
  readonly credentialFault?: Failure | null;
  /** Namespace header as given; null without one. */
  readonly namespace: string | null;
  readonly wrapTtl: Nanos | null;
  /** Default "token". */
  readonly wrapForm?: WrapForm | undefined;
  readonly policyOverride: boolean;
  /** The loaded snapshot that what the path held is to be written back from. Default null: none is named. */
  readonly recoverFrom?: string | null;
  readonly contentType: string | null;
  /** Whether a body was announced (a length above 0, or chunks). */
  readonly hasBody: boolean;
  /** A header by its lower-case name, every value, for audit and policies; undefined when absent. */
  header(name: string): string | undefined;
  readonly remote: Remote;
  /** Called by the pipeline once it knows whether somebody's token was sent, before it reads or does anything: what is
   *  done for somebody whom nobody knows takes none of the room of the others. Throws a Failure where there is none.
   *  Default: there always is. */
  identified?(known: boolean): void;
  readonly listener: ListenerTraits;
  /** Aborted when the client goes away, and when the time for the request is over. */
  readonly signal: AbortSignal;
  /** The same, and when the client has ended its side. Default: `signal`. */
  readonly ended?: AbortSignal;
  /** Time for this request, counted from its start, in place of what the listener allows. */
  allow(duration: Nanos): void;
  /** The whole body, read on demand. More than `limit` bytes is a Failure of kind too-large. */
  body(limit: number): Promise<Uint8Array>;
  /** The body as it comes, for endpoints that declare so. */
  stream(rules: BodyStreamRules): BodyStream;
  /** Asks for room for so many bytes of an answer until it is sent. Throws a Failure where there is none.
   *  Default: there is always. */
  hold?(bytes: number): void;
  /** Marks of states that the answer must not be older than. Default none. */
  readonly states?: readonly string[];
  /** Whether it waits for them, where they are not reached. Default false: it is refused. */
  readonly awaitsState?: boolean;
  /** It came by another cluster of the set. Default null: from a client. */
  readonly forwarded?: ForwardedFrom | null;
  /** Overwrites the body, and what it came in: nobody looks at it again. */
  wipe(): void;
}

/** A request that another cluster has sent on, since what it writes belongs here. */
export interface ForwardedFrom {
  /** What that cluster is known by in the set: its certificate has proved it. */
  readonly member: string;
  /** Id of that cluster. */
  readonly clusterId: string;
  /** Who asks, where that cluster alone knows its token; null: nobody, or a token that is known here. */
  readonly attested: AttestedCaller | null;
  /** Names of the policies that it may vouch for; null: all. */
  readonly attests: readonly string[] | null;
  /** The answer is wrapped there, where it is to be: it is judged here as one that is, and not wrapped. */
  readonly wrapsItself: boolean;
  /** It named this region, and is judged here alone. Otherwise it was judged there, and is here to be written: then numbers that are
   *  compared are those of records, since what a client sees there is not what is shown here. */
  readonly namedRegion: boolean;
}

/** The owner of a token of another cluster, on its word. Never management. */
export interface AttestedCaller extends Pick<
  Caller,
  "accessor" | "name" | "policies" | "created" | "expires" | "withoutDefault" | "origin" | "terms"
> {
  /** Without slashes at the ends; the same everywhere, as its id is. */
  readonly namespace: Pick<NamespaceRef, "id" | "path">;
}

export interface Outcome {
  /** What the handler said, or why there is no answer. */
  readonly result: Reply | Failure;
  readonly family: Family;
  /** `data` is repeated at the top level: reads under sys/. */
  readonly flat: boolean;
  readonly operation: Operation | null; // null when no route was found
  readonly mountType: string; // system, token, kv …; empty when no route was found
  readonly headOnly: boolean;
  /** Indented, for people. */
  readonly pretty: boolean;
  /** X-Ratelimit-… and the like. */
  readonly headers: Readonly<Record<string, string>>;
  /** What whoever has seen this answer has seen; null while that is not told. */
  readonly state: string | null;
  /** Index of the write log that the answer reflects; null while sealed. */
  readonly index: bigint | null;
}

/** The pipeline as http sees it. Never rejects. */
export interface Core {
  handle(incoming: Incoming): Promise<Outcome>;
  /** How long a body may be that is handed on while it comes; 0 where none is. */
  streams(request: Pick<Incoming, "verb" | "target" | "namespace">): number;
}
