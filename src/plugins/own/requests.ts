// A request of ours as a plugin of our own SDK gets it: query and body apart, with who asks.

import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { LeaseFacts } from "@holdfast/plugin-sdk/engine";
import {
  request,
  type WireRequest,
  type WireSecret,
} from "@holdfast/plugin-sdk/wire/backend-messages";
import { callerToWire } from "@holdfast/plugin-sdk/wire/own-caller";
import type { DescribedEndpoint } from "@holdfast/plugin-sdk/wire/plugin-service";
import type { Nanos } from "@holdfast/shared/world";
import type { OwnLease } from "./answers.ts";

const NOTHING: WireRequest = { ...request.decode(new Uint8Array()), data: "{}" };

export type Input = Readonly<Record<string, JsonValue | undefined>>;

export type Operation = "create" | "read" | "update" | "patch" | "delete" | "list";

export interface RequestParts {
  readonly operation: Operation;
  readonly endpoint: DescribedEndpoint;
  /** As it came, by the keys of its fields. */
  readonly input: Input;
  readonly number: bigint;
  readonly factsVersion: bigint;
}

export function ownRequest(parts: RequestParts, context: EngineRequest): WireRequest {
  const { operation, number, factsVersion } = parts;
  const { caller, mount, remote, wrapTtl, id, namespace, path } = context;
  const taken = (mount?.path ?? "").split("/").length - 1;
  const { query, body } = valuesBy(parts);
  return {
    ...NOTHING,
    id,
    operation,
    path: path.segments.slice(taken).join("/"),
    mountPoint: mount?.path ?? "",
    mountType: mount?.type ?? "",
    mountAccessor: mount?.accessor ?? "",
    headers: headersOf(context),
    clientTokenAccessor: caller?.accessor ?? "",
    displayName: caller?.name ?? "",
    unauthenticated: context.anonymous,
    connection: { remoteAddress: remote.address, remotePort: remote.port, state: null },
    wrapInfo: wrapTtl === null ? null : { ttl: wrapTtl, format: "", sealWrap: false },
    own: {
      query: JSON.stringify(query),
      body: JSON.stringify(body),
      namespace,
      caller: caller === null ? null : callerToWire(caller),
      loopback: remote.loopback,
      number,
      mountPath: mount?.path ?? "",
      mountLocal: mount?.local ?? false,
      factsVersion,
    },
  };
}

/** Each value under the first name of its field, where the plugin looks for it. */
function valuesBy({ endpoint, input }: RequestParts) {
  const query: Record<string, JsonValue> = {};
  const body: Record<string, JsonValue> = {};
  for (const { key, source, name } of endpoint.fields) {
    const value = input[key];
    if (value === undefined || source === "path") continue;
    if (source === "query") query[name] = value;
    else if (source === "whole" || source === "given") Object.assign(body, value);
    else body[name] = value;
  }
  return { query, body };
}

function headersOf(context: EngineRequest): WireRequest["headers"] {
  const found = new Map<string, { header: readonly string[] }>();
  for (const name of context.mount?.headers?.request ?? []) {
    const value = context.header(name);
    if (value !== undefined) found.set(name, { header: [value] });
  }
  return found;
}

/** Of a lease: the plugin gets what it has given, and no more. */
export function leaseRequest(
  operation: "renew" | "revoke",
  { leaseId, issued, expires }: LeaseFacts,
  { kept }: OwnLease,
  increment: Nanos,
): WireRequest {
  const secret: WireSecret = {
    leaseOptions: {
      ttl: expires - issued,
      renewable: true,
      increment,
      issueTime: issued,
      maxTtl: 0n,
    },
    internalData: kept,
    leaseId,
  };
  return { ...NOTHING, operation, secret };
}
