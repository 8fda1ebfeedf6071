// What a handler may know of the request it answers, and who asks.

import type { JsonObject } from "../json/json.ts";
import type { AddressRanges } from "../text/address-ranges.ts";
import type { CanonicalPath } from "../text/canonical-path.ts";
import type { Pace } from "../sliced.ts";
import type { Waiting } from "../waiting.ts";
import type { Instant, Nanos } from "../world.ts";
import type { Capability, ListenerOpenings } from "./access.ts";
import type { BodyStream } from "./stream.ts";

export type Operation = "read" | "list" | "update" | "patch" | "delete" | "help";

export interface NamespaceRef {
  /** "root", or the short id that is part of storage keys. Never reused. */
  readonly id: string;
  /** Without slashes at the ends; empty for root. */
  readonly path: string;
  /** Index of the write that made it; 0 for root. A policy reaches only children older than itself. */
  readonly created: bigint;
}

export const ROOT_NAMESPACE: NamespaceRef = { id: "root", path: "", created: 0n };

/** A token works in its namespace and below: whether one of `above` works in `below`. */
export function isAtOrBelow(
  { path: below }: Pick<NamespaceRef, "path">,
  { path: above }: Pick<NamespaceRef, "path">,
): boolean {
  return above === "" || below === above || below.startsWith(`${above}/`);
}

/** The owner of the token that came with a request. Holds no secret. */
export interface Caller {
  readonly accessor: string;
  readonly type: "management" | "client";
  readonly name: string; // for people, as its maker has chosen it; may be empty
  readonly policies: readonly string[]; // as on the token, without the built-in default
  readonly namespace: NamespaceRef;
  readonly global: boolean;
  readonly created: Instant;
  readonly expires: Instant | null;
  /** Whether the built-in default policy does not count for it. Default false. */
  readonly withoutDefault?: boolean | undefined;
  /** Whether its uses are numbered: each request takes one. Default false. */
  readonly counted?: boolean | undefined;
  /** Holds an answer for whoever unwraps it: it opens that and nothing else. Default: it is no such
   *  token. */
  readonly wrapping?: WrapForm | undefined;
  /** Where it is good. Default: anywhere. */
  readonly boundTo?: AddressRanges | undefined;
  /** Who is behind it. Default: nobody has vouched for anything, so no name and no metadata. */
  readonly origin?: Origin | undefined;
  /** What governing policies may ask of it besides. Default: made through /acl/, which knows none. */
  readonly terms?: CallerTerms | undefined;
}

/** Who is behind a token: what a login method has proved, or somebody with the right to say so has
 *  written. Templates and governing programs trust this and nothing else. A token that makes another
 *  without that right hands it on. */
export interface Origin {
  /** Id of the namespace that it was proved or written in. */
  readonly namespaceId: string;
  /** Uuid of the auth mount; null: there was no login. */
  readonly mount: string | null;
  /** Path below the mount that was logged in by; empty without a login. */
  readonly login: string;
  /** No two names of two mounts are the same; may be empty. */
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** What the login method knows its owner by, where somebody with the right to has written other
   *  metadata. Default: the metadata. */
  readonly owner?: Readonly<Record<string, string>> | undefined;
  /** Without a login: the accessor of the token that handed this on first. Default: it is its own. */
  readonly first?: string | undefined;
}

/** How a wrapping token looks: like every other, or signed and telling where it can be unwrapped. */
export type WrapForm = "token" | "jwt";

export interface CallerTerms {
  /** Null: as many as one likes. */
  readonly usesLeft: number | null;
  readonly period: Nanos | null;
  readonly longest: Nanos | null;
  /** Where it was made, as a look-up shows it. */
  readonly path: string;
}

export interface Remote {
  readonly address: string;
  readonly port: number;
  readonly loopback: boolean;
}

/** What the listener that took the request lets pass. */
export interface ListenerTraits {
  readonly keyCeremonies: "open" | "token" | "off";
  readonly openings: ListenerOpenings;
  readonly maxBody: number; // bytes
  readonly metricsOnly: boolean;
}

/** The mount that a request goes to. */
export interface MountRef {
  /** Never changes, also not when the mount moves. */
  readonly uuid: string;
  readonly accessor: string;
  readonly type: string;
  /** With a slash at the end, relative to its namespace: "kv/", "auth/people/". */
  readonly path: string;
  readonly namespace: NamespaceRef;
  /** Its data stays in this cluster, and goes to no other that shares data with it. */
  readonly local: boolean;
  /** Members of requests and answers that audit shows in clear. */
  readonly readable: {
    readonly request: ReadonlySet<string>;
    readonly response: ReadonlySet<string>;
  };
  /** Headers, by lower-case name, that its engine is told of and may answer with. Default none. */
  readonly headers?: {
    readonly request: ReadonlySet<string>;
    readonly response: ReadonlySet<string>;
  };
  /** What its type has opened: the room of its endpoints. */
  readonly engine: unknown;
}

/** The code of the reason for which `ended` is aborted where the client may still read an answer. */
export const CLIENT_ENDED = "client-ended";

/** What the handlers of an engine may know. It waits for its turn itself, in every line and for every lock: who
 *  was revoked, ran out or lost a right meanwhile is refused as at the door, and so is everybody when the node seals. */
export interface EngineRequest extends Waiting {
  readonly id: string;
  readonly operation: Operation;
  readonly namespace: NamespaceRef;
  /** Relative to the namespace. */
  readonly path: CanonicalPath;
  /** Null for what is no mount's: sys/, acl/, auth/token/. */
  readonly mount: MountRef | null;
  /** Whether the answer is to be wrapped, and for how long. */
  readonly wrapTtl: Nanos | null;
  /** Null where no token was needed and none that is valid was sent. */
  readonly caller: Caller | null;
  /** Whether no credential was sent at all. */
  readonly anonymous: boolean;
  /** Whether the caller's policies let it do something elsewhere in the namespace of the request: for
   *  endpoints that act on a second place. Management may. Programs (RGP, EGP) are asked as if it were the request,
   *  without an override, and `sudo` is needed where the request would need it. The fields are those of that request,
   *  in its query or its body: rules on parameters and programs judge them. A "no" says that this one request is
   *  refused, and nothing of others: see `mightEver`. */
  may(capability: Exclude<Capability, "sudo">, path: string, fields?: JsonObject): Promise<boolean>;
  /** Whether any request of that kind could be allowed to the caller there, whatever its fields, its wrapping and
   *  the programs that judge it: by the capabilities of the rule that decides for the path alone. Where this is
   *  false the place is closed to the caller. */
  mightEver(capability: Exclude<Capability, "sudo">, path: string): Promise<boolean>;
  /** For handlers of endpoints that declare `exists`: says, inside the transaction and before anything is
   *  changed, whether what the path names is there. A write is judged as `create` or `update` before that; where
   *  it was judged as the other of the two this throws, and the request is judged again by what is there now and
   *  handled again if it still may. */
  confirmExists(exists: boolean): void;
  /** How long work goes on, where it may be put down: in stretches, by turns with everybody else's. */
  readonly pace: Pace;
  readonly remote: Remote;
  /** Whether a write makes something new, by what its endpoint says exists (`exists`): asked once, whoever wants to know. */
  creates(): Promise<boolean>;
  /** It is about to make a secret that ends, though its endpoint does not say so (`issues`): refused where a quota on their number is
   *  full, and where the caller's token ends with this request. */
  issues(): Promise<void>;
  /** A header of the request, where the mount's operators let it pass to the engine; undefined for
   *  every other. */
  header(name: string): string | undefined;
  /** Aborted when the client is gone or the time for this request is over. */
  readonly signal: AbortSignal;
  /** Whether the caller's token has the operation's capability and `sudo` on this path: for the few
   *  handlers that let a nonce stand in for a right. */
  isPrivileged(): Promise<boolean>;
  /** Gives this request so long from its start, instead of what the listener allows: for answers
   *  that wait for something. */
  allow(duration: Nanos): void;
}

/** What the server's own handlers may know besides. */
export interface RequestContext extends EngineRequest {
  /** How its wrapping token is to look. Default "token". */
  readonly wrapForm?: WrapForm | undefined;
  readonly listener: ListenerTraits;
  /** Another cluster has sent it on: numbers to compare with are those of records. Default false. */
  readonly isSentOn?: boolean;
  /** The body, where the endpoint declares that it takes one as it comes. Its end is there when the request was judged
   *  again: nothing takes effect before. */
  readonly stream?: BodyStream | undefined;
  /** Aborted with `signal`, and also when the client has ended its side of the connection (CLIENT_ENDED): it
   *  may still read an answer, but nobody can say whether it does. For what only waits. Default: `signal`. */
  readonly ended?: AbortSignal;
  /** A header of the request by its lower-case name. */
  ownHeader(name: string): string | undefined;
  /** What the audit record of the answer, or of its refusal, says besides, in clear: nothing that came from the caller
   *  unread. Before it is done where that is to be known however it ends. */
  note(about: Readonly<Record<string, string>>): void;
  /** Who the credential belongs to now, judged again by RGPs and EGPs (T-A17): null when it was deleted
   *  or has expired since. For answers that have waited. */
  recheck(): Caller | null | Promise<Caller | null>;
  /** From now on nobody waits for this request to end: for the handler that seals the node, which
   *  otherwise would wait for itself. */
  detach(): void;
}
