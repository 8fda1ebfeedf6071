// What the pipeline asks of the rooms. Each room has a class that fits; server.ts puts them together.

import type { CanonicalPath } from "../base/canonical-path.ts";
import type { JsonObject, JsonValue } from "../base/json.ts";
import type { Instant, Nanos } from "../base/world.ts";
import type { Capability } from "../endpoint/access.ts";
import type { Caller, NamespaceRef, Operation, Remote } from "../endpoint/request.ts";

/** The node itself. */
export interface NodeState {
  readonly initialised: boolean;
  readonly sealed: boolean;
  readonly drSecondary: boolean;
  /** Last durable index. */
  readonly index: bigint;
}

export interface TokenLookup {
  /** By the salted hash of the secret. Null for unknown, deleted and expired ones alike. */
  find(secret: string): Caller | null;
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

export interface Question {
  /** Where the request goes: the caller's namespace or one below it. */
  readonly namespace: NamespaceRef;
  /** Relative to that namespace; for lists with a slash at the end. */
  readonly path: string;
  readonly capability: Exclude<Capability, "sudo">;
  /** Whether `sudo` is needed beside it. */
  readonly sudo: boolean;
  /** Body or query parameters, for rules on parameters. */
  readonly data: JsonObject;
  readonly wrapTtl: Nanos | null;
}

export interface Granting {
  readonly name: string;
  readonly namespaceId: string;
}

export interface Decision {
  readonly allowed: boolean;
  readonly granting: readonly Granting[];
}

export interface Decisions {
  /** By the ACL policies of a client token and the built-in default. */
  decide(caller: Caller, question: Question): Decision;
}

/** One request, in clear. The audit room hashes what must not be readable. */
export interface AuditedRequest {
  readonly id: string;
  readonly time: Instant; // when it came in
  readonly operation: Operation;
  readonly namespace: NamespaceRef;
  /** Relative to the namespace; null when it was refused for its spelling. */
  readonly path: CanonicalPath | null;
  /** The raw target's path, where it was refused for its spelling. */
  readonly rawPath: string | null;
  readonly mountPoint: string; // sys/, auth/token/, …
  readonly mountType: string;
  readonly caller: Caller | null;
  readonly credential: string | null;
  /** Null where the body was not read. */
  readonly data: JsonObject | null;
  readonly remote: Remote;
  readonly wrapTtl: Nanos | null;
  readonly policyOverride: boolean;
  readonly decision: Decision | null;
  header(name: string): string | undefined;
}

export interface AuditedAnswer {
  readonly data: JsonValue | undefined;
  readonly warnings: readonly string[];
  /** Why it was refused; empty when it was not. */
  readonly error: string;
}

export interface Auditing {
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
