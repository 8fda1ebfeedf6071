// The pipeline among small rooms: tokens and namespaces in maps, rules as text, audit as a list. For
// tests of the pipeline itself; whatever crosses rooms is tested on the real server.

import { ownPace } from "@holdfast/shared/sliced";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { makeLog } from "@holdfast/shared/log";
import type { Clock } from "@holdfast/shared/world";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { utf8 } from "@holdfast/shared/bytes";
import type { ForwardedFrom, Incoming, Outcome } from "../../src/core/incoming.ts";
import { Pipeline } from "../../src/core/pipeline.ts";
import type { Consistency, NodeState, PrimaryCluster } from "../../src/core/seams.ts";
import { Running } from "../../src/core/running.ts";
import type { AuditedAnswer, AuditedRequest } from "../../src/endpoint/audited.ts";
import type { Question } from "../../src/endpoint/decision.ts";
import type { DrOperation } from "@holdfast/shared/endpoint/access";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Judgement } from "../../src/endpoint/judgement.ts";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  type Caller,
  type ListenerTraits,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import type { Governor } from "../../src/policies/governing/governing-places.ts";

export interface AskOptions {
  /** It came by another cluster. */
  readonly forwarded?: ForwardedFrom;
  readonly token?: string;
  /** What it has seen elsewhere: it waits for that. */
  readonly states?: readonly string[];
  /** Default: this machine's. */
  readonly address?: string;
  readonly signal?: AbortSignal;
  readonly namespace?: string;
  readonly body?: JsonObject | string;
  readonly listener?: Partial<ListenerTraits>;
  readonly identified?: (known: boolean) => void;
}

/** What happened, in order, as words: "token", "body", "decide …", "audit request …", "run …". */
export class SmallHouse {
  readonly trace: string[] = [];
  readonly lines: string[] = [];
  readonly records: {
    readonly kind: string;
    readonly request: AuditedRequest;
    readonly error: string;
  }[] = [];
  readonly tokens = new Map<string, Caller>();
  readonly expired = new Set<string>();
  /** Of counted tokens, by their names. */
  readonly uses = new Map<string, number>();
  readonly namespaces = new Map<string, NamespaceRef>([["", ROOT_NAMESPACE]]);
  /** Granted as "capability path" or "sudo capability path". */
  readonly grants = new Set<string>();
  /** What decisions wait for; null: they are there at once. */
  rights: Promise<void> | null = null;
  /** RGPs and EGPs that fail, by "rgp name" or "egp path". */
  readonly failing = new Set<string>();
  node: NodeState = {
    initialised: true,
    sealed: false,
    drSecondary: false,
    role: "active",
    index: 7n,
  };
  /** Where paths were looked up: in the tree of namespaces, in the table of mounts. */
  readonly places: ("namespace" | "mount")[] = [];
  /** Operation tokens of a DR secondary, with what each is for. */
  readonly operators = new Map<string, readonly DrOperation[]>();
  operatorWarnings: readonly string[] = [];
  auditFails: "never" | "request" | "response" = "never";
  /** Closed once the node has waited for its requests. */
  auditOpen = true;
  /** Failed authentications of addresses that are not ours. */
  attempts = 0;
  /** Failed logins by the member of the set that has sent them on: three are let pass. */
  readonly members = new Map<string, number>();
  loopback = true;
  overQuota = false;
  auditRefusals = false;
  /** Called where a request is recorded, before it runs. */
  recorded: (request: AuditedRequest) => void = () => {};
  /** Called where an answer is recorded. */
  recordedAnswer: (request: AuditedRequest) => void = () => {};
  /** What bodies wait for; null: they are there at once. */
  bodies: Promise<void> | null = null;
  /** What the records of requests wait for; null: they are there at once. */
  device: Promise<void> | null = null;
  /** Bytes that requests were counted with, beside those of their bodies. */
  held = 0;
  /** Who writes what is shared; null: this house. */
  primary: PrimaryCluster | null = null;
  consistency: Consistency = {
    mark: () => null,
    judge: () => "reached",
    reaches: () => Promise.resolve(true),
  };
  readonly running: Running;
  readonly #pipeline: Pipeline;

  constructor(endpoints: readonly Served[], clock: Clock = new SystemClock()) {
    this.running = new Running(clock, new SystemTimers());
    const write = (line: string) => void this.lines.push(line);
    const state = () => this.node;
    const audits = () => this.auditRefusals;
    const primary = () => this.primary;
    const consistency = () => this.consistency;
    const opened = () => this.node.initialised && this.auditOpen;
    this.#pipeline = new Pipeline({
      turns: ownPace({ clock, timers: new SystemTimers() }).turns,
      endpoints: endpoints.map((endpoint) => this.#traced(endpoint)),
      node: {
        get initialised() {
          return state().initialised;
        },
        get sealed() {
          return state().sealed;
        },
        get drSecondary() {
          return state().drSecondary;
        },
        get role() {
          return state().role;
        },
        get index() {
          return state().index;
        },
      },
      tokens: {
        find: (secret) => (this.trace.push("token"), this.tokens.get(secret) ?? null),
        hasExpired: (secret) => this.expired.has(secret),
        use: async ({ name }) => {
          const left = (this.uses.get(name) ?? 0) - 1;
          if (left < 0) return null;
          this.uses.set(name, left);
          return left;
        },
        underWay: (caller) =>
          this.tokens.values().some(({ name }) => name === caller.name) ? caller : null,
        spent: async ({ name }) => void this.trace.push(`spent ${name}`),
      },
      operations: {
        guarded: false,
        judge: (text, operation) => {
          this.trace.push(`judge ${operation}`);
          if (this.operators.get(text)?.includes(operation) !== true) return null;
          return { caller: operatorOf(text), warnings: this.operatorWarnings };
        },
      },
      namespaces: {
        named: (path) => {
          this.places.push("namespace");
          return this.namespaces.get(path) ?? null;
        },
        resolve: (base, segments) => {
          this.places.push("namespace");
          return this.#resolve(base, segments);
        },
      },
      mounts: { find: () => (this.places.push("mount"), null) },
      leases: {
        admit: () => {},
        issue: () => Promise.reject(new Error("no leases here")),
        end: async () => {},
      },
      logins: {
        login: () => Promise.reject(new Error("no logins here")),
        originOf: () => {
          throw new Error("no logins here");
        },
      },
      wrapping: {
        admit: () => {},
        admitLogin: () => {},
        wrap: () => Promise.reject(new Error("no wrapping here")),
      },
      decisions: {
        decide: (_, question) => this.#decideAfter(this.rights, question),
        mightEver: (_, { capability, path, namespace }) =>
          this.grants.has(`${capability} ${namespace.path}|${path}`),
      },
      governance: {
        overrideNeedsSudo: false,
        headers: () => [],
        replication: () => ({ dr: "disabled", performance: "disabled" }),
        applying: (caller, _, path) =>
          caller?.type === "management" ? [] : this.#governors(caller, path),
        judge: async (policies) => this.#judge(policies),
      },
      audit: {
        get isOpen() {
          return opened();
        },
        request: (request, error) => this.#recordAfter(this.device, request, error),
        response: (request, answer) => this.#recordAnswer(request, answer),
      },
      quotas: {
        get auditRefusals() {
          return audits();
        },
        admit: () => {
          this.trace.push("quota");
          if (!this.overQuota) return {};
          throw new Failure("rate-limited", "rate-limited", "too many requests");
        },
      },
      loaded: {
        use: () => {
          throw new Error("not reached: no snapshot is named");
        },
      },
      attempts: {
        take: () => {
          if (++this.attempts > 3) throw new Failure("rate-limited", "too-often", "too often");
        },
        check: () => {
          if (this.attempts >= 3) throw new Failure("rate-limited", "too-often", "too often");
        },
        count: () => void this.attempts++,
      },
      memberAttempts: {
        check: (member) => {
          if ((this.members.get(member) ?? 0) < 3) return;
          throw new Failure("rate-limited", "too-often", "too often");
        },
        count: (member) => void this.members.set(member, (this.members.get(member) ?? 0) + 1),
      },
      elsewhere: {
        get primary() {
          return primary();
        },
        isStale: false,
        lacksRoom: false,
      },
      get consistency() {
        return consistency();
      },
      running: this.running,
      timers: new SystemTimers(),
      clock,
      log: makeLog({ level: "debug", format: "standard", write, clock }),
    });
  }

  /** A token, with its kind and namespace. */
  add(secret: string, type: Caller["type"], namespace = ""): Caller {
    const home = this.namespaces.get(namespace);
    if (home === undefined) throw new Error(`no namespace ${namespace}`);
    const caller: Caller = {
      accessor: `accessor of ${secret}`,
      type,
      name: secret,
      policies: [],
      namespace: home,
      global: true,
      created: 0n,
      expires: null,
    };
    this.tokens.set(secret, caller);
    return caller;
  }

  /** Gives a token the names of policies. */
  carry(secret: string, policies: readonly string[]): void {
    const caller = this.tokens.get(secret);
    if (caller === undefined) throw new Error(`no token ${secret}`);
    this.tokens.set(secret, { ...caller, policies });
  }

  ask(verb: string, target: string, options: AskOptions = {}): Promise<Outcome> {
    const { body } = options;
    const bytes =
      body === undefined ? null : utf8(typeof body === "string" ? body : JSON.stringify(body));
    const incoming: Incoming = {
      id: "a-request",
      verb,
      target,
      credential: options.token ?? null,
      namespace: options.namespace ?? null,
      wrapTtl: null,
      policyOverride: false,
      contentType: null,
      hasBody: bytes !== null,
      header: () => undefined,
      remote: { address: options.address ?? "127.0.0.1", port: 1, loopback: this.loopback },
      listener: {
        keyCeremonies: "open",
        openings: { metrics: false },
        maxBody: 1 << 20,
        metricsOnly: false,
        ...options.listener,
      },
      signal: options.signal ?? new AbortController().signal,
      allow: () => {},
      ...(options.identified && { identified: options.identified }),
      forwarded: options.forwarded ?? null,
      ...(options.states && { states: options.states, awaitsState: true }),
      hold: (count) => void (this.held += count),
      body: async () => {
        if (this.bodies !== null) await this.bodies;
        this.trace.push("body");
        return bytes ?? utf8("");
      },
      stream: () => {
        throw new Error("nothing is streamed here");
      },
      wipe: () => void this.trace.push("wipe"),
    };
    return this.#pipeline.handle(incoming);
  }

  /** The kind and code of a refusal, or "ok". */
  async answer(verb: string, target: string, options: AskOptions = {}): Promise<string> {
    const { result } = await this.ask(verb, target, options);
    return result instanceof Reply ? "ok" : `${result.kind} ${result.code}`;
  }

  #traced(endpoint: Served): Served {
    return {
      ...endpoint,
      run: (input, context) => {
        this.trace.push(`run ${endpoint.name}`);
        return endpoint.run(input, context);
      },
    };
  }

  #resolve(base: NamespaceRef, segments: readonly string[]) {
    let namespace = base;
    let taken = 0;
    for (const [i, segment] of segments.entries()) {
      const path = namespace.path === "" ? segment : `${namespace.path}/${segment}`;
      const next = this.namespaces.get(path);
      if (next === undefined) break;
      namespace = next;
      taken = i + 1;
    }
    return { namespace, taken };
  }

  #decideAfter(ready: Promise<void> | null, question: Question) {
    return ready === null ? this.#decide(question) : ready.then(() => this.#decide(question));
  }

  #decide({ capability, path, sudo, namespace }: Question) {
    const question = `${sudo ? "sudo " : ""}${capability} ${namespace.path}|${path}`;
    this.trace.push(`decide ${question}`);
    return { allowed: this.grants.has(question), granting: [] };
  }

  #governors(caller: Caller | null, path: string | null): readonly Governor[] {
    const judged = [
      ...(caller?.policies ?? []).map((name) => ({ kind: "rgp" as const, name })),
      ...(path === null ? [] : [{ kind: "egp" as const, name: path }]),
    ];
    return judged
      .filter(({ kind, name }) => this.failing.has(`${kind} ${name}`))
      .map((one) => ({ ...one, namespaceId: ROOT_NAMESPACE.id }));
  }

  #judge(policies: readonly Governor[]): Judgement {
    for (const { kind, name } of policies) this.trace.push(`${kind} ${name}`);
    return {
      allowed: false,
      results: policies.map((policy) => ({
        ...policy,
        level: "hard-mandatory",
        passed: false,
        error: null,
      })),
      overrideNeeded: false,
      warnings: [],
      denial: "the trace",
    };
  }

  #recordAfter(device: Promise<void> | null, request: AuditedRequest, error: string) {
    const record = () => this.#record("request", request, error);
    return device === null ? record() : device.then(record);
  }

  #record(kind: "request" | "response", request: AuditedRequest, error: string): void {
    this.trace.push(`audit ${kind}${error === "" ? "" : " refused"}`);
    if (this.auditFails === kind) {
      throw new Failure("internal", "audit-failed", "no audit device succeeded");
    }
    this.records.push({ kind, request, error });
    if (kind === "request") this.recorded(request);
  }

  #recordAnswer(request: AuditedRequest, answer: AuditedAnswer): void {
    this.recordedAnswer(request);
    this.#record("response", request, answer.error);
  }
}

function operatorOf(name: string): Caller {
  return {
    accessor: `accessor of ${name}`,
    type: "management",
    name,
    policies: [],
    namespace: ROOT_NAMESPACE,
    global: false,
    created: 0n,
    expires: null,
  };
}
