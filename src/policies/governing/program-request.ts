// A request as the programs of RGPs and EGPs see it, made in this one place: for a request
// that is judged, for one that a handler asks about, and for one that somebody describes. Name and
// metadata of a token are those of its origin: what a caller has chosen for its child says nothing about
// who it is.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Caller, NamespaceRef, Remote } from "@holdfast/shared/endpoint/request";
import type { ProgramInput, ProgramToken } from "../../program/request/program-input.ts";

/** What the path of a request belongs to; empty texts for nothing. */
export interface Home {
  /** With a slash at the end. */
  readonly point: string;
  readonly type: string;
  /** Of a mount. */
  readonly accessor: string;
}

export interface GovernedRequest {
  readonly now: Instant;
  readonly id: string;
  readonly namespace: NamespaceRef;
  /** Relative to the namespace, lists with a slash at the end. */
  readonly path: string;
  readonly operation: string;
  readonly data: JsonObject | null;
  readonly remote: Pick<Remote, "address" | "port">;
  /** By its lower-case name. */
  header(name: string): string | undefined;
  readonly wrapTtl: Nanos | null;
  readonly override: boolean;
  readonly caller: Caller | null;
  readonly home: Home;
}

/** What programs may see beside the request. */
export interface Surroundings {
  /** Names of the headers. */
  headers(): readonly string[];
  /** What this cluster is at that moment. */
  replication(): ProgramInput["replication"];
}

export function programInput(request: GovernedRequest, around: Surroundings): ProgramInput {
  const { namespace, caller, remote, home } = request;
  return {
    now: request.now,
    request: {
      id: request.id,
      path: request.path,
      operation: request.operation,
      data: request.data,
      remoteAddress: remote.address,
      remotePort: remote.port,
      headers: showHeaders(request, around.headers()),
      wrapTtl: request.wrapTtl,
      policyOverride: request.override,
      unauthenticated: caller === null,
      mountPoint: home.point,
      mountType: home.type,
      mountAccessor: home.accessor,
    },
    token: caller === null ? null : programToken(caller),
    namespace: { id: namespace.id, path: namespace.path },
    replication: around.replication(),
  };
}

/** Each value by itself, however they came: in several headers or with commas between (T-A21). */
function showHeaders(request: GovernedRequest, names: readonly string[]) {
  const visible: Record<string, readonly string[]> = {};
  for (const name of names) {
    const header = request.header(name);
    if (header !== undefined) visible[name] = header.split(",").map((value) => value.trim());
  }
  return visible;
}

function programToken(caller: Caller): ProgramToken {
  const { accessor, type, policies, global, created, expires, namespace, origin, terms } = caller;
  return {
    accessor,
    displayName: origin?.name ?? "",
    type,
    policies,
    global,
    metadata: origin?.metadata ?? {},
    created,
    creationTtl: expires === null ? 0n : expires - created,
    expires,
    numUses: terms?.usesLeft ?? 0,
    period: terms?.period ?? 0n,
    explicitMaxTtl: terms?.longest ?? 0n,
    path: terms?.path ?? "acl/token",
    role: "",
    entityId: "",
    namespace: { id: namespace.id, path: namespace.path },
  };
}
