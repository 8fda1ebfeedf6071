// What is audited: a request and its answer as the pipeline knows them, in clear. This is the room's
// own view of them; core/seams.ts has the same shapes.

import type { CanonicalPath } from "../base/canonical-path.ts";
import type { JsonObject, JsonValue } from "../base/json.ts";
import type { Instant, Nanos } from "../base/world.ts";
import type { Caller, NamespaceRef, Operation, Remote } from "../endpoint/request.ts";

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
  readonly readable?: {
    readonly request: ReadonlySet<string>;
    readonly response: ReadonlySet<string>;
  };
  readonly caller: Caller | null;
  readonly credential: string | null;
  readonly data: JsonObject | null;
  readonly remote: Remote;
  readonly wrapTtl: Nanos | null;
  readonly policyOverride: boolean;
  readonly decision: {
    readonly allowed: boolean;
    readonly granting: readonly { readonly name: string; readonly namespaceId: string }[];
  } | null;
  header(name: string): string | undefined;
}

export interface AuditedAnswer {
  readonly data: JsonValue | undefined;
  readonly warnings: readonly string[];
  readonly error: string;
}
