// Endpoints of one room without a pipeline around them: fields by their wire names in, what the
// handler gives out. For tests of a room's declarations; who may call them is tested elsewhere.

import { ownPace } from "@holdfast/shared/sliced";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { OWN_WORK } from "@holdfast/shared/waiting";
import assert from "node:assert/strict";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { fold } from "@holdfast/shared/text/fold";
import type { JsonValue } from "@holdfast/shared/json/json";
import { type RequestParts, RequestInput } from "@holdfast/shared/endpoint/input";
import { MEANING } from "@holdfast/shared/endpoint/operation";
import { type Endpoint, serve, type Served } from "@holdfast/shared/endpoint/endpoint";
import {
  type RequestContext,
  type Caller,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";

export const CONTEXT: RequestContext = {
  id: "00000000-0000-4000-8000-000000000000",
  operation: "read",
  namespace: ROOT_NAMESPACE,
  path: CanonicalPath.of([]),
  caller: null,
  isPrivileged: async () => false,
  mount: null,
  wrapTtl: null,
  may: async () => false,
  mightEver: async () => false,
  confirmExists: () => {},
  creates: async () => false,
  issues: async () => {},
  pace: ownPace({ clock: new SystemClock(), timers: new SystemTimers() }),
  remote: { address: "127.0.0.1", port: 1, loopback: true },
  listener: { keyCeremonies: "open", openings: { metrics: false }, maxBody: 1, metricsOnly: false },
  signal: new AbortController().signal,
  allow: () => {},
  ...OWN_WORK,
  recheck: () => null,
  anonymous: false,
  header: () => undefined,
  ownHeader: () => undefined,
  note: () => {},
  detach: () => {},
};

export const MANAGEMENT: Caller = {
  accessor: "a",
  type: "management",
  name: "",
  policies: [],
  namespace: ROOT_NAMESPACE,
  global: false,
  created: 0n,
  expires: null,
};

export interface Ask {
  (
    name: string,
    fields?: Readonly<Record<string, JsonValue>>,
    context?: Partial<RequestContext>,
  ): Promise<unknown>;
  readonly context: RequestContext;
}

function text(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Each value in the place that its field is read from; names of the path as the router gives them. */
function partsOf({ fields }: Served, values: Readonly<Record<string, JsonValue>>): RequestParts {
  const path: Record<string, string> = {};
  const query = new Map<string, string | true>();
  const body: Record<string, JsonValue> = {};
  for (const { field, names } of fields) {
    for (const name of [field.name, ...names].filter((one) => Object.hasOwn(values, one))) {
      const value = values[name] ?? null;
      if (field.source === "path")
        path[name] = field.folds === "case" ? fold(text(value)) : text(value);
      else if (field.source === "query") query.set(name, value === true ? value : text(value));
      else if (field.source === "whole" || field.source === "given") Object.assign(body, value);
      else body[name] = value;
    }
  }
  return { path, query, body };
}

export function answering<Room>(room: Room, endpoints: readonly Endpoint<Room>[]): Ask {
  const served = serve(room, endpoints);
  const ask = async (
    name: string,
    fields: Readonly<Record<string, JsonValue>> = {},
    context: Partial<RequestContext> = {},
  ): Promise<unknown> => {
    const endpoint = served.find((one) => one.name === name);
    assert.ok(endpoint, `no endpoint ${name}`);
    const all = Object.values(endpoint.input);
    const known = all.flatMap((field) => [field.name, ...(field.aliases ?? [])]);
    for (const field of Object.keys(fields)) assert.ok(known.includes(field), `no field ${field}`);
    const { input } = new RequestInput(endpoint, partsOf(endpoint, fields)).read(MEANING);
    return endpoint.run(input, { ...CONTEXT, ...context });
  };
  return Object.assign(ask, { context: CONTEXT });
}
