// The way of one request: a stage per line in #pass, in the order of docs/decisions/0007. Whatever refuses
// throws a Failure; #refuse has it recorded, and http/ turns it into a status.

import { EMPTY, text } from "@holdfast/shared/bytes";
import { CanonicalPath, isSegment, splitTarget } from "@holdfast/shared/text/canonical-path";
import { describe, Failure } from "@holdfast/shared/failure";
import { traceOf } from "@holdfast/shared/fault";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import { readJson } from "@holdfast/shared/json/json-reader";
import type { Log } from "@holdfast/shared/log";
import { parseQuery } from "@holdfast/shared/text/query";
import type { Clock, Instant, Timers } from "@holdfast/shared/world";
import type { Decision } from "../endpoint/decision.ts";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { helpFor, overviewOf } from "../endpoint/help.ts";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext, Caller } from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { programInput } from "../policies/governing/program-request.ts";
import { wrappingInvalid } from "../endpoint/wrapping-failure.ts";
import { inAclWords } from "./acl-words.ts";
import { HandlerContext } from "./request-context.ts";
import { decisionOn } from "./decision.ts";
import * as failures from "./failures.ts";
import type { Core, Incoming, Outcome } from "./incoming.ts";
import { governedRequest } from "./governed-request.ts";
import type { ReadInput } from "@holdfast/shared/endpoint/input";
import { isPublic, needOf, reaches } from "./need.ts";
import { MEANING, meaningOf } from "@holdfast/shared/endpoint/operation";
import { runsHere } from "./placement.ts";
import { RequestState } from "./request-state.ts";
import type { Route } from "@holdfast/shared/endpoint/router";
import { Routing } from "./routing.ts";
import type { Running, RunningRequest } from "./running.ts";
import type * as seams from "./seams.ts";

/** What a query may say to the server itself, beside the endpoint's own parameters. */
// Clients of the API that /acl/ has in common with another server send their own namespace along.
const ACL_CONTROL: ReadonlySet<string> = new Set([...MEANING, "pretty", "namespace"]);

const NONE: readonly string[] = [];

/** Bytes of a body from which on others get their turn between the steps. */
const LARGE = 16 * 1024;

export interface PipelineParts {
  readonly endpoints: readonly Served[];
  readonly node: seams.NodeState;
  readonly tokens: seams.TokenLookup;
  readonly namespaces: seams.NamespaceTree;
  readonly mounts: seams.MountTable;
  readonly leases: seams.Leasing;
  readonly logins: seams.Logins;
  readonly wrapping: seams.Wrapping;
  readonly decisions: seams.Decisions;
  readonly governance: seams.Governance;
  readonly audit: seams.Auditing;
  readonly quotas: seams.RateLimiting;
  readonly attempts: seams.Attempts;
  readonly running: Running;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly log: Log;
}

export class Pipeline implements Core {
  readonly #parts: PipelineParts;
  readonly routing: Routing;
  readonly #asking: ConstructorParameters<typeof HandlerContext>[1];
  readonly #again = (state: RequestState, asked: RequestContext) =>
    this.#govern(state, asked, this.#parts.clock.now());

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.routing = new Routing(parts);
    this.#asking = { ...parts, routing: this.routing };
  }

  async handle(incoming: Incoming): Promise<Outcome> {
    const { running, clock, node } = this.#parts;
    const state = new RequestState(incoming, clock.now());
    const entry = running.begin(incoming.id, incoming.verb, incoming.remote.address);
    let result: Reply | Failure;
    try {
      result = await this.#pass(state, entry);
    } catch (error) {
      result = await this.#refuse(state, error);
      // Whoever succeeds may log in as often as it likes, and a farm behind one address does.
      if (isLogin(state) && !state.elsewhere && result.kind !== "rate-limited") {
        this.#parts.attempts.count(incoming.remote.address);
      }
    } finally {
      if (state.mayHoldSecret) incoming.wipe();
      await this.#endSpent(state);
    }
    const body = result instanceof Failure ? undefined : result.data;
    // One that is still being sent runs until its end: the seal waits for it, and so does its mount.
    if (body instanceof StreamBody) void body.ended.then(() => running.end(entry));
    else running.end(entry);
    return state.outcome(result, node.sealed ? null : node.index);
  }

  streams(request: Pick<Incoming, "verb" | "target" | "namespace">): number {
    const state = new RequestState(request as Incoming, this.#parts.clock.now());
    try {
      this.#find(state);
    } catch (error) {
      if (error instanceof Failure) return 0; // told when it is handled
      throw error;
    }
    return state.endpoint?.bodyStream?.maxBytes ?? 0;
  }

  async #pass(state: RequestState, entry: RunningRequest): Promise<Reply> {
    this.#find(state); // canonical path, namespace, endpoint
    if (state.mount !== null) entry.mount = state.mount.uuid;
    this.#answersNow(state); // sealed, not initialised, disaster-recovery secondary
    this.#place(state); // active node or standby
    this.#count(state); // rate quotas
    await this.#identify(state); // token
    await this.#readBody(state); // JSON, within its limits
    const large = state.bytes > LARGE;
    if (large) await this.#parts.timers.turn(); // reading, deciding and recording it are three steps
    const asked = new HandlerContext(state, this.#asking, entry, this.#again);
    const decided = this.#decide(state, asked);
    // Rights that are worked out already are not waited for: that is nearly every request.
    state.decision = decided instanceof Promise ? await decided : decided;
    authorise(state); // ACL
    const governed = this.#govern(state, asked, state.time); // RGP, EGP
    if (governed !== null) await governed;
    const endpoint = chosen(state);
    entry.endpoint = endpoint?.name ?? "help";
    this.#admitWrapping(state, asked, endpoint);
    await this.#recordRequest(state, endpoint);
    if (large) await this.#parts.timers.turn();
    if (endpoint === null) return help(state);
    const { input, warnings } = readInput(state);
    const told = advised(state, warnings);
    if (endpoint.issues) this.#parts.leases.admit(asked); // lease-count quotas
    const answered = withWarnings(passed(state, await endpoint.run(input, asked)), told);
    const reply = await this.#settle(state, asked, answered); // lease or token; wrapping
    await this.#recordResponse(state, reply);
    return reply;
  }

  /** The one place where a path is read. From here on there is only the canonical one. */
  #find(state: RequestState): void {
    const { incoming } = state;
    const { node, namespaces } = this.#parts;
    const target = splitTarget(incoming.target);
    const whole = CanonicalPath.parse(target.path);
    const base = readNamespace(incoming.namespace);
    state.path = whole;
    state.query = parseQuery(target.query);
    state.meant = meaningOf(incoming.verb, state.query);
    const { operation, method, headOnly, scans = false } = state.meant;
    const slash = whole.folder && operation !== "list" && operation !== "help";

    let child: boolean;
    if (node.sealed) {
      // The tree of namespaces is behind the barrier: all that is known is whether one was named.
      child = base !== "";
    } else {
      const named = base === "" ? ROOT_NAMESPACE : namespaces.named(base);
      if (named === null) {
        state.namespace = null;
      } else {
        const { namespace, taken } = namespaces.resolve(named, whole.segments);
        state.namespace = namespace;
        state.path = whole.after(taken);
      }
      child = state.namespace !== ROOT_NAMESPACE && state.namespace?.id !== ROOT_NAMESPACE.id;
    }
    this.#findRoute(state, state.path);
    if (slash && !isListOnly(state.route)) {
      if (!dropsSlash(state.route)) throw misplacedSlash(state.route);
      state.path = CanonicalPath.of(state.path.segments);
    }
    if (operation === "help") return;
    const answering = method === null ? null : (state.route.methods.get(method) ?? null);
    const unable =
      (headOnly && answering?.head !== true) ||
      (scans && answering?.byName.get("scan")?.source !== "query");
    const endpoint = unable ? null : answering;
    state.restricted = child && endpoint?.rootOnly === true;
    state.endpoint = state.restricted ? null : endpoint;
  }

  /** What is no part of the server itself is some mount's, or nothing. From here on the path is as its
   *  declaration reads it: quotas, rules, programs, records and leases know no other spelling. */
  #findRoute(state: RequestState, path: CanonicalPath): void {
    const { namespace } = state;
    const reached = this.routing.reach(namespace, path.segments);
    state.mount = reached.mount;
    state.route = reached.route;
    if (reached.segments !== path.segments) {
      state.path = CanonicalPath.of(reached.segments, path.folder);
      state.respelled = true;
    }
    const asked = state.meant?.operation === "help" && reached.route.methods.size === 0;
    if (!asked || reached.mount === null || namespace === null) return;
    const found = this.#parts.mounts.find(namespace, path.segments);
    if (found?.taken === path.segments.length) state.below = found.endpoints.endpoints;
  }

  #answersNow(state: RequestState): void {
    const { endpoint, incoming, restricted } = state;
    const { node } = this.#parts;
    const metrics = endpoint?.access.kind === "capability" && endpoint.access.openTo === "metrics";
    if (incoming.listener.metricsOnly && !metrics) throw failures.metricsOnly();
    // Declarations say the same in every state, and what can be called while sealed is asked about then.
    if (node.sealed && asksForHelp(state) && isAlwaysServed(state)) return;
    // A sealed node knows no tokens: what needs one cannot be answered in every state.
    if (endpoint?.answers === "always" && needOf(state) !== "required") return;
    if (!node.initialised) {
      throw endpoint?.access.kind === "ceremony" ? failures.tooEarly() : failures.uninitialised();
    }
    if (node.sealed) throw restricted ? failures.restricted() : failures.sealed();
    if (node.drSecondary && endpoint?.onDrSecondary !== true) throw failures.drSecondary();
  }

  /** What belongs to the active node is handed on from here, before a use of the token is taken, a quota is
   *  touched or a record is written: that is done once, there. */
  #place(state: RequestState): void {
    const { role } = this.#parts.node;
    if (runsHere(role, state)) return;
    state.elsewhere = true;
    throw failures.notActive();
  }

  #count(state: RequestState): void {
    const { node, quotas } = this.#parts;
    const { path, namespace, endpoint, incoming } = state;
    if (node.sealed || path === null) return;
    if (isLogin(state)) this.#parts.attempts.check(incoming.remote.address);
    state.headers = quotas.admit({
      namespace: namespace ?? ROOT_NAMESPACE,
      path,
      mountPoint: state.home.point,
      address: incoming.remote.address,
      exempt: endpoint?.rateLimited === false,
    });
  }

  /** Finds out who asks. What does not exist is answered like what needs a token (T-A14). */
  async #identify(state: RequestState): Promise<void> {
    const { incoming, namespace } = state;
    const need = needOf(state);
    if (need === "nobody") return;
    const fault = incoming.credentialFault ?? null;
    if (fault !== null) throw fault;
    if (incoming.credential === null) {
      if (need === "optional") return;
      throw failures.missingToken();
    }
    const caller = this.#parts.node.sealed ? null : this.#parts.tokens.find(incoming.credential);
    if (caller === null) {
      if (need === "optional") return;
      // Whoever tries out secrets is slowed down; those who have one are not.
      if (!incoming.remote.loopback) this.#parts.attempts.take(incoming.remote.address);
      throw state.endpoint?.unwraps === true ? wrappingInvalid() : failures.invalidToken();
    }
    // A wrapping token opens what it holds and nothing else (T-E02); what unwraps it also spends it.
    const wraps = caller.wrapping !== undefined;
    const unwraps = state.endpoint?.unwraps === true;
    const near = caller.boundTo?.has(incoming.remote.address) ?? true;
    if (namespace === null || !near || !reaches(caller, namespace) || (wraps && !unwraps)) {
      if (need === "optional") return;
      state.caller = caller; // so that the record names who was refused
      throw wraps && unwraps ? wrappingInvalid() : failures.denied();
    }
    if (!wraps && caller.counted === true && !(await this.#takeUse(state, caller))) {
      if (need === "optional") return;
      throw failures.invalidToken();
    }
    state.caller = caller;
  }

  /** Of parallel requests with a last use, one gets it. */
  async #takeUse(state: RequestState, caller: Caller): Promise<boolean> {
    const left = await this.#parts.tokens.use(caller);
    state.spent = left === 0 ? caller : null;
    return left !== null;
  }

  /** After the last use, whatever became of the request. A token that stays for a fault lets nobody
   *  in any more, and goes when its time is over. */
  async #endSpent({ spent, incoming }: RequestState): Promise<void> {
    if (spent === null) return;
    try {
      await this.#parts.tokens.spent(spent);
    } catch (error) {
      const fields = { request: incoming.id, cause: describe(error) };
      this.#parts.log.error("a token without uses could not be deleted", fields);
    }
  }

  async #readBody(state: RequestState): Promise<void> {
    const { incoming, endpoint, meant } = state;
    if (endpoint === null || meant === null) return;
    if (meant.method === "GET" || meant.method === "LIST") return;
    if (endpoint.bodyStream !== null) {
      state.stream = incoming.stream(endpoint.bodyStream);
      return;
    }
    // That a patch is one is said by its type, also where nothing is in it.
    const comes = incoming.hasBody || meant.method === "PATCH";
    const bytes = comes ? await incoming.body(incoming.listener.maxBody) : EMPTY;
    if (bytes.length === 0 && endpoint.bodyMissing !== "") {
      throw failures.bodyMissing(endpoint.bodyMissing);
    }
    state.bytes = bytes.length;
    state.body = isNull(endpoint, bytes) ? {} : readBody(endpoint, bytes);
  }

  /** What the caller's policies say; null where they are not asked. */
  #decide(state: RequestState, asked: RequestContext): Decision | Promise<Decision> | null {
    const { endpoint, route } = state;
    const { decisions } = this.#parts;
    if (state.restricted || asksForHelp(state)) return null;
    if (endpoint === null) {
      // Only who may do it there learns whether there is something there.
      return isPublic(route) ? null : decisionOn(state, decisions, asked, false);
    }
    const { access } = endpoint;
    if (endpoint.unwraps && state.caller?.wrapping !== undefined) return null;
    const decides = access.kind === "capability" || (access.kind === "ceremony" && access.starts);
    if (!decides || needOf(state) !== "required") return null;
    return decisionOn(state, decisions, asked, access.kind === "capability" && access.sudo);
  }

  /** By the RGPs of the caller and the EGPs on the path. Null where none applies, which is nearly
   *  every request: then nothing is waited for. */
  #govern(state: RequestState, asked: RequestContext, now: Instant): Promise<void> | null {
    const { caller, namespace, endpoint } = state;
    if (namespace === null) return null;
    if (caller === null && endpoint?.login !== true) return null;
    // No EGP reaches a ceremony, or a wrong one could lock everybody out.
    const path = endpoint?.access.kind === "ceremony" ? null : state.policyPath;
    const policies = this.#parts.governance.applying(caller, namespace, path);
    const none = !(policies instanceof Promise) && policies.length === 0;
    return none ? null : this.#judge(state, asked, now, policies);
  }

  async #judge(
    state: RequestState,
    asked: RequestContext,
    now: Instant,
    found: ReturnType<seams.Governance["applying"]>,
  ): Promise<void> {
    const { governance, decisions } = this.#parts;
    const { caller, incoming } = state;
    const policies = await found;
    if (policies.length === 0) return;
    const mayOverride =
      incoming.policyOverride &&
      (!governance.overrideNeedsSudo || (await decisionOn(state, decisions, asked, true)).allowed);
    const request = await governedRequest(state, asked, now);
    const input = programInput(request, governance.headers());
    const judgement = await governance.judge(policies, { input, override: mayOverride });
    state.judgement = judgement;
    if (judgement.allowed) return;
    throw caller === null ? failures.denied() : failures.governed(judgement.denial);
  }

  /** What the handler leaves to the server: the lease of a secret, the token of a login, and whether
   *  the answer goes to the caller or into a wrapping. */
  async #settle(state: RequestState, asked: RequestContext, answered: Reply): Promise<Reply> {
    const { leases, logins, wrapping } = this.#parts;
    let reply = answered;
    const { wrapTtl } = state.incoming;
    if (reply.lease !== null) reply = reply.with(await leases.issue(reply.lease, asked));
    if (reply.login !== null) {
      if (wrapTtl !== null) wrapping.admitLogin(logins.originOf(reply.login, asked), asked);
      reply = reply.with(await logins.login(reply.login, asked));
    }
    if (wrapTtl === null || reply.wrapInfo !== null || !isWrappable(state, reply)) return reply;
    const wrapped = new Reply(undefined, await wrapping.wrap(reply, wrapTtl, asked));
    // Where the next page begins, and as of when: the headers of the ACL API hold nothing to be kept.
    const { headers, index } = reply;
    const seen = index === null ? { headers } : { headers, index };
    return state.endpoint?.family === "acl" ? wrapped.with(seen) : wrapped;
  }

  /** Whoever asks for a wrapping never gets the secret itself: it is kept, or nothing is done. */
  #admitWrapping(
    { incoming, meant }: RequestState,
    asked: RequestContext,
    endpoint: Served | null,
  ): void {
    const { wrapTtl } = incoming;
    if (wrapTtl === null || meant?.headOnly === true) return;
    // Shares of keys are written down nowhere, whatever the answer looks like.
    const kept = endpoint?.family !== "bare" && endpoint?.access.kind !== "ceremony";
    if (endpoint === null || !kept) throw failures.notWrapped();
    // It would be kept for longer than its maker was let, and count for a token that ends with this.
    if (endpoint.unwraps) throw failures.wrappedAlready();
    this.#parts.wrapping.admit(wrapTtl, asked);
  }

  async #recordRequest(state: RequestState, endpoint: Served | null): Promise<void> {
    if (!this.#isRecorded(state, endpoint)) return;
    const audited = state.audited(true);
    await this.#parts.audit.request(audited, "");
    state.recorded = audited;
  }

  /** Also while the node seals: it waits for running requests, and audit closes only then. What ran
   *  longer than it waits cannot be recorded any more, and is not given out. */
  async #recordResponse(state: RequestState, reply: Reply): Promise<void> {
    const { audit } = this.#parts;
    if (state.recorded === null || state.aside) return;
    if (!audit.isOpen) throw failures.sealed();
    const data = recordedData(reply);
    const { auth, warnings, wrapInfo } = reply;
    const leaseId = reply.leased?.id ?? "";
    await audit.response(state.recorded, {
      data,
      auth,
      leaseId,
      wrapInfo,
      warnings,
      error: "",
    });
  }

  /** Everything but what is declared otherwise, and what a listener opens to all (metrics). */
  #isRecorded({ caller, incoming, recorded }: RequestState, endpoint: Served | null): boolean {
    const { node, audit } = this.#parts;
    if (!audit.isOpen || endpoint?.audited === false) return false;
    if (recorded !== null) return true; // it began before the node sealed
    if (node.sealed) return false;
    if (endpoint?.access.kind !== "capability" || endpoint.access.openTo === null) return true;
    return caller !== null || !incoming.listener.openings[endpoint.access.openTo];
  }

  /** The end of the way for a request that is not answered: two records, as for every other. */
  async #refuse(state: RequestState, error: unknown): Promise<Failure> {
    const { audit, quotas } = this.#parts;
    const failure = this.#failureOf(state, error);
    state.headers = { ...state.headers, ...allowed(state, failure), ...failure.headers };
    if (failure.code === "audit-failed" || !this.#isRecorded(state, state.endpoint)) {
      return failure;
    }
    // What was recorded when it came in has its second record too.
    const unseen = state.recorded === null;
    if (failure.kind === "rate-limited" && unseen && !quotas.auditRefusals) return failure;
    try {
      const audited = state.recorded ?? state.audited(false);
      if (state.recorded === null) await audit.request(audited, failure.message);
      await audit.response(audited, { data: undefined, warnings: [], error: failure.message });
      return failure;
    } catch (unrecorded) {
      return this.#failureOf(state, unrecorded);
    }
  }

  #failureOf(state: RequestState, error: unknown): Failure {
    const { incoming, endpoint } = state;
    if (error instanceof Failure) {
      return state.isAcl ? inAclWords(error, state, this.#parts) : error;
    }
    // The message of a foreign error may quote what it failed on: only its place is told.
    const fields = { request: incoming.id, endpoint: endpoint?.name ?? "", fault: traceOf(error) };
    this.#parts.log.error("a request failed for a fault of ours", fields);
    return failures.internal(incoming.id, error);
  }
}

/** Of a stream a record has what is known before it begins. */
function recordedData({ data }: Reply): JsonObject | undefined {
  if (data instanceof StreamBody) return { content_type: data.contentType, length: data.length };
  return data as JsonObject | undefined; // text and lists are values of JSON as well
}

/** By somebody who is not on this machine: only those are slowed down. */
function isLogin({ endpoint, incoming }: RequestState): boolean {
  return endpoint?.login === true && !incoming.remote.loopback;
}

/** The namespace header, without the slashes that may stand at its ends. */
function readNamespace(header: string | null): string {
  const text = header === null ? "" : header.replace(/^\//, "").replace(/\/$/, "");
  if (text !== "" && !text.split("/").every(isSegment)) throw failures.namespaceMalformed();
  return text;
}

/** There the slash is right and the verb is not, which those are told who may know. */
function isListOnly({ methods }: Route): boolean {
  return methods.size === 1 && methods.has("LIST");
}

function dropsSlash({ methods }: Route): boolean {
  return methods.values().some(({ slashFalls }) => slashFalls);
}

function misplacedSlash({ methods }: Route): Failure {
  for (const { folderText } of methods.values()) {
    if (folderText !== "") return failures.folderNamed(folderText);
  }
  return failures.trailingSlash();
}

function readBody(endpoint: Served, bytes: Uint8Array): JsonObject {
  try {
    return readJson(bytes, { foldCase: endpoint.family === "acl" });
  } catch (error) {
    if (!(error instanceof Failure) || endpoint.bodyUnreadable === "") throw error;
    throw failures.bodyUnreadable(endpoint.bodyUnreadable, error);
  }
}

/** What clients with typed nothings send for no body at all. */
function isNull({ family }: Served, bytes: Uint8Array): boolean {
  return family === "enveloped" && bytes.length <= 5 && text(bytes).trimEnd() === "null";
}

/** What can be done on the path, for whoever may know that there is something. */
function allowed(
  { route, caller, restricted }: RequestState,
  { kind }: Failure,
): Record<string, string> {
  const told = kind === "unsupported" && (caller !== null || isPublic(route)) && !restricted;
  if (!told || route.methods.size === 0) return {};
  const verbs = [...route.methods].flatMap(([method, { head }]) =>
    method === "POST" ? ["POST", "PUT"] : head ? [method, "HEAD"] : [method],
  );
  return { Allow: verbs.join(", ") };
}

/** The values as the handler takes them: those that were judged. */
function readInput(state: RequestState): ReadInput {
  const { input, isAcl } = state;
  invariant(input !== null, "whatever runs is declared");
  const read = input.read(isAcl ? ACL_CONTROL : MEANING);
  const converted = conversions(state);
  if (converted.length === 0) return read;
  return { input: read.input, warnings: [...converted, ...read.warnings] };
}

/** Whoever writes to a name learns how it is kept. */
function conversions({ endpoint, route, meant, respelled }: RequestState): readonly string[] {
  const writes = meant?.operation === "update" || meant?.operation === "patch";
  if (!respelled || !writes || endpoint === null) return NONE;
  return endpoint.fields.flatMap(({ field: { source, folds, name, called = name } }) => {
    const at = endpoint.parameters.indexOf(name);
    if (source !== "path" || folds !== "case") return [];
    return [`${called} was converted to ${route.values[at] ?? ""}`];
  });
}

/** Refuses who has no right. */
function authorise(state: RequestState): void {
  const { caller, endpoint, decision } = state;
  if (state.restricted) throw failures.restricted();
  if (asksForHelp(state)) return;
  if (decision?.allowed === false) throw failures.denied();
  const managed = endpoint?.access.kind === "management";
  if (managed && caller?.type !== "management") throw failures.denied();
}

/** The endpoint, or null for a request of help. Whoever comes so far may know that there is none. */
function chosen(state: RequestState): Served | null {
  const { endpoint, route } = state;
  if (asksForHelp(state)) return null;
  if (endpoint !== null) return endpoint;
  throw route.methods.size > 0 ? failures.unsupportedOperation() : failures.unsupportedPath();
}

/** Names of policies are not for callers that nobody knows. */
function advised(
  { caller, judgement }: RequestState,
  warnings: readonly string[],
): readonly string[] {
  if (caller === null || judgement === null) return warnings;
  return [...warnings, ...judgement.warnings];
}

function isAlwaysServed({ route }: RequestState): boolean {
  return route.methods.values().some(({ answers }) => answers === "always");
}

function asksForHelp({ meant, route, below }: RequestState): boolean {
  return meant?.operation === "help" && (route.methods.size > 0 || below.length > 0);
}

function help({ route, below, path }: RequestState): Reply {
  if (route.methods.size === 0) {
    return new Reply({ ...overviewOf(path?.segments.join("/") ?? "", below) });
  }
  return new Reply({ ...helpFor([...route.methods.values()]) });
}

function withWarnings(result: unknown, warnings: readonly string[]): Reply {
  const reply = result instanceof Reply ? (result as Reply) : new Reply(result as Reply["data"]);
  return warnings.length === 0 ? reply : reply.with({ warnings });
}

/** Of the headers that an engine answers with, those that its mount lets pass. */
function passed({ mount }: RequestState, result: unknown): unknown {
  if (mount === null || !(result instanceof Reply)) return result;
  const reply = result as Reply;
  const names = Object.keys(reply.headers);
  if (names.length === 0) return reply;
  const kept = names.filter((name) => mount.headers?.response.has(name.toLowerCase()) === true);
  return reply.with({
    headers: Object.fromEntries(kept.map((name) => [name, reply.headers[name] ?? ""])),
  });
}

/** Errors, empty lists and answers without a body are not wrapped: there is nothing in them. */
function isWrappable({ meant }: RequestState, reply: Reply): boolean {
  const { data, auth, leased, status } = reply;
  if (meant?.headOnly === true || (status ?? 200) >= 400) return false;
  if (data === undefined) return auth !== null || leased !== null;
  if (Array.isArray(data) && data.length === 0) return false;
  const { keys } = data as { readonly keys?: unknown };
  return !(meant?.operation === "list" && Array.isArray(keys) && keys.length === 0);
}
