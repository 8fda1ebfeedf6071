// The room of namespaces over a real store and barrier in memory, its endpoints as the pipeline calls
// them, and requests to call them with.

import { ownPace } from "@holdfast/shared/sliced";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import { OWN_WORK } from "@holdfast/shared/waiting";
import assert from "node:assert/strict";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { type Method, serve } from "@holdfast/shared/endpoint/endpoint";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  type RequestContext,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { namespacesApi } from "../../../src/namespaces/api.ts";
import { Namespaces, type NamespacesOptions } from "../../../src/namespaces/namespaces.ts";
import { crashed, type MadeBarrier, madeBarrier, unsealed } from "./made-barrier.ts";
import { openRoom } from "../jobs.ts";

export interface MadeNamespaces extends MadeBarrier {
  readonly namespaces: Namespaces;
}

type Options = Partial<NamespacesOptions> | ((made: MadeBarrier) => Partial<NamespacesOptions>);

export async function madeNamespaces(options: Options = {}): Promise<MadeNamespaces> {
  return withRoom(await madeBarrier(), options);
}

/** A new process on the disk of one that has died. */
export async function restarted(
  before: MadeNamespaces,
  options: Options = {},
): Promise<MadeNamespaces> {
  const made = await crashed(before);
  assert.ok(unsealed(made.barrier));
  return withRoom(made, options);
}

function withRoom(made: MadeBarrier, options: Options): MadeNamespaces {
  const { barrier, world } = made;
  const namespaces = new Namespaces({
    view: barrier.view("shared/namespaces/"),
    local: barrier.view("local/"),
    spaces: [barrier.view("shared/ns/"), barrier.view("local/ns/")],
    random: world.random,
    timers: world.timers,
    log: world.log,
    ...(typeof options === "function" ? options(made) : options),
  });
  openRoom(namespaces);
  return { ...made, namespaces };
}

export interface Call {
  readonly path?: string;
  readonly body?: JsonObject;
  readonly query?: Readonly<Record<string, string>>;
  readonly namespace?: NamespaceRef;
}

/** Calls an endpoint with fields as on the wire; whatever it answers comes as a Reply. */
export async function call(
  room: Namespaces,
  method: Method,
  options: Call = {},
): Promise<Reply<unknown>> {
  const found = serve(room, namespacesApi).find((endpoint) => endpoint.method === method);
  assert.ok(found !== undefined, method);
  const sources: Readonly<Record<string, Readonly<Record<string, JsonValue | undefined>>>> = {
    path: { path: options.path },
    body: options.body ?? {},
    query: options.query ?? {},
  };
  const input = Object.fromEntries(
    Object.entries(found.input).map(([key, field]) => [
      key,
      field.read(sources[field.source]?.[field.name]),
    ]),
  );
  const answer = await found.run(input, contextIn(options.namespace));
  return answer instanceof Reply ? answer : new Reply(answer);
}

export function contextIn(namespace: NamespaceRef = ROOT_NAMESPACE): RequestContext {
  return {
    id: "00000000-0000-4000-8000-000000000000",
    operation: "update",
    namespace,
    path: CanonicalPath.of(["sys", "namespaces"]),
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
    listener: {
      keyCeremonies: "open",
      openings: { metrics: false },
      maxBody: 1024,
      metricsOnly: false,
    },
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
}

/** For assert.rejects and assert.throws: a Failure with this code. */
export function refused(code: string): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };
}
