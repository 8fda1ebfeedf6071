// The second half of the way of a request, from its record on: what was judged and recorded is done, here or where its writes belong, and
// its answer is made whole: with a lease, a token or a wrapping, and a record of its own.

import { invariant } from "@holdfast/shared/invariant";
import { SecretUngiven } from "@holdfast/shared/endpoint/lease";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { whoSends } from "@holdfast/shared/sliced";
import { OWN_WORK } from "@holdfast/shared/waiting";
import { READ_SNAPSHOT, type Served } from "@holdfast/shared/endpoint/endpoint";
import type { FairTurns } from "../base/fair-turns.ts";
import { helpInWords, helpFor, overviewOf } from "../endpoint/help.ts";
import type { ReadInput } from "@holdfast/shared/endpoint/input";
import { MEANING } from "@holdfast/shared/endpoint/operation";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { HandlerContext } from "./request-context.ts";
import { isWrittenElsewhere } from "@holdfast/shared/endpoint/failures";
import { chosen, type Judging } from "./judging.ts";
import type { Recording } from "./recording.ts";
import type { RequestState } from "./request-state.ts";
import type { PipelineParts, Witness } from "./seams.ts";
import type { SendingOn } from "./sending-on.ts";
import { isLarge, LARGE, TAKES_TURNS, type Turns, weightOf } from "./turns.ts";
import * as failures from "./failures.ts";

/** What a query may say to the server itself, beside the endpoint's own parameters. */
// Clients of the API that /acl/ has in common with another server send their own namespace along.
const CONTROL: ReadonlySet<string> = new Set([...MEANING, READ_SNAPSHOT]);
const ACL_CONTROL: ReadonlySet<string> = new Set([...CONTROL, "pretty", "namespace"]);

const NONE: readonly string[] = [];

/** What has taken longer since it was complete is looked at again before it begins. */
const LONG = 50n * MILLISECOND;

/** How often a write is judged by what is there, where others change that meanwhile. */
const MAX_TRIES = 3;

interface ServingParts {
  readonly parts: PipelineParts;
  readonly judging: Judging;
  readonly recording: Recording;
  readonly sendingOn: SendingOn;
  readonly turns: Turns;
  /** Between the steps of requests. */
  readonly steps: FairTurns;
}

export class Serving {
  readonly #parts: PipelineParts;
  readonly #judging: Judging;
  readonly #recording: Recording;
  readonly #sendingOn: SendingOn;
  readonly #turns: Turns;
  readonly #steps: FairTurns;

  constructor({ parts, judging, recording, sendingOn, turns, steps }: ServingParts) {
    this.#parts = parts;
    this.#judging = judging;
    this.#recording = recording;
    this.#sendingOn = sendingOn;
    this.#turns = turns;
    this.#steps = steps;
  }

  /** What was judged and recorded is done. */
  async serve(state: RequestState, context: HandlerContext): Promise<Reply> {
    if (state.passedOn) return await this.#servedThere(state, context);
    const large = state.bytes > LARGE;
    if (large || this.#steps.busy) await this.#steps.next(whoSends(context));
    if (large || this.#tookLong(state)) await this.#judging.again(state, context);
    const endpoint = chosen(state);
    if (endpoint === null) return await help(state, context);
    if (endpoint.bodyStream !== null) state.stream = state.incoming.stream(endpoint.bodyStream);
    const { input, warnings } = readInput(state);
    const looking = this.#sendingOn.to(state, endpoint, input, context);
    const primary = looking === null ? null : await looking;
    const answered =
      primary === null
        ? await this.#runOrSend(state, context, endpoint, { input, warnings })
        : await this.#sendingOn.send(state, primary, input, context);
    if (state.incoming.forwarded) await this.#sendingOn.after(state, endpoint, input, context);
    const bytes = isLarge(answered.data) ? weightOf(answered.data) : 0;
    if (bytes > 0) state.incoming.hold?.(bytes);
    const settling = this.#settle(state, context, answered); // lease or token; wrapping
    const reply = settling instanceof Promise ? await settling : settling;
    // Making, recording and sending it are three steps.
    if (bytes > 0 || this.#steps.busy) await this.#steps.next(whoSends(context));
    if (bytes > TAKES_TURNS) {
      await this.#turns.take(state, OWN_WORK, async () => this.#recording.response(state, reply));
    } else {
      const recording = this.#recording.response(state, reply);
      if (recording !== undefined) await recording;
    }
    if (bytes > 0) await this.#steps.next(whoSends(context));
    return reply;
  }

  /** What was taken for a plain read, and wants to write where another cluster does, has changed nothing: it goes there. */
  async #runOrSend(
    state: RequestState,
    context: HandlerContext,
    endpoint: Served,
    read: ReadInput,
  ): Promise<Reply> {
    try {
      return await this.#run(state, context, endpoint, read);
    } catch (error) {
      if (!isWrittenElsewhere(error)) throw error;
      return await this.#sendingOn.sendAfterAll(state, read.input, context, error);
    }
  }

  async #run(
    state: RequestState,
    context: HandlerContext,
    endpoint: Served,
    { input, warnings }: ReadInput,
  ): Promise<Reply> {
    const advice = advised(state, warnings);
    if (endpoint.issues) this.admitLease(state, context);
    const result = await this.#unlessRefused(
      context,
      endpoint.exists !== null
        ? this.#runAsJudged(state, context, input)
        : endpoint.fromSnapshot && state.snapshotId !== null
          ? this.#runAsOfThen(state, context, input)
          : endpoint.run(input, context),
    );
    return withWarnings(passed(state, result), advice);
  }

  /** Nothing is left outside of an answer that nobody gets. */
  async #unlessRefused(context: RequestContext, running: unknown): Promise<unknown> {
    try {
      return await running;
    } catch (error) {
      if (!(error instanceof SecretUngiven)) throw error;
      await this.#parts.leases.end(error.offer, context);
      throw error.cause;
    }
  }

  /** Wrapped here, where it was asked: a wrapping of another region can be unwrapped there alone. */
  async #servedThere(state: RequestState, context: RequestContext): Promise<Reply> {
    const reply = await this.#settle(state, context, await this.#sendingOn.pass(state));
    const recording = this.#recording.response(state, reply);
    if (recording !== undefined) await recording;
    return reply;
  }

  witnessed(witness: Witness, state: RequestState, context: HandlerContext): Promise<Reply> {
    const endpoint = state.passedOn ? null : chosen(state);
    const serve = () => this.serve(state, context);
    if (endpoint === null) return serve();
    const belongs = () => endpoint.belongs?.(readInput(state).input, context) ?? null;
    return witness({ endpoint, belongs }, serve);
  }

  /** Whatever kept it: its record, rights that had to be worked out, a device that is slow. */
  #tookLong({ complete }: RequestState): boolean {
    return this.#parts.clock.now() - complete > LONG;
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
        await this.#judging.judge(state, context, this.#parts.clock.now());
      } finally {
        this.#recording.judgedAgain(state);
      }
    }
  }

  /** By the room as a loaded snapshot has it; who may ask was decided as for the data of today. */
  #runAsOfThen(
    { endpoint, namespace, mount, snapshotId }: RequestState,
    context: RequestContext,
    input: ReadInput["input"],
  ): Promise<unknown> {
    invariant(endpoint !== null && namespace !== null && snapshotId !== null, "it was admitted");
    return this.#parts.loaded.use(snapshotId, { namespace, mount, endpoint }, async (room) =>
      endpoint.runIn(room, input, context),
    );
  }

  /** Of a token that ends with this request nothing would be left of a lease but the answer. */
  admitLease({ spent }: RequestState, context: RequestContext): void {
    if (spent !== null) throw failures.lastUse();
    this.#parts.leases.admit(context); // lease-count quotas
  }

  /** What the handler leaves to the server: the lease of a secret, the token of a login, and whether
   *  the answer goes to the caller or into a wrapping. */
  #settle(state: RequestState, context: RequestContext, answered: Reply): Promise<Reply> | Reply {
    const { lease, login } = answered;
    const isPlain = lease === null && login === null && state.incoming.wrapTtl === null;
    return isPlain ? answered : this.#settleAll(state, context, answered);
  }

  async #settleAll(state: RequestState, context: RequestContext, answered: Reply): Promise<Reply> {
    const { leases, logins, wrapping } = this.#parts;
    let reply = answered;
    const { wrapTtl } = state.incoming;
    if (reply.lease !== null) reply = reply.with(await leases.issue(reply.lease, context));
    if (reply.login !== null) {
      if (wrapTtl !== null) wrapping.admitLogin(logins.originOf(reply.login, context), context);
      reply = reply.with(await logins.login(reply.login, context));
    }
    if (wrapTtl === null || reply.wrapInfo !== null || !isWrappable(state, reply)) return reply;
    if (state.incoming.forwarded?.wrapsItself === true) return reply;
    const { headers, index } = reply;
    const inside = await wrapping.wrap(reply, wrapTtl, context);
    const wrapped = new Reply(undefined, inside);
    // Where the next page begins, and as of when: the headers of the ACL API hold nothing to be kept.
    const seen = index === null ? { headers } : { headers, index };
    return state.endpoint?.family === "acl" ? wrapped.with(seen) : wrapped;
  }

  /** Whoever asks for a wrapping never gets the secret itself: it is kept, or nothing is done. */
  admitWrapping(
    { incoming, meant }: RequestState,
    context: RequestContext,
    endpoint: Served | null,
  ): void {
    const { wrapTtl } = incoming;
    if (wrapTtl === null || meant?.headOnly === true) return;
    if (incoming.forwarded?.wrapsItself === true) return;
    // Shares of keys are written down nowhere, whatever the answer looks like.
    const kept = endpoint?.family !== "bare" && endpoint?.access.kind !== "ceremony";
    if (endpoint === null || !kept || this.#parts.node.drSecondary) throw failures.notWrapped();
    // It would be kept for longer than its maker was let, and count for a token that ends with this.
    if (endpoint.unwraps) throw failures.wrappedAlready();
    this.#parts.wrapping.admit(wrapTtl, context);
  }
}

/** The values as the handler takes them: those that were judged. */
function readInput(state: RequestState): ReadInput {
  const { input, isAcl } = state;
  invariant(input !== null, "whatever runs is declared");
  const read = input.read(isAcl ? ACL_CONTROL : CONTROL);
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

/** Names of policies are not for callers that nobody knows. */
function advised(
  { caller, judgement, advice }: RequestState,
  warnings: readonly string[],
): readonly string[] {
  if (advice.length > 0) return [...warnings, ...advice];
  if (caller === null || judgement === null) return warnings;
  return [...warnings, ...judgement.warnings];
}

async function help({ route, below, path }: RequestState, context: RequestContext): Promise<Reply> {
  const { methods } = route;
  if (methods.size === 0) {
    return new Reply({ ...overviewOf(path?.segments.join("/") ?? "", below) });
  }
  for (const { help: ask } of methods.values()) {
    const known = ask === null ? null : await ask(context);
    if (known !== null) return new Reply({ ...helpInWords(known) });
  }
  return new Reply({ ...helpFor([...methods.values()]) });
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
