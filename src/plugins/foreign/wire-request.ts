// A request of ours as a plugin gets it. It never carries a credential: what stands for the caller's token is the same for the
// same token, and opens nothing.

import type { EngineRequest, MountRef } from "@holdfast/shared/endpoint/request";
import type { JsonObject } from "@holdfast/shared/json/json";
import { request, type WireRequest } from "@holdfast/plugin-sdk/wire/backend-messages";

/** What the pipeline knows; what others know besides is not to be reached from outside. */
export type Operation = "create" | "read" | "update" | "patch" | "delete" | "list";
/** Of the server alone. */
export type Inner = "help" | "revoke" | "renew" | "rollback";

const NOTHING: WireRequest = request.decode(new Uint8Array());

export interface Question {
  readonly operation: Operation;
  /** Below the mount. */
  readonly path: string;
  readonly data: JsonObject;
  /** For the caller's token. */
  readonly stamp: (accessor: string) => string;
}

export function requestOf(question: Question, context: EngineRequest): WireRequest {
  const { operation, path, data, stamp } = question;
  const { caller, mount, remote, wrapTtl, id } = context;
  return {
    ...NOTHING,
    ...placeOf(mount),
    id,
    operation,
    path: operation === "list" && path !== "" ? `${path}/` : path,
    data: JSON.stringify(data),
    headers: headersOf(context),
    clientToken: caller === null ? "" : stamp(caller.accessor),
    clientTokenAccessor: caller?.accessor ?? "",
    displayName: caller?.name ?? "",
    clientTokenRemainingUses: BigInt(caller?.terms?.usesLeft ?? 0),
    unauthenticated: caller === null,
    connection: { remoteAddress: remote.address, remotePort: remote.port, state: null },
    wrapInfo: wrapTtl === null ? null : { ttl: wrapTtl, format: "", sealWrap: false },
  };
}

/** Of the server's own work; nobody is behind it. */
export function innerRequest(
  operation: Inner,
  path: string,
  more: Partial<WireRequest> & Pick<WireRequest, "id">,
): WireRequest {
  return { ...NOTHING, data: "{}", ...more, operation, path };
}

export function placeOf(
  mount: Pick<MountRef, "path" | "type" | "accessor"> | null,
): Pick<WireRequest, "mountPoint" | "mountType" | "mountAccessor"> {
  return {
    mountPoint: mount?.path ?? "",
    mountType: mount?.type ?? "",
    mountAccessor: mount?.accessor ?? "",
  };
}

/** Those that the mount's operators let pass, in the spelling that plugins look for. */
function headersOf(context: EngineRequest): WireRequest["headers"] {
  const found = new Map<string, { header: readonly string[] }>();
  for (const name of context.mount?.headers?.request ?? []) {
    const value = context.header(name);
    if (value !== undefined) found.set(canonicalHeader(name), { header: [value] });
  }
  return found;
}

/** X-Forwarded-For. */
export function canonicalHeader(name: string): string {
  return name
    .split("-")
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1).toLowerCase())
    .join("-");
}
