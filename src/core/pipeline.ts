// The way of one request: a stage per line in #pass, in the order of docs/decisions/0007. Whatever refuses
// throws a Failure; recording.ts has it recorded, and http/ turns it into a status.

import { EMPTY, text } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import { FairLine } from "@holdfast/shared/fair-line";
import { invariant } from "@holdfast/shared/invariant";
import { JSON_LIMITS } from "@holdfast/shared/json/json-limits";
import { readJson, readLargeJson } from "@holdfast/shared/json/json-reader";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import type { Instant } from "@holdfast/shared/world";
import type { Decision } from "../endpoint/decision.ts";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { helpFor, overviewOf } from "../endpoint/help.ts";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext, Caller } from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { programInput } from "../policies/governing/program-request.ts";
import { wrappingInvalid } from "../endpoint/wrapping-failure.ts";
import { callerAgain, mayHaveChanged } from "./caller-again.ts";
import { HandlerContext } from "./request-context.ts";
import { decisionOn } from "./decision.ts";
import * as failures from "./failures.ts";
import { Finding } from "./finding.ts";
import type { Core, Incoming, Outcome } from "./incoming.ts";
import { governedRequest } from "./governed-request.ts";
import type { ReadInput } from "@holdfast/shared/endpoint/input";
import { isPublic, needOf, reaches } from "./need.ts";
import { MEANING } from "@holdfast/shared/endpoint/operation";
import { runsHere } from "./placement.ts";
import { Recording } from "./recording.ts";
import { RequestState } from "./request-state.ts";

import { Routing } from "./routing.ts";
import type { RunningRequest } from "./running.ts";
import type * as seams from "./seams.ts";
import type { PipelineParts } from "./seams.ts";

/** What a query may say to the server itself, beside the endpoint's own parameters. */
// Clients of the API that /acl/ has in common with another server send their own namespace along.
const ACL_CONTROL: ReadonlySet<string> = new Set([...MEANING, "pretty", "namespace"]);

const NONE: readonly string[] = [];

/** Bytes of a body from which on others get their turn between the steps. */
const LARGE = 16 * 1024;
/** Bytes of a body that anybody may send, without a token. */
const MAX_OPEN_BODY = 64 * 1024;
/** Members and elements of an answer from which on they get it there. */
const MANY = 1000;

/** Bytes from which on masking, recording and encoding take long enough that callers take turns. */
const TAKES_TURNS = 64 * 1024;
/** Two, so that one is masked while the other is written; and of an address one, so that others find a place. */
const TURNS = { atOnce: 2, atOncePerAddress: 1, waiting: 4096, waitingPerAddress: 1024 };

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const PART_BYTES = 80; // an empty object and the place that points to it

/** What has taken longer since it was complete is looked at again before it begins. */
const LONG = 50n * MILLISECOND;

/** How often a write is judged by what is there, where others change that meanwhile. */
const MAX_TRIES = 3;

export class Pipeline implements Core {
  readonly #parts: PipelineParts;
  readonly routing: Routing;
  readonly #finding: Finding;
  readonly #recording: Recording;
  readonly #line = new FairLine(TURNS, failures.largeWaiting);
  readonly #asking: ConstructorParameters<typeof HandlerContext>[1];
  readonly #judges = {
    govern: (state: RequestState, context: RequestContext) =>
      this.#govern(state, context, this.#parts.clock.now()),
    again: (state: RequestState, context: RequestContext) => this.#judgeAgain(state, context),
  };

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.routing = new Routing(parts);
    this.#finding = new Finding(parts, this.routing);
    this.#recording = new Recording(parts);
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
      result = await this.#recording.refusal(state, error);
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
      this.#finding.find(state);
    } catch (error) {
      if (error instanceof Failure) return 0; // told when it is handled
      throw error;
    }
    return state.endpoint?.bodyStream?.maxBytes ?? 0;
  }

  async #pass(state: RequestState, entry: RunningRequest): Promise<Reply> {
    this.#finding.find(state); // canonical path, namespace, endpoint
    this.#answersNow(state); // sealed, not initialised, disaster-recovery secondary
    this.#place(state); // active node or standby
    this.#count(state); // rate quotas
    state.asOf = this.#parts.node.sealed ? 0n : this.#parts.node.index;
    this.#identify(state); // token: refused before a byte of the body is waited for
    entry.waits = true;
    const body = await this.#receiveBody(state);
    entry.waits = false;
    // What a large body becomes when it is read may be many times as much: that begins when its turn comes.
    const context =
      body !== null && takesTurns(body)
        ? await this.#inTurn(state, this.#whoHasBegunNothing(state, entry), () =>
            this.#judgeAndRecord(state, entry, body),
          )
        : await this.#judgeAndRecord(state, entry, body);
    return this.#serve(state, context);
  }

  /** Everything up to the record of the request. */
  async #judgeAndRecord(
    state: RequestState,
    entry: RunningRequest,
    body: Uint8Array | null,
  ): Promise<HandlerContext> {
    if (body !== null) this.#lookAgain(state);
    // One that waits for its body has begun nothing: a mount that goes does not wait for it.
    if (state.mount !== null) entry.mount = state.mount.uuid;
    if (state.caller?.counted === true) await this.#takeUse(state, state.caller);
    if (body !== null) await this.#readBody(state, body); // JSON, within its limits
    const large = state.bytes > LARGE;
    if (large) await this.#parts.timers.turn(); // reading, deciding and recording it are three steps
    const context = new HandlerContext(state, this.#asking, entry, this.#judges);
    const decided = this.#decide(state, context);
    // Rights that are worked out already are not waited for: that is nearly every request.
    state.decision = decided instanceof Promise ? await decided : decided;
    authorise(state); // ACL
    const governed = this.#govern(state, context, state.complete); // RGP, EGP
    if (governed !== null) await governed;
    const endpoint = chosen(state);
    entry.endpoint = endpoint?.name ?? "help";
    this.#admitWrapping(state, context, endpoint);
    await this.#recording.request(state, endpoint);
    return context;
  }

  /** What was judged and recorded is done. */
  async #serve(state: RequestState, context: HandlerContext): Promise<Reply> {
    const large = state.bytes > LARGE;
    if (large) await this.#parts.timers.turn();
    if (large || this.#tookLong(state)) await this.#judgeAgain(state, context);
    const endpoint = chosen(state);
    if (endpoint === null) return help(state);
    if (endpoint.bodyStream !== null) state.stream = state.incoming.stream(endpoint.bodyStream);
    const { input, warnings } = readInput(state);
    const advice = advised(state, warnings);
    if (endpoint.issues) this.#admitLease(state, context);
    const result = await (endpoint.exists === null
      ? endpoint.run(input, context)
      : this.#runAsJudged(state, context, input));
    const answered = withWarnings(passed(state, result), advice);
    const bytes = isLarge(answered.data) ? weightOf(answered.data) : 0;
    if (bytes > 0) {
      state.incoming.hold?.(bytes);
      await this.#parts.timers.turn(); // making, recording and sending it are three steps
    }
    const reply = await this.#settle(state, context, answered); // lease or token; wrapping
    if (bytes > TAKES_TURNS) {
      await this.#inTurn(state, OWN_WORK, () => this.#recording.response(state, reply));
    } else await this.#recording.response(state, reply);
    if (bytes > 0) await this.#parts.timers.turn();
    return reply;
  }

  /** Addresses take turns with what is long to mask and record: a thousand of one are between nobody else's.
   *  What is small does not wait for it, neither here nor behind many such records at the devices. */
  #inTurn<T>({ incoming }: RequestState, request: Waiting, work: () => Promise<T>): Promise<T> {
    return this.#line.run(request, incoming.remote.address, async () => {
      await this.#parts.timers.turn(); // those that wait for the event loop first
      return await work();
    });
  }

  /** It is judged when its turn has come, and not before. */
  #whoHasBegunNothing({ incoming }: RequestState, entry: RunningRequest): Waiting {
    const { running, node } = this.#parts;
    const { signal } = incoming;
    const refusal = failures.sealed;
    const served = !node.sealed;
    return {
      waitFor: (turn) => {
        if (served && node.sealed) throw refusal();
        return running.wait(entry, turn, { refusal, signal });
      },
    };
  }

  /** Whether a write creates or updates is looked at when it is judged. Where the handler finds it otherwise it
   *  has changed nothing, and the request is judged by that, as if it had come a moment later. */
  async #runAsJudged(
    state: RequestState,
    context: RequestContext,
    input: ReadInput["input"],
  ): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await state.endpoint?.run(input, context);
      } catch (error) {
        if (!(error instanceof failures.ChangedMeanwhile) || tries === MAX_TRIES) throw error;
        state.exists = error.exists;
      }
      try {
        state.decision = await this.#decide(state, context);
        authorise(state);
        await this.#govern(state, context, this.#parts.clock.now());
      } finally {
        this.#recording.judgedAgain(state);
      }
    }
  }

  /** Of a token that ends with this request nothing would be left of a lease but the answer. */
  #admitLease({ spent }: RequestState, context: RequestContext): void {
    if (spent !== null) throw failures.lastUse();
    this.#parts.leases.admit(context); // lease-count quotas
  }

  #answersNow(state: RequestState): void {
    const { endpoint, incoming, restricted } = state;
    const { node } = this.#parts;
    if (incoming.listener.metricsOnly && endpoint?.forMonitoring !== true) {
      throw failures.metricsOnly();
    }
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
  #identify(state: RequestState): void {
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
      throw nobodysToken(state);
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
    state.caller = caller;
    incoming.authenticated = true;
  }

  /** A body may take half a minute: it is the request as of now that is judged. Whoever was revoked, ran out or lost
   *  a policy meanwhile has not got there first; a mount may have gone, a namespace too, and the node may have
   *  sealed. Nothing is looked up where nothing can have changed, which is nearly every request. */
  #lookAgain(state: RequestState): void {
    const { endpoint } = state;
    const { node, clock } = this.#parts;
    state.complete = clock.now();
    if (!mayHaveChanged(state, { node, asOf: state.asOf, now: () => state.complete })) return;
    state.asOf = node.sealed ? 0n : node.index;
    this.#finding.find(state);
    this.#answersNow(state);
    this.#place(state);
    // What takes its body in another way is not what this was sent to.
    if (state.endpoint !== endpoint && state.endpoint !== null) throw failures.placeChanged();
    state.caller = null;
    this.#identify(state);
  }

  /** Whatever kept it: its record, rights that had to be worked out, a device that is slow. */
  #tookLong({ complete }: RequestState): boolean {
    return this.#parts.clock.now() - complete > LONG;
  }

  /** A request that has waited after it was judged is judged as of now, in the same way and with the same refusals:
   *  nobody does with its turn what it may not do any more. Null where nothing can have changed. */
  #judgeAgain(state: RequestState, context: RequestContext): Promise<void> | null {
    const { node, clock } = this.#parts;
    const { asOf } = state;
    if (!mayHaveChanged(state, { node, asOf, now: () => clock.now() })) return null;
    return this.#judgeAsOfNow(state, context);
  }

  async #judgeAsOfNow(state: RequestState, context: RequestContext): Promise<void> {
    const { node, clock } = this.#parts;
    const { found: before } = state;
    state.asOf = node.sealed ? 0n : node.index;
    try {
      this.#finding.find(state);
      this.#answersNow(state);
      this.#place(state);
      const isSame = state.found.isSamePlace(before);
      if (isSame) state.found = before; // its input is read already
      this.#identifyAgain(state, isSame);
      // Also where nobody is known: programs judge logins.
      state.decision = await this.#decide(state, context);
      authorise(state);
      await this.#govern(state, context, clock.now());
      if (isSame) return;
      chosen(state);
      throw failures.placeChanged();
    } finally {
      state.found = before; // what was sent, and what was recorded of it, belongs there
      this.#recording.judgedAgain(state);
    }
  }

  /** As at the door: where no token is needed, one that is good no more is as none. */
  #identifyAgain(state: RequestState, isSame: boolean): void {
    const { node, tokens } = this.#parts;
    if (state.caller === null) {
      // What was open to all may have given way to what needs a token, and to nobody else tells what it is.
      if (!isSame) this.#identify(state);
      return;
    }
    const caller = node.sealed ? null : callerAgain(state, tokens);
    // The record of a refusal still names who it was.
    if (caller === null && needOf(state) === "required") throw nobodysToken(state);
    state.caller = caller;
  }

  /** Of parallel requests with a last use, one gets it. What unwraps a wrapping token also spends it. */
  async #takeUse(state: RequestState, caller: Caller): Promise<void> {
    if (caller.wrapping !== undefined) return;
    const left = await this.#parts.tokens.use(caller);
    state.spent = left === 0 ? caller : null;
    if (left !== null) return;
    state.caller = null;
    if (needOf(state) !== "optional") throw failures.invalidToken();
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

  /** Null where none is read. */
  async #receiveBody(state: RequestState): Promise<Uint8Array | null> {
    const { incoming, endpoint, meant } = state;
    if (endpoint === null || meant === null) return null;
    if (meant.method === "GET" || meant.method === "LIST") return null;
    if (endpoint.bodyStream !== null) return null; // nobody looks at it before the caller may
    // That a patch is one is said by its type, also where nothing is in it.
    const comes = incoming.hasBody || meant.method === "PATCH";
    const { maxBody } = incoming.listener;
    const long = state.caller !== null || endpoint.longBody?.() === true;
    const max = long ? maxBody : Math.min(maxBody, MAX_OPEN_BODY);
    return comes ? incoming.body(max) : EMPTY;
  }

  async #readBody(state: RequestState, bytes: Uint8Array): Promise<void> {
    const { endpoint } = state;
    if (endpoint === null) return;
    if (bytes.length === 0 && endpoint.bodyMissing !== "") {
      throw failures.bodyMissing(endpoint.bodyMissing);
    }
    state.bytes = bytes.length;
    if (isNull(endpoint, bytes)) {
      state.body = {};
      return;
    }
    const options = { foldCase: endpoint.family === "acl" };
    try {
      if (bytes.length <= LARGE) state.body = readJson(bytes, options);
      else {
        state.incoming.hold?.(weightOfParts(bytes));
        state.body = await readLargeJson(bytes, options, () => this.#parts.timers.turn());
      }
    } catch (error) {
      if (!(error instanceof Failure) || endpoint.bodyUnreadable === "") throw error;
      throw failures.bodyUnreadable(endpoint.bodyUnreadable, error);
    }
  }

  /** What the caller's policies say; null where they are not asked. */
  #decide(state: RequestState, context: RequestContext): Decision | Promise<Decision> | null {
    const { endpoint, route } = state;
    const { decisions } = this.#parts;
    if (state.restricted || asksForHelp(state)) return null;
    if (endpoint === null) {
      // Only who may do it there learns whether there is something there.
      return isPublic(route) ? null : decisionOn(state, decisions, context, false);
    }
    const { access } = endpoint;
    if (endpoint.unwraps && state.caller?.wrapping !== undefined) return null;
    const decides = access.kind === "capability" || (access.kind === "ceremony" && access.starts);
    if (!decides || needOf(state) !== "required") return null;
    return decisionOn(state, decisions, context, access.kind === "capability" && access.sudo);
  }

  /** By the RGPs of the caller and the EGPs on the path. Null where none applies, which is nearly
   *  every request: then nothing is waited for. */
  #govern(state: RequestState, context: RequestContext, now: Instant): Promise<void> | null {
    const { caller, namespace, endpoint } = state;
    if (namespace === null) return null;
    if (caller === null && endpoint?.login !== true) return null;
    // No EGP reaches a ceremony, or a wrong one could lock everybody out.
    const path = endpoint?.access.kind === "ceremony" ? null : state.policyPath;
    const policies = this.#parts.governance.applying(caller, namespace, path);
    const none = !(policies instanceof Promise) && policies.length === 0;
    return none ? null : this.#judge(state, context, now, policies);
  }

  async #judge(
    state: RequestState,
    context: RequestContext,
    now: Instant,
    found: ReturnType<seams.Governance["applying"]>,
  ): Promise<void> {
    const { governance, decisions } = this.#parts;
    const { caller, incoming } = state;
    const policies = await found;
    if (policies.length === 0) return;
    const mayOverride =
      incoming.policyOverride &&
      (!governance.overrideNeedsSudo ||
        (await decisionOn(state, decisions, context, true)).allowed);
    const request = await governedRequest(state, context, now);
    const input = programInput(request, governance.headers());
    const judgement = await governance.judge(policies, { input, override: mayOverride });
    state.judgement = judgement;
    if (judgement.allowed) return;
    throw caller === null ? failures.denied() : failures.governed(judgement.denial);
  }

  /** What the handler leaves to the server: the lease of a secret, the token of a login, and whether
   *  the answer goes to the caller or into a wrapping. */
  async #settle(state: RequestState, context: RequestContext, answered: Reply): Promise<Reply> {
    const { leases, logins, wrapping } = this.#parts;
    let reply = answered;
    const { wrapTtl } = state.incoming;
    if (reply.lease !== null) reply = reply.with(await leases.issue(reply.lease, context));
    if (reply.login !== null) {
      if (wrapTtl !== null) wrapping.admitLogin(logins.originOf(reply.login, context), context);
      reply = reply.with(await logins.login(reply.login, context));
    }
    if (wrapTtl === null || reply.wrapInfo !== null || !isWrappable(state, reply)) return reply;
    const wrapped = new Reply(undefined, await wrapping.wrap(reply, wrapTtl, context));
    // Where the next page begins, and as of when: the headers of the ACL API hold nothing to be kept.
    const { headers, index } = reply;
    const seen = index === null ? { headers } : { headers, index };
    return state.endpoint?.family === "acl" ? wrapped.with(seen) : wrapped;
  }

  /** Whoever asks for a wrapping never gets the secret itself: it is kept, or nothing is done. */
  #admitWrapping(
    { incoming, meant }: RequestState,
    context: RequestContext,
    endpoint: Served | null,
  ): void {
    const { wrapTtl } = incoming;
    if (wrapTtl === null || meant?.headOnly === true) return;
    // Shares of keys are written down nowhere, whatever the answer looks like.
    const kept = endpoint?.family !== "bare" && endpoint?.access.kind !== "ceremony";
    if (endpoint === null || !kept) throw failures.notWrapped();
    // It would be kept for longer than its maker was let, and count for a token that ends with this.
    if (endpoint.unwraps) throw failures.wrappedAlready();
    this.#parts.wrapping.admit(wrapTtl, context);
  }
}

function nobodysToken({ endpoint }: RequestState): Failure {
  return endpoint?.unwraps === true ? wrappingInvalid() : failures.invalidToken();
}

/** By somebody who is not on this machine: only those are slowed down. */
function isLogin({ endpoint, incoming }: RequestState): boolean {
  return endpoint?.login === true && !incoming.remote.loopback;
}

/** Whether a value has more parts than a moment is enough for. Looks at no more of it than that takes. */
function isLarge(value: unknown, seen = { parts: 0 }): boolean {
  if (typeof value === "string") return value.length > LARGE;
  if (typeof value !== "object" || value === null || value instanceof StreamBody) return false;
  if (Array.isArray(value)) {
    if ((seen.parts += value.length) > MANY) return true;
    return value.some((element) => isLarge(element, seen));
  }
  for (const name in value) {
    if (++seen.parts > MANY || isLarge((value as Record<string, unknown>)[name], seen)) return true;
  }
  return false;
}

/** Whether reading and recording it is so much that addresses take turns with it: long, or of many parts. */
function takesTurns(body: Uint8Array): boolean {
  if (body.length <= LARGE) return false;
  return body.length > TAKES_TURNS || partsOf(body) > MANY;
}

/** About what the parts of a JSON text take when it is read, beside its texts: `{}` becomes thirty times as much. */
function weightOfParts(bytes: Uint8Array): number {
  return Math.min(partsOf(bytes), JSON_LIMITS.tokens) * PART_BYTES;
}

/** At least as many as there are. */
function partsOf(bytes: Uint8Array): number {
  let parts = 1;
  for (const byte of bytes) if (byte === COMMA || byte === BRACKET || byte === BRACE) parts++;
  return parts;
}

/** About as many bytes as it has when it is sent. */
function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null || value instanceof StreamBody) return 8;
  let sum = 2;
  if (Array.isArray(value)) for (const element of value) sum += weightOf(element) + 1;
  else {
    for (const name in value) {
      sum += name.length + 4 + weightOf((value as Record<string, unknown>)[name]);
    }
  }
  return sum;
}

/** What clients with typed nothings send for no body at all. */
function isNull({ family }: Served, bytes: Uint8Array): boolean {
  return family === "enveloped" && bytes.length <= 5 && text(bytes).trimEnd() === "null";
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
