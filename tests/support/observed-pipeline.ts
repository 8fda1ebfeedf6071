// The pipeline with somebody at every place where a request is looked at: what quotas, rules, programs,
// records and the handler were given of one request. Nothing is decided here; everything is let through, or nothing.

import { access, isOfDrSecondary } from "@holdfast/shared/endpoint/access";
import { ownPace } from "@holdfast/shared/sliced";
import { utf8 } from "@holdfast/shared/bytes";
import { SystemClock } from "../../src/system/clock.ts";
import type { JsonObject } from "@holdfast/shared/json/json";
import { makeLog } from "@holdfast/shared/log";
import { SystemTimers } from "../../src/system/timers.ts";
import { Pipeline } from "../../src/core/pipeline.ts";
import { Router } from "@holdfast/shared/endpoint/router";
import { Running } from "../../src/core/running.ts";
import type { AuditedRequest } from "../../src/endpoint/audited.ts";
import type { Question } from "../../src/endpoint/decision.ts";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { type Caller, type MountRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { ProgramInput } from "../../src/program/request/program-input.ts";

export interface Observed {
  /** Relative to the namespace, as each of them was given it. */
  quota: string | null;
  question: Question | null;
  program: ProgramInput | null;
  record: AuditedRequest | null;
  handler: { readonly path: string; readonly input: Readonly<Record<string, unknown>> } | null;
  /** Of a request that was refused. */
  refusal: string;
}

const ALLOWED = { allowed: true, results: [], overrideNeeded: false, warnings: [], denial: "" };
const GOVERNOR = { kind: "egp" as const, name: "watching", namespaceId: ROOT_NAMESPACE.id };

export class ObservedPipeline {
  #seen: Observed = nothing();
  #held: JsonObject = {};
  readonly #pipeline: Pipeline;

  /** `mount`: where the endpoints are mounted; without it they are the server's own. `allowed`: what rules say. */
  constructor(
    endpoints: readonly Served[],
    mount: string | null,
    { allowed = true }: { readonly allowed?: boolean } = {},
  ) {
    const watched = endpoints.map((endpoint) => this.#watched(endpoint));
    const routes = new Router(mount === null ? [] : watched);
    const clock = new SystemClock();
    const refuse = () => Promise.reject(new Error("not reached: handlers answer with nothing"));
    this.#pipeline = new Pipeline({
      turns: ownPace({ clock, timers: new SystemTimers() }).turns,
      endpoints: mount === null ? watched : [],
      node: { initialised: true, sealed: false, drSecondary: false, role: "active", index: 7n },
      tokens: {
        find: (secret) => callerOf(secret === "management" ? "management" : "client"),
        hasExpired: () => false,
        use: async () => 1,
        underWay: (caller) => caller,
        spent: async () => {},
      },
      operations: { guarded: false, judge: () => null },
      namespaces: {
        named: (path) => (path === "" ? ROOT_NAMESPACE : null),
        resolve: (namespace) => ({ namespace, taken: 0 }),
      },
      mounts: {
        find: (_, segments) => {
          const taken = mount === null ? [] : mount.split("/");
          if (mount === null || !taken.every((word, i) => segments[i] === word)) return null;
          return { ref: mountAt(mount), taken: taken.length, endpoints: routes };
        },
      },
      leases: { admit: () => {}, issue: refuse, end: async () => {} },
      logins: {
        login: refuse,
        originOf: () => {
          throw new Error("not reached: handlers answer with nothing");
        },
      },
      wrapping: { admit: () => {}, admitLogin: () => {}, wrap: refuse },
      decisions: {
        decide: (_, question) => {
          this.#seen.question = question;
          return { allowed, granting: [] };
        },
        mightEver: () => true,
      },
      governance: {
        overrideNeedsSudo: false,
        headers: () => [],
        replication: () => ({ dr: "disabled", performance: "disabled" }),
        applying: () => [GOVERNOR],
        judge: async (_, { input }) => {
          this.#seen.program = input;
          return ALLOWED;
        },
      },
      audit: {
        isOpen: true,
        request: (request) => void (this.#seen.record = request),
        response: () => {},
      },
      quotas: {
        auditRefusals: false,
        admit: ({ path }) => {
          this.#seen.quota = path.text;
          return {};
        },
      },
      loaded: { use: (_id, _place, run) => run(null) },
      attempts: { take: () => {}, check: () => {}, count: () => {} },
      running: new Running(clock, new SystemTimers()),
      timers: new SystemTimers(),
      clock,
      log: makeLog({ level: "error", format: "standard", write: () => {}, clock }),
    });
  }

  async ask(
    verb: string,
    target: string,
    how: {
      readonly body?: JsonObject | undefined;
      readonly token: string;
      /** A loaded snapshot that it names, in which every path held `held`. */
      readonly recoverFrom?: string;
      readonly held?: JsonObject;
    },
  ): Promise<Observed> {
    this.#seen = nothing();
    this.#held = how.held ?? {};
    const bytes = how.body === undefined ? null : utf8(JSON.stringify(how.body));
    const { result } = await this.#pipeline.handle({
      id: "a-request",
      verb,
      target,
      credential: how.token,
      namespace: null,
      wrapTtl: null,
      policyOverride: false,
      recoverFrom: how.recoverFrom ?? null,
      contentType: null,
      hasBody: bytes !== null,
      header: () => undefined,
      remote: { address: "127.0.0.1", port: 1, loopback: true },
      listener: {
        keyCeremonies: "open",
        openings: { metrics: false },
        maxBody: 1 << 20,
        metricsOnly: false,
      },
      signal: new AbortController().signal,
      stream: () => ({ length: 0, async *[Symbol.asyncIterator]() {} }),
      allow: () => {},
      body: async () => bytes ?? utf8(""),
      wipe: () => {},
    });
    if (!(result instanceof Reply)) this.#seen.refusal = `${result.code}: ${result.message}`;
    return this.#seen;
  }

  #watched(endpoint: Served): Served {
    const run: Served["run"] = (input, context) => {
      this.#seen.handler = { path: context.path.text, input };
      return undefined;
    };
    return {
      ...endpoint,
      // How it is read does not depend on who may call it, and here everybody has a token.
      access: isOfDrSecondary(endpoint.access) ? access.capability : endpoint.access,
      exists: endpoint.exists === null ? null : () => false,
      recovers: endpoint.recovers === null ? null : () => this.#held,
      run,
      runIn: (_room, input, context) => run(input, context),
    };
  }
}

function nothing(): Observed {
  return { quota: null, question: null, program: null, record: null, handler: null, refusal: "" };
}

function callerOf(type: Caller["type"]): Caller {
  return {
    accessor: "an-accessor",
    type,
    name: "",
    policies: [],
    namespace: ROOT_NAMESPACE,
    global: false,
    created: 0n,
    expires: null,
  };
}

function mountAt(path: string): MountRef {
  const none: ReadonlySet<string> = new Set();
  return {
    uuid: "a-mount",
    accessor: "an-accessor",
    type: "a-type",
    path: `${path}/`,
    namespace: ROOT_NAMESPACE,
    local: false,
    readable: { request: none, response: none },
    engine: null,
  };
}
