// What one request shows to the programs of governing policies, as plain data in our own
// names. It is built once per request and only if a program applies; names of the wire and types of
// CEL are made from it by request-view.ts, part by part, when a program first asks. The secret itself,
// responses and other requests are not in it on purpose.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";

export type ReplicationMode = "disabled" | "bootstrapping" | "primary" | "secondary";

export interface ProgramInput {
  /** Time of the request. */
  readonly now: Instant;
  readonly request: ProgramRequest;
  /** Null when nobody is signed in: programs then see an empty map. */
  readonly token: ProgramToken | null;
  /** Of the request, which may lie below that of the token. */
  readonly namespace: ProgramNamespace;
  readonly replication: { readonly dr: ReplicationMode; readonly performance: ReplicationMode };
  /** In the names of the wire; left out until identities and second factors exist. */
  readonly identity?: JsonObject | undefined;
  readonly mfa?: JsonObject | undefined;
}

export interface ProgramNamespace {
  readonly id: string;
  readonly path: string;
}

export interface ProgramRequest {
  readonly id: string;
  /** Without leading `/` and without `/v1`. */
  readonly path: string;
  readonly operation: string;
  /** The body, or the query of a request without one; null counts as empty. */
  readonly data: JsonObject | null;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Lower-case names; only those that are audited. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly wrapTtl: Nanos | null;
  readonly policyOverride: boolean;
  readonly unauthenticated: boolean;
  /** Empty texts if nothing is routed there. */
  readonly mountPoint: string;
  readonly mountType: string;
  readonly mountAccessor: string;
}

/** Fields that the token store does not have are `""`, 0, null or empty. */
export interface ProgramToken {
  readonly accessor: string;
  readonly displayName: string;
  readonly type: string;
  readonly policies: readonly string[];
  readonly global: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created: Instant;
  readonly creationTtl: Nanos;
  readonly expires: Instant | null;
  readonly numUses: number;
  readonly period: Nanos;
  readonly explicitMaxTtl: Nanos;
  readonly path: string;
  readonly role: string;
  readonly entityId: string;
  readonly namespace: ProgramNamespace;
}
