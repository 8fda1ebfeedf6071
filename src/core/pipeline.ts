// The way of one request, in the order of docs/decisions/0007: five stages in #pass, a line each, then
// #judgeAndRecord, and what serving.ts does with it. Whatever refuses throws a Failure; recording.ts has it recorded, and http/ turns it
// into a status.

import { EMPTY, text } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import { readJson, readLargeJson } from "@holdfast/shared/json/json-reader";
import { whoSends, type Whose } from "@holdfast/shared/sliced";
import { clientOf } from "@holdfast/shared/text/client-address";
import { OWN_WORK } from "@holdfast/shared/waiting";
import { READ_SNAPSHOT, type Served } from "@holdfast/shared/endpoint/endpoint";
import { FairTurns } from "../base/fair-turns.ts";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext, Caller } from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { HandlerContext } from "./request-context.ts";
import * as failures from "./failures.ts";
import { Finding } from "./finding.ts";
import type { Core, Incoming, Outcome } from "./incoming.ts";
import { chosen, Judging, mayRead } from "./judging.ts";
import { needOf } from "./need.ts";
import { Recording } from "./recording.ts";
import { RequestState } from "./request-state.ts";
import { Routing } from "./routing.ts";
import type { RunningRequest } from "./running.ts";
import type { PipelineParts } from "./seams.ts";
import { SendingOn } from "./sending-on.ts";
import { Serving } from "./serving.ts";
import {
  hasBegunNothing,
  isRefused,
  LARGE,
  TAKES_TURNS,
  takesTurns,
  Turns,
  weightOf,
  weightOfParts,
} from "./turns.ts";

/** Bytes of a body that anybody may send, without a token. */
const MAX_OPEN_BODY = 64 * 1024;

/** Of small requests, in a turn of the event loop. */
const STEPS_AT_ONCE = 128;

/** How often it is looked again at what was waited for, where others change that meanwhile. */
const MAX_TRIES = 3;

export class Pipeline implements Core {
  readonly #parts: PipelineParts;
  readonly routing: Routing;
  readonly #finding: Finding;
  readonly #recording: Recording;
  readonly #judging: Judging;
  readonly #sendingOn: SendingOn;
  readonly #turns: Turns;
  readonly #serving: Serving;
  /** Between the steps of requests. Hundreds may come at once, and each may take milliseconds until it first waits. */
  readonly #steps: FairTurns;
  readonly #asking: ConstructorParameters<typeof HandlerContext>[1];
  readonly #judges: ConstructorParameters<typeof HandlerContext>[3];

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.routing = new Routing(parts);
    this.#finding = new Finding(parts, this.routing);
    this.#recording = new Recording(parts);
    this.#judging = new Judging(parts, this.#finding, this.#recording);
    this.#sendingOn = new SendingOn(parts);
    this.#turns = new Turns(parts.timers);
    this.#steps = new FairTurns(parts, STEPS_AT_ONCE);
    const [judging, recording, sendingOn] = [this.#judging, this.#recording, this.#sendingOn];
    const [turns, steps] = [this.#turns, this.#steps];
    this.#serving = new Serving({ parts, judging, recording, sendingOn, turns, steps });
    this.#asking = { ...parts, routing: this.routing };
    this.#judges = {
      govern: (state, context) => this.#judging.govern(state, context, parts.clock.now()),
      again: (state, context) => this.#judging.again(state, context),
      whole: (state) => this.#judging.whole(state),
      admitLease: (state, context) => this.#serving.admitLease(state, context),
    };
  }

  async handle(incoming: Incoming): Promise<Outcome> {
    const { running, clock, node, witness } = this.#parts;
    const entry = running.begin(incoming.id, incoming.verb, incoming.remote.address);
    if (this.#steps.busy) await this.#toBegin(incoming, entry);
    const state = new RequestState(incoming, clock.now());
    let result: Reply | Failure;
    try {
      const context = await this.#pass(state, entry);
      result = await (witness === undefined
        ? this.#serving.serve(state, context)
        : this.#serving.witnessed(witness, state, context));
    } catch (error) {
      result = await this.#refuse(state, entry, error);
      // Whoever succeeds may log in as often as it likes, and a farm behind one address does.
      if (isLogin(state) && !state.elsewhere && result.kind !== "rate-limited") {
        this.#parts.attempts.count(incoming.remote.address);
        const { forwarded = null } = incoming;
        if (forwarded !== null) this.#parts.memberAttempts?.count(forwarded.member);
      }
    } finally {
      if (state.mayHoldSecret) incoming.wipe();
      if (state.spent !== null) await this.#endSpent(state, state.spent);
    }
    const body = result instanceof Failure ? undefined : result.data;
    // One that is still being sent runs until its end: the seal waits for it, and so does its mount.
    if (body instanceof StreamBody) void body.ended.then(() => running.end(entry));
    else running.end(entry);
    if (result instanceof Reply && result.afterwards !== null) {
      result = await this.#afterwards(state, result, result.afterwards);
    }
    if (node.sealed) return state.outcome(result, null);
    const { consistency } = this.#parts;
    const { writtenThere, writtenBy } = state;
    const mark = node.drSecondary ? null : (consistency?.mark(writtenThere, writtenBy) ?? null);
    return state.outcome(result, node.index, mark);
  }

  /** The record says that it was done: where it was not, the log says so. */
  async #afterwards(
    { incoming }: RequestState,
    reply: Reply,
    work: () => Promise<void>,
  ): Promise<Reply | Failure> {
    try {
      await work();
      return reply;
    } catch (error) {
      const cause = describe(error);
      this.#parts.log.error("what was recorded as done failed", { request: incoming.id, cause });
      return error instanceof Failure ? error : failures.internal(incoming.id, error);
    }
  }

  /** Nothing is known yet of who sends it but from where. */
  async #toBegin({ remote, signal }: Incoming, entry: RunningRequest): Promise<void> {
    entry.waits = true;
    await this.#steps.next({ tenant: "", client: clientOf(remote.address) });
    entry.waits = false;
    if (!signal.aborted) return;
    this.#parts.running.end(entry); // who has gone meanwhile is as one that never came
    throw signal.reason;
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

  /** Everything up to the record of the request. */
  #pass(state: RequestState, entry: RunningRequest): Promise<HandlerContext> {
    this.#find(state);
    const waiting = this.#waits(state);
    return waiting === null
      ? this.#passFound(state, entry)
      : this.#passLater(state, entry, waiting);
  }

  /** For shared rows that come from elsewhere, then for what the caller has seen elsewhere. */
  #waits(state: RequestState): Promise<void> | null {
    // Nothing shared is looked at for a request that another region decides, unless its answer is to be kept here.
    const isAnswered = this.#sendingOn.namesPrimary(state) && state.incoming.wrapTtl === null;
    return (isAnswered ? null : this.#judging.whole(state)) ?? this.#judging.caughtUp(state);
  }

  /** Whatever was waited for, the other may have changed meanwhile. */
  async #waited(state: RequestState, waiting: Promise<void> | null): Promise<void> {
    let next = waiting;
    for (let left = MAX_TRIES; next !== null; left--) {
      await next;
      if (left === 0) throw failures.sharedHalf();
      this.#find(state);
      next = this.#waits(state);
    }
  }

  async #passLater(
    state: RequestState,
    entry: RunningRequest,
    waiting: Promise<void>,
  ): Promise<HandlerContext> {
    await this.#waited(state, waiting);
    return this.#passFound(state, entry);
  }

  #find(state: RequestState): void {
    this.#finding.find(state); // canonical path, namespace, endpoint
    this.#judging.answersNow(state); // sealed, not initialised, disaster-recovery secondary
    this.#judging.place(state); // active node or standby
  }

  #passFound(state: RequestState, entry: RunningRequest): Promise<HandlerContext> {
    this.#sendingOn.check(state); // another cluster has sent it
    this.#count(state); // rate quotas
    const { opening } = state.found;
    return opening === null
      ? this.#passThere(state, entry)
      : this.#passOpened(state, entry, opening);
  }

  /** What is about to answer is worth waiting for: a plugin takes a moment to start. */
  async #passOpened(
    state: RequestState,
    entry: RunningRequest,
    opening: Promise<void>,
  ): Promise<HandlerContext> {
    let next: Promise<void> | null = opening;
    for (let left = MAX_TRIES; next !== null && left > 0; left--) {
      await hasBegunNothing(state, entry, this.#parts).waitFor(next);
      this.#find(state);
      next = state.found.opening;
    }
    await this.#waited(state, this.#waits(state));
    return this.#passThere(state, entry);
  }

  #passThere(state: RequestState, entry: RunningRequest): Promise<HandlerContext> {
    state.asOf = this.#parts.node.sealed ? 0n : this.#parts.node.index;
    if (this.#sendingOn.namesPrimary(state)) return this.#passOn(state, entry); // another region decides
    const expected = this.#judging.expected(state); // a token that may be on its way
    return expected === null
      ? this.#passAs(state, entry)
      : this.#passExpected(state, entry, expected);
  }

  async #passExpected(
    state: RequestState,
    entry: RunningRequest,
    expected: Promise<void>,
  ): Promise<HandlerContext> {
    await hasBegunNothing(state, entry, this.#parts).waitFor(expected);
    this.#find(state);
    await this.#waited(state, this.#judging.whole(state));
    state.asOf = this.#parts.node.sealed ? 0n : this.#parts.node.index;
    return this.#passAs(state, entry);
  }

  #passAs(state: RequestState, entry: RunningRequest): Promise<HandlerContext> {
    this.#judging.identify(state); // token: refused before a byte of the body is waited for
    return takesBody(state)
      ? this.#passWithBody(state, entry)
      : this.#judgeAndRecord(state, entry, null);
  }

  /** Who may do it is known where it goes. */
  async #passOn(state: RequestState, entry: RunningRequest): Promise<HandlerContext> {
    state.passedOn = true;
    this.#judging.identifyPassed(state);
    const endpoint = chosen(state);
    entry.endpoint = endpoint?.name ?? "help";
    if (takesBody(state)) {
      entry.waits = true;
      const body = await receiveBody(state);
      entry.waits = false;
      const read = this.#readBody(state, body);
      if (read !== null) await read;
    }
    const context = new HandlerContext(state, this.#asking, entry, this.#judges);
    this.#serving.admitWrapping(state, context, endpoint);
    const audited = this.#recording.ofRequest(state, endpoint, false);
    if (audited !== null) {
      await this.#parts.audit.request(audited, "");
      state.recorded = audited;
    }
    return context;
  }

  async #passWithBody(state: RequestState, entry: RunningRequest): Promise<HandlerContext> {
    entry.waits = true;
    const body = await receiveBody(state);
    // Whoever sends many may have held the last byte of each back.
    if (this.#steps.busy) await this.#steps.next(whoSent(state));
    entry.waits = false;
    if (!takesTurns(body)) return await this.#judgeAndRecord(state, entry, body);
    // What a large body becomes when it is read may be many times as much: that begins when its turn comes.
    const waiting = hasBegunNothing(state, entry, this.#parts);
    return await this.#turns.take(state, waiting, () => {
      state.takesTurns = true;
      return this.#judgeAndRecord(state, entry, body);
    });
  }

  /** A long body is masked and recorded in its turn, whatever was said to it. */
  async #refuse(state: RequestState, entry: RunningRequest, error: unknown): Promise<Failure> {
    const record = () => this.#recording.refusal(state, error);
    if (!state.takesTurns) return await record();
    // What ran has a record that waits for its second half.
    const waiting = state.recorded === null ? isRefused(entry, this.#parts) : OWN_WORK;
    try {
      return await this.#turns.take(state, waiting, record);
    } catch (full) {
      invariant(full instanceof Failure, "there is no place, or the node seals");
      return await record();
    }
  }

  async #judgeAndRecord(
    state: RequestState,
    entry: RunningRequest,
    body: Uint8Array | null,
  ): Promise<HandlerContext> {
    if (body !== null) {
      const half = this.#judging.whole(state);
      if (half !== null) await half;
      this.#judging.lookAgain(state);
    }
    // One that waits for its body has begun nothing: a mount that goes does not wait for it.
    if (state.mount !== null) entry.mount = state.mount.uuid;
    if (state.caller?.counted === true) await this.#takeUse(state, state.caller);
    if (body !== null) {
      const read = this.#readBody(state, body); // JSON, within its limits
      if (read !== null) await read;
    }
    const context = new HandlerContext(state, this.#asking, entry, this.#judges);
    // Reading, deciding and recording it are three steps.
    if (state.bytes > LARGE) await this.#steps.next(whoSends(context));
    const looksBack = state.snapshotId !== null;
    if (looksBack) await this.#recall(state, context);
    const judging = this.#judging.judge(state, context, state.complete); // ACL, RGP, EGP
    if (judging !== null) await judging;
    const endpoint = chosen(state);
    if (looksBack) checkSnapshotUse(state, endpoint);
    entry.endpoint = endpoint?.name ?? "help";
    this.#serving.admitWrapping(state, context, endpoint);
    // Rights that had to be worked out were waited for together; to mask a record takes milliseconds.
    if (this.#steps.busy) await this.#steps.next(whoSends(context));
    const audited = this.#recording.ofRequest(state, endpoint);
    if (audited !== null) {
      const record = async () => this.#parts.audit.request(audited, "");
      // What was recovered was not long when it came, and is recorded as whatever is.
      const long = state.recalled && state.bytes > TAKES_TURNS;
      if (long) await this.#turns.take(state, context, record);
      else await this.#parts.audit.request(audited, "");
      state.recorded = audited;
    }
    return context;
  }

  /** What is to be recovered becomes the body: rules on parameters, programs and the record look at it, and it is what
   *  the handler takes. Who may not read the path today learns nothing of what it held. */
  async #recall(state: RequestState, context: RequestContext): Promise<void> {
    const { endpoint, namespace, pathValues } = state;
    const { recoverFrom = null } = state.incoming;
    const recovers = endpoint?.recovers ?? null;
    if (recoverFrom === null || endpoint === null || recovers === null || namespace === null)
      return;
    await mayRead(state, context);
    if (Object.keys(state.body ?? {}).length > 0) throw failures.recoverWithBody();
    const { mount } = state;
    const held = await this.#parts.loaded.use(
      recoverFrom,
      { namespace, mount, endpoint },
      async (room) => recovers(room, pathValues, context),
    );
    if (held === null) throw failures.notInSnapshot();
    const bytes = weightOf(held);
    state.incoming.hold?.(bytes); // it did not come over the wire, and takes room as if it had
    state.takeBody(held, bytes);
    state.takesTurns ||= bytes > TAKES_TURNS;
  }

  #count(state: RequestState): void {
    const { node, quotas } = this.#parts;
    const { path, namespace, endpoint, incoming } = state;
    if (node.sealed || node.drSecondary || path === null) return;
    if (isLogin(state)) this.#checkLogins(incoming);
    state.headers = quotas.admit({
      namespace: namespace ?? ROOT_NAMESPACE,
      path,
      mountPoint: state.home.point,
      address: incoming.remote.address,
      exempt: endpoint?.rateLimited === false,
    });
  }

  /** Also for the cluster that has sent it on: of what comes by it, it says the address. */
  #checkLogins({ remote, forwarded = null }: Incoming): void {
    this.#parts.attempts.check(remote.address);
    if (forwarded !== null) this.#parts.memberAttempts?.check(forwarded.member);
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
  async #endSpent({ incoming }: RequestState, spent: Caller): Promise<void> {
    try {
      await this.#parts.tokens.spent(spent);
    } catch (error) {
      const fields = { request: incoming.id, cause: describe(error) };
      this.#parts.log.error("a token without uses could not be deleted", fields);
    }
  }

  /** Null where it is read already: what is small. */
  #readBody(state: RequestState, bytes: Uint8Array): Promise<void> | null {
    const { endpoint } = state;
    if (endpoint === null) return null;
    if (bytes.length === 0 && endpoint.bodyMissing !== "") {
      throw failures.bodyMissing(endpoint.bodyMissing);
    }
    state.bytes = bytes.length;
    if (isNull(endpoint, bytes)) {
      state.body = {};
      return null;
    }
    const options = { foldCase: endpoint.family === "acl" };
    if (bytes.length > LARGE) return this.#readLargeBody(state, endpoint, bytes, options);
    try {
      state.body = readJson(bytes, options);
      return null;
    } catch (error) {
      throw unreadable(endpoint, error);
    }
  }

  async #readLargeBody(
    state: RequestState,
    endpoint: Served,
    bytes: Uint8Array,
    options: { readonly foldCase: boolean },
  ): Promise<void> {
    state.incoming.hold?.(weightOfParts(bytes));
    try {
      state.body = await readLargeJson(bytes, options, () => this.#parts.timers.turn());
    } catch (error) {
      throw unreadable(endpoint, error);
    }
  }
}

/** By somebody who is not on this machine: only those are slowed down. */
function isLogin({ endpoint, incoming }: RequestState): boolean {
  return endpoint?.login === true && !incoming.remote.loopback;
}

function takesBody({ endpoint, meant }: RequestState): boolean {
  if (endpoint === null || meant === null) return false;
  if (meant.method === "GET" || meant.method === "LIST") return false;
  return endpoint.bodyStream === null; // nobody looks at that before the caller may
}

/** Before there is a context. */
function whoSent({ caller, namespace, incoming }: RequestState): Whose {
  const { remote } = incoming;
  return whoSends({ caller, namespace: namespace ?? ROOT_NAMESPACE, remote });
}

function receiveBody({
  incoming,
  endpoint,
  meant,
  caller,
}: RequestState): Promise<Uint8Array> | Uint8Array {
  // That a patch is one is said by its type, also where nothing is in it.
  if (!incoming.hasBody && meant?.method !== "PATCH") return EMPTY;
  const { maxBody } = incoming.listener;
  const long = caller !== null || endpoint?.longBody?.() === true;
  return incoming.body(long ? maxBody : Math.min(maxBody, MAX_OPEN_BODY));
}

/** In the endpoint's own words, where it has some. */
function unreadable({ bodyUnreadable }: Served, error: unknown): unknown {
  if (!(error instanceof Failure) || bodyUnreadable === "") return error;
  return failures.bodyUnreadable(bodyUnreadable, error);
}

/** What clients with typed nothings send for no body at all. */
function isNull({ family }: Served, bytes: Uint8Array): boolean {
  return family === "enveloped" && bytes.length <= 5 && text(bytes).trimEnd() === "null";
}

/** A snapshot that is named where nothing is answered or recovered from one would be taken for what is answered. */
function checkSnapshotUse({ incoming, query }: RequestState, endpoint: Served | null): void {
  const recovers = (incoming.recoverFrom ?? null) !== null;
  if (recovers && query.has(READ_SNAPSHOT)) throw failures.snapshotTwice();
  if (recovers && (endpoint?.recovers ?? null) === null) throw failures.nothingRecovered();
  if (!recovers && endpoint?.fromSnapshot !== true) throw failures.notFromSnapshot();
}
