// What is audited: a request and its answer as the pipeline knows them, in clear. The audit room hashes
// what must not be readable.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import type { Decision } from "./decision.ts";
import type { Judgement } from "./judgement.ts";
import type { WrapInfo } from "@holdfast/shared/endpoint/reply";
import type { Caller, NamespaceRef, Operation, Remote } from "@holdfast/shared/endpoint/request";

/** It does not change between the call for the request and the one for its response. */
export interface AuditedRequest {
  readonly id: string;
  readonly time: Instant; // when it came in
  readonly operation: Operation;
  readonly namespace: NamespaceRef;
  /** Relative to the namespace; null when it was refused for its spelling. */
  readonly path: CanonicalPath | null;
  /** The raw target's path, where it was refused for its spelling. */
  readonly rawPath: string | null;
  readonly mountPoint: string;
  readonly mountType: string;
  readonly mountAccessor?: string;
  /** Members of `data` that the mount wants readable, in requests and in responses. */
  readonly readable?:
    | {
        readonly request: ReadonlySet<string>;
        readonly response: ReadonlySet<string>;
      }
    | undefined;
  readonly caller: Caller | null;
  readonly credential: string | null;
  /** Null where the body was not read. */
  readonly data: JsonObject | null;
  readonly remote: Remote;
  readonly wrapTtl: Nanos | null;
  readonly policyOverride: boolean;
  /** The loaded snapshot that it names, to be answered or recovered from. Default null: none. */
  readonly snapshotId?: string | null;
  readonly decision: Decision | null;
  /** What RGPs and EGPs said. Default: none was asked. */
  readonly judgement?: Judgement | null;
  /** Which member of the set has sent it on, and the id of its cluster. Default null: it came from a client. */
  readonly forwarded?: { readonly member: string; readonly clusterId: string } | null;
  header(name: string): string | undefined;
  /** A place for whoever records it, for the text that its two records share. Default: there is none. */
  kept?: object | null;
}

export interface AuditedAnswer {
  readonly data: JsonValue | undefined;
  /** A token that the answer gives out. Default none. */
  readonly auth?: AuthBlock | null;
  /** Empty: no lease. Default empty. */
  readonly leaseId?: string;
  /** What stands for a wrapped answer, whose data is then not recorded. Default none. */
  readonly wrapInfo?: WrapInfo | null;
  readonly warnings: readonly string[];
  /** Recorded in clear. Default nothing. */
  readonly noted?: Readonly<Record<string, string>> | null;
  /** Why it was refused; empty when it was not. */
  readonly error: string;
}
