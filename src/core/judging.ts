// Whether a request may run: at the door, when its body is there, and again whenever it has waited. Whatever refuses
// throws a Failure.

import type { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import { SECOND } from "@holdfast/shared/text/duration";
import {
  type Access,
  type DrOperation,
  drOperationOf,
  isOfCopying,
  isOfDrSecondary,
} from "@holdfast/shared/endpoint/access";
import { OPERATION_TOKEN, type Served } from "@holdfast/shared/endpoint/endpoint";
import type { Caller, RequestContext } from "@holdfast/shared/endpoint/request";
import type { Instant } from "@holdfast/shared/world";
import type { Decision } from "../endpoint/decision.ts";
import { wrappingInvalid } from "../endpoint/wrapping-failure.ts";
import { programInput } from "../policies/governing/program-request.ts";
import { attestedCaller, mayVouch } from "./attested.ts";
import { callerAgain, mayHaveChanged } from "./caller-again.ts";
import { decisionOn } from "./decision.ts";
import type { Finding } from "./finding.ts";
import { governedRequest } from "./governed-request.ts";
import type { Incoming } from "./incoming.ts";
import { isPublic, type Need, needOf, reaches } from "./need.ts";
import { roleChanging } from "../replication/failures.ts";
import type { Recording } from "./recording.ts";
import type { RequestState } from "./request-state.ts";
import type { Governance, PipelineParts } from "./seams.ts";
import type { NodeRole } from "../seal/health.ts";
import * as failures from "./failures.ts";

/** How long a request waits for a state, where it wants that. */
const AWAITED = 2n * SECOND;

export class Judging {
  readonly #parts: PipelineParts;
  readonly #finding: Finding;
  readonly #recording: Recording;

  constructor(parts: PipelineParts, finding: Finding, recording: Recording) {
    this.#parts = parts;
    this.#finding = finding;
    this.#recording = recording;
  }

  answersNow(state: RequestState): void {
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
    if (
      node.changing === true &&
      !(endpoint?.onDrSecondary === true && needOf(state) !== "required")
    ) {
      throw roleChanging();
    }
    if (node.drSecondary) checkOnDrSecondary(state, node.copying === true);
    else if (endpoint !== null && isOfDrSecondary(endpoint.access)) throw failures.notDrSecondary();
  }

  /** Nobody is answered from shared rows of different times; what is this cluster's alone goes on. Null where there is nothing to wait for. */
  whole(state: RequestState): Promise<void> | null {
    const { node, elsewhere, awaited = AWAITED } = this.#parts;
    const primary = node.sealed || node.drSecondary ? null : (elsewhere?.primary ?? null);
    if (primary === null || !primary.isTorn || isOwn(state)) return null;
    return primary.whole(awaited, state.incoming.signal).then((isWhole) => {
      if (!isWhole) throw failures.sharedHalf();
    });
  }

  /** Nobody is answered from before what it has seen in another place of the set. Null where there is nothing to wait for. */
  caughtUp({ incoming, endpoint }: RequestState): Promise<void> | null {
    const { node, consistency } = this.#parts;
    const { states = [], awaitsState = false, signal } = incoming;
    if (states.length === 0 || consistency === undefined) return null;
    if (node.sealed || node.drSecondary || endpoint?.answers === "always") return null;
    if (endpoint?.inAnyState === true) return null;
    const found = states.map((mark) => consistency.judge(mark));
    if (found.includes("unknown")) throw failures.stateUnknown();
    if (found.includes("lost")) throw failures.stateLost();
    if (!found.includes("behind")) return null;
    if (!awaitsState) throw failures.stateNotReached();
    const all = states.map((mark) =>
      consistency.reaches(mark, this.#parts.awaited ?? AWAITED, signal),
    );
    return Promise.all(all).then((reached) => {
      if (reached.includes(false)) throw failures.stateNotReached();
    });
  }

  /** What belongs to the active node is handed on from here, before a use of the token is taken, a quota is
   *  touched or a record is written: that is done once, there. */
  place(state: RequestState): void {
    const { role } = this.#parts.node;
    if (runsHere(role, state)) return;
    state.elsewhere = true;
    throw failures.notActive();
  }

  /** A token that the primary has made a moment ago may not have come yet. Null where there is nothing to wait for. */
  expected(state: RequestState): Promise<void> | null {
    const { node, tokens, elsewhere } = this.#parts;
    const { credential, forwarded = null, remote, signal } = state.incoming;
    if ((elsewhere?.primary ?? null) === null || node.sealed || node.drSecondary) return null;
    if (credential === null || forwarded !== null || needOf(state) !== "required") return null;
    if (tokens.find(credential) !== null || tokens.hasExpired(credential)) return null;
    return tokens.awaited?.(credential, remote.address, signal) ?? null;
  }

  /** Finds out who asks. What does not exist is answered like what needs a token (T-A14). */
  identify(state: RequestState): void {
    this.#findCaller(state);
    state.incoming.identified?.(state.caller !== null);
  }

  #findCaller(state: RequestState): void {
    const { incoming, namespace } = state;
    const need = needOf(state);
    if (need === "nobody") return;
    checkCredential(incoming);
    if (this.#parts.node.drSecondary) {
      this.#findOperator(state, need);
      return;
    }
    const isAttested = (incoming.forwarded?.attested ?? null) !== null;
    if (incoming.credential === null && !isAttested) {
      if (need === "optional") return;
      throw failures.missingToken();
    }
    const caller = this.#parts.node.sealed ? null : this.#ownerOf(incoming);
    if (caller === null) {
      if (need === "optional") return;
      // Whoever tries out secrets is slowed down; those who have one are not.
      if (!incoming.remote.loopback) this.#parts.attempts.take(incoming.remote.address);
      // Of one that was sent on another cluster says the address: it is slowed down whatever it says.
      const { forwarded = null } = incoming;
      if (forwarded !== null) this.#parts.attempts.take(`member ${forwarded.member}`);
      throw nobodysToken(state);
    }
    const isStale = this.#parts.elsewhere?.isStale === true;
    if (caller.global && (isStale || this.#parts.elsewhere?.lacksRoom === true)) {
      if (need === "optional") return;
      state.caller = caller;
      throw isStale ? failures.globalTokensStale() : failures.globalTokensUnapplied();
    }
    // A wrapping token opens what it holds and nothing else (T-E02); what unwraps it also spends it.
    const wraps = caller.wrapping !== undefined;
    const unwraps = state.endpoint?.unwraps === true;
    if (!mayVouch(incoming.forwarded ?? null)) {
      state.caller = caller;
      throw failures.policyNotAttested();
    }
    const near = caller.boundTo?.has(incoming.remote.address) ?? true;
    if (namespace === null || !near || !reaches(caller, namespace) || (wraps && !unwraps)) {
      if (need === "optional") return;
      state.caller = caller; // so that the record names who was refused
      throw wraps && unwraps ? wrappingInvalid() : failures.denied();
    }
    state.caller = caller;
  }

  /** Another region decides who may: here it is looked at whose the credential is only where something is to be kept for its owner. */
  identifyPassed(state: RequestState): void {
    const { incoming, namespace, meant } = state;
    if (needOf(state) !== "nobody") checkCredential(incoming);
    if (incoming.wrapTtl === null || meant?.headOnly === true) return;
    const caller = this.#ownerOf(incoming);
    const near = caller?.boundTo?.has(incoming.remote.address) ?? true;
    const isKnown = caller !== null && caller.wrapping === undefined && near;
    if (!isKnown || namespace === null || !reaches(caller, namespace))
      throw failures.keptForNobody();
    state.caller = caller;
  }

  /** Of the token, or whoever another cluster vouches for. */
  #ownerOf({ credential, forwarded = null }: Incoming): Caller | null {
    const { namespaces, tokens, clock } = this.#parts;
    const attested = forwarded?.attested ?? null;
    if (attested !== null) return attestedCaller(attested, namespaces, clock.now());
    return credential === null ? null : tokens.find(credential);
  }

  /** Where a token is needed it may be in the body, and is looked at with that (`#judgeOperation`). */
  #findOperator(state: RequestState, need: Need): void {
    const { credential } = state.incoming;
    if (need !== "optional" || credential === null) return;
    const { operations, clock } = this.#parts;
    state.caller = operations.judge(credential, "read", clock.now())?.caller ?? null;
  }

  /** A disaster-recovery secondary has neither policies nor programs: whoever holds the operation token, or a ticket for
   *  this very operation, may. That of the body counts where there are two. */
  #judgeOperation(state: RequestState, now: Instant): void {
    const { endpoint, incoming } = state;
    if (state.restricted || endpoint === null) return;
    const operation = this.#neededFor(state, endpoint);
    if (operation === null) return;
    // What takes part in a ceremony has no such field.
    const inBody = drOperationOf(endpoint.access) === null ? null : state.body?.[OPERATION_TOKEN];
    const sent = typeof inBody === "string" && inBody !== "" ? inBody : incoming.credential;
    if (sent === null) throw failures.missingOperationToken();
    const operator = this.#parts.operations.judge(sent, operation, now);
    if (operator === null) {
      state.caller = null;
      if (!incoming.remote.loopback) this.#parts.attempts.take(incoming.remote.address);
      throw failures.invalidOperationToken(
        this.#parts.operations.refusal?.(sent, operation, now) ?? null,
      );
    }
    state.caller = operator.caller;
    state.advice = operator.warnings;
  }

  /** What an operation token or a ticket has to be for; null where none is needed. */
  #neededFor(state: RequestState, { access }: Served): DrOperation | null {
    const need = needOf(state);
    if (access.kind === "ceremony" && access.ofDrSecondary === true) {
      return this.#parts.operations.guarded ? "operation-token" : null;
    }
    if (need !== "required") return null;
    const operation = drOperationOf(access);
    invariant(operation !== null, "whatever answers here is one of its operations, or open");
    return operation;
  }

  /** A body may take half a minute: it is the request as of now that is judged. Whoever was revoked, ran out or lost
   *  a policy meanwhile has not got there first; a mount may have gone, a namespace too, and the node may have
   *  sealed. Nothing is looked up where nothing can have changed, which is nearly every request. */
  lookAgain(state: RequestState): void {
    const { endpoint } = state;
    const { node, clock } = this.#parts;
    state.complete = clock.now();
    if (!mayHaveChanged(state, { node, asOf: state.asOf, now: () => state.complete })) return;
    state.asOf = node.sealed ? 0n : node.index;
    this.#finding.find(state);
    this.answersNow(state);
    this.place(state);
    // What takes its body in another way is not what this was sent to.
    if (state.endpoint !== endpoint && state.endpoint !== null) throw failures.placeChanged();
    state.caller = null;
    this.identify(state);
  }

  /** A request that has waited after it was judged is judged as of now, in the same way and with the same refusals:
   *  nobody does with its turn what it may not do any more. Null where nothing can have changed. */
  again(state: RequestState, context: RequestContext): Promise<void> | null {
    const half = this.whole(state);
    if (half !== null) return half.then(() => this.again(state, context) ?? undefined);
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
      this.answersNow(state);
      this.place(state);
      const isSame = state.found.isSamePlace(before);
      if (isSame) state.found = before; // its input is read already
      this.#identifyAgain(state, isSame);
      // Also where nobody is known: programs judge logins.
      await this.judge(state, context, clock.now());
      if (state.recalled) await mayRead(state, context);
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
    const { node } = this.#parts;
    if (node.drSecondary) {
      state.caller = null; // one of before it became one is nobody here
      this.identify(state);
      return;
    }
    if (state.caller === null) {
      // What was open to all may have given way to what needs a token, and to nobody else tells what it is.
      if (!isSame) this.identify(state);
      return;
    }
    const caller = node.sealed ? null : callerAgain(state, this.#parts);
    // The record of a refusal still names who it was.
    if (caller === null && needOf(state) === "required") throw nobodysToken(state);
    state.caller = caller;
  }

  /** ACL, then RGP and EGP. Null where nothing has to be waited for: rights that are worked out already, and no
   *  program, which is nearly every request. */
  judge(state: RequestState, context: RequestContext, now: Instant): Promise<void> | null {
    if (this.#parts.node.drSecondary) {
      this.#judgeOperation(state, now);
      authorise(state);
      return null;
    }
    const decision = this.#decide(state, context);
    if (decision instanceof Promise) return this.#judgeLater(state, context, now, decision);
    state.decision = decision;
    authorise(state);
    return this.govern(state, context, now);
  }

  async #judgeLater(
    state: RequestState,
    context: RequestContext,
    now: Instant,
    decision: Promise<Decision>,
  ): Promise<void> {
    state.decision = await decision;
    authorise(state);
    await this.govern(state, context, now);
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
  govern(state: RequestState, context: RequestContext, now: Instant): Promise<void> | null {
    const { caller, namespace, endpoint } = state;
    if (namespace === null) return null;
    if (caller === null && endpoint?.login !== true) return null;
    // No EGP reaches a ceremony, or a wrong one could lock everybody out.
    const path = endpoint?.access.kind === "ceremony" ? null : state.policyPath;
    const policies = this.#parts.governance.applying(caller, namespace, path);
    const none = !(policies instanceof Promise) && policies.length === 0;
    return none ? null : this.#judgeBy(state, context, now, policies);
  }

  async #judgeBy(
    state: RequestState,
    context: RequestContext,
    now: Instant,
    found: ReturnType<Governance["applying"]>,
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
    const input = programInput(request, governance);
    const judgement = await governance.judge(policies, { input, override: mayOverride });
    state.judgement = judgement;
    if (judgement.allowed) return;
    throw caller === null ? failures.denied() : failures.governed(judgement.denial);
  }
}

/** Before anybody looks at a token: there is none that would change it. */
function checkOnDrSecondary(
  { endpoint, namespace, route, restricted }: RequestState,
  isCopying: boolean,
): void {
  // Also by a refusal of its own: it is a path that this cluster has.
  const answers = route.methods
    .values()
    .some((one) => one.onDrSecondary || (one.refusedOnDrSecondary ?? null) !== null);
  if (restricted && answers) throw failures.restricted();
  const isThere = namespace !== null || endpoint?.everywhere === true;
  if (endpoint === null && answers && namespace !== null) throw failures.unsupportedOperation();
  const isOne = endpoint?.onDrSecondary === true && isThere;
  if (isCopying) {
    if (!isOne || isOtherKinds(endpoint.access)) throw failures.firstCopy();
  } else if (!isOne || isOfCopying(endpoint.access)) {
    throw endpoint?.refusedOnDrSecondary?.() ?? failures.drSecondary();
  }
}

/** Of disaster recovery alone, but for operation tokens: those run a first copy too. */
function isOtherKinds(access: Access): boolean {
  return (
    isOfDrSecondary(access) &&
    access.kind !== "ceremony" &&
    drOperationOf(access) !== "operation-token"
  );
}

/** Of this cluster alone: what tells how it is, what writes nothing that is shared, and mounts that are its own. */
function isOwn({ endpoint, mount }: RequestState): boolean {
  if (endpoint?.answers === "always" || endpoint?.onDrSecondary === true) return true;
  return mount === null ? endpoint?.isLocal === true : mount.local;
}

function nobodysToken({ endpoint }: RequestState): Failure {
  return endpoint?.unwraps === true ? wrappingInvalid() : failures.invalidToken();
}

/** Who recovers a path may also read it: what comes back is its content. */
export async function mayRead(
  { policyPath }: RequestState,
  context: RequestContext,
): Promise<void> {
  if (!(await context.may("read", policyPath))) throw failures.denied();
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
export function chosen(state: RequestState): Served | null {
  const { endpoint, route } = state;
  if (asksForHelp(state)) return null;
  if (endpoint !== null) return endpoint;
  throw route.methods.size > 0 ? failures.unsupportedOperation() : failures.unsupportedPath();
}

function isAlwaysServed({ route }: RequestState): boolean {
  return route.methods.values().some(({ answers }) => answers === "always");
}

export function asksForHelp({ meant, route, below }: RequestState): boolean {
  return meant?.operation === "help" && (route.methods.size > 0 || below.length > 0);
}

// --- placement ---

// Where in the cluster a request is answered: decided from its declaration and from what this node is to its
// cluster, before anybody looks at the token, counts the request or records it. All that belongs to the node
// that answers: it may know tokens, mounts and namespaces that this one has not heard of yet.

/** What a placement depends on. */
export type Placeable = Pick<RequestState, "endpoint" | "route"> & {
  readonly incoming: Pick<RequestState["incoming"], "wrapTtl">;
};

export function runsHere(role: NodeRole, request: Placeable): boolean {
  if (role === "active" || request.endpoint?.runs === "here") return true;
  return role === "performance-standby" && isPlainRead(request);
}

/** Whether what this node has followed so far is enough to answer, and nothing has to be written. */
function isPlainRead({ endpoint, route, incoming }: Placeable): boolean {
  if (incoming.wrapTtl !== null) return false;
  // Without an endpoint: help about a path that is known; what is not known may be there already.
  return endpoint === null ? route.methods.size > 0 : endpoint.runs === "anywhere";
}

/** Which secret is meant must be clear. */
function checkCredential({ credentialFault: fault = null }: Incoming): void {
  if (fault !== null) throw fault;
}
