// Plugins of our own SDK: what they declare makes their mounts like those of built-in engines, and what a built-in engine is given
// they reach by calls.

import { createHash } from "node:crypto";
import { describe } from "@holdfast/shared/failure";
import { callUnary, type Channel, type Served, serviceTable } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { Belonging } from "@holdfast/shared/endpoint/endpoint";
import { isWrittenElsewhere } from "@holdfast/shared/endpoint/failures";
import { SecretUngiven } from "@holdfast/shared/endpoint/lease";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineOptions, Leading, SecretType } from "@holdfast/plugin-sdk/engine";
import type { Concern, ConcernKind } from "@holdfast/plugin-sdk/concern";
import type { MetricDeclarations } from "@holdfast/plugin-sdk/metrics";
import { backend } from "@holdfast/plugin-sdk/wire/backend";
import type { WireRequest, WireResponse } from "@holdfast/plugin-sdk/wire/backend-messages";
import { mapOf, recordOf } from "@holdfast/plugin-sdk/wire/own-caller";
import type { WireFailure } from "@holdfast/plugin-sdk/wire/own-failure";
import {
  type DescribedEndpoint,
  type Description,
  type Doing,
  pluginService,
} from "@holdfast/plugin-sdk/wire/plugin-service";
import type { ForeignCall, ForeignEngine, OwnPlugin, OwnSdk } from "../ports.ts";
import {
  bodyOf,
  ownLease,
  refusalIn,
  refusalOf,
  renewalOf,
  replyOf,
  ungivenIn,
} from "./answers.ts";
import { endpointsOf, type Handling } from "./api-described.ts";
import { FactsFeed } from "./facts-feed.ts";
import { timesProblem } from "../told-logins.ts";
import { answerBroken, declarationRefused, optionsRefused } from "./failures.ts";
import { hostServices } from "./host-services.ts";
import { declaredMetrics } from "./metrics.ts";
import { type Input, leaseRequest, type Operation, ownRequest } from "./requests.ts";
import { Transactions } from "./transactions.ts";
import { UnderWay } from "./under-way.ts";

const DESCRIBED_WITHIN: Nanos = 15n * SECOND;
/** Of work that nobody waits for with a time of its own. */
const WORK_WITHIN: Nanos = MINUTE;
const MAX_NAMED = 100;
const MAX_TRIES = 3;
const WORD = /^[\w.-]{1,64}$/;
const CONCERNS: readonly ConcernKind[] = ["rotation-failed", "rotation-overdue", "origin-locked"];

export interface OwnSdkParts {
  /** Whether the data of the mount stays in its cluster. */
  readonly isLocal: (mountUuid: string) => boolean;
  /** Of an answer, in characters. */
  readonly maxAnswer: number;
  /** What it counts from here on. Default: nothing is counted. */
  readonly declare?: (type: string, metrics: MetricDeclarations) => void;
}

/** What is known of one opened engine, as long as it is open. */
interface Around {
  readonly facts: FactsFeed;
  readonly underWay: UnderWay;
  /** As it was told last: whoever asks does not wait. */
  concerns: readonly Concern[];
  /** That it was told to lead. */
  leading: Leading | null;
}

export function ownSdk(parts: OwnSdkParts): OwnSdk {
  return new Own(parts);
}

class Own implements OwnSdk, Handling {
  readonly #parts: OwnSdkParts;
  readonly #around = new WeakMap<ForeignEngine, Around>();
  readonly #plugins = new Map<string, OwnPlugin>();

  constructor(parts: OwnSdkParts) {
    this.#parts = parts;
  }

  services(engine: ForeignEngine, isReady: () => boolean): readonly Served<null>[] {
    const { needs } = engine;
    const { facts, underWay } = this.#of(engine);
    const undoes = (kind: string) => Object.hasOwn(engine.own?.type.undo ?? {}, kind);
    const transactions = new Transactions({ needs, isReady, undoes });
    return hostServices({ needs, isReady, undoes, facts, transactions, underWay });
  }

  async describe(
    engine: ForeignEngine,
    channel: Channel,
    signal: AbortSignal,
  ): Promise<OwnPlugin | null> {
    const { needs, name } = engine;
    const local = this.#parts.isLocal(needs.mount.uuid);
    const request = { options: mapOf(needs.options), local };
    let said: Description;
    try {
      const how = { signal, timeout: DESCRIBED_WITHIN };
      said = await callUnary(channel, pluginService.describe, request, how);
    } catch (error) {
      const isUnknown = error instanceof StatusError && error.status === Status.unimplemented;
      if (isUnknown && error.isSaid) return null;
      throw error;
    }
    if (said.failure !== null) throw optionsRefused(refusalOf(said.failure, name));
    const own = this.#known(engine, said);
    // It is another instance: what the one before was told, it is told as well, when it is ready.
    const { leading } = this.#of(engine);
    if (leading !== null) own.type.lead?.(engine, leading);
    return own;
  }

  // --- requests ---

  async answer(
    engine: ForeignEngine,
    endpoint: DescribedEndpoint,
    input: Input,
    context: EngineRequest,
  ): Promise<Reply> {
    const judged = await operationOf(endpoint, context);
    return await this.#during(engine, context, async (number, factsVersion) => {
      const call = (operation: Operation) =>
        this.#handle(
          engine,
          ownRequest({ operation, endpoint, input, number, factsVersion }, context),
          { signal: context.signal },
        );
      let response = await call(judged);
      for (let tries = 1; typeof response === "boolean"; tries++) {
        // Where it was judged as the other of the two, this has it judged again.
        context.confirmExists(response);
        if (tries > MAX_TRIES) throw answerBroken(engine.name, "finds something else each time");
        response = await call(response ? "update" : "create");
      }
      try {
        const reply = await replyOf(response, {
          name: engine.name,
          maxBytes: this.#parts.maxAnswer,
          turn: () => engine.needs.timers.turn(),
        });
        const mayIssue = endpoint.issues || this.#of(engine).underWay.mayIssue(number);
        checkOffers(engine, { ...endpoint, issues: mayIssue }, reply);
        return reply;
      } catch (error) {
        const offer = ungivenIn(response, Object.keys(engine.own?.type.secrets ?? {}));
        throw offer === null ? error : new SecretUngiven(offer, error);
      }
    });
  }

  async exists(
    engine: ForeignEngine,
    endpoint: DescribedEndpoint,
    context: EngineRequest,
  ): Promise<boolean> {
    return await this.#during(engine, context, async (number, factsVersion) => {
      const parts = { operation: "update", endpoint, input: {}, number, factsVersion } as const;
      const request = ownRequest(parts, context);
      const { checkFound, exists, err } = await engine.call(
        backend.handleExistenceCheck,
        { storageId: 0, request },
        { signal: context.signal },
      );
      if (err !== null) throw refusalIn(err, engine.name);
      return checkFound ? exists : true;
    });
  }

  async belongs(
    engine: ForeignEngine,
    endpoint: DescribedEndpoint,
    input: Input,
    context: EngineRequest,
  ): Promise<Belonging> {
    const operation = await operationOf(endpoint, context);
    return await this.#during(engine, context, async (number, factsVersion) => {
      const request = ownRequest({ operation, endpoint, input, number, factsVersion }, context);
      const { failure, belongs } = await engine.call(
        pluginService.belongs,
        { storageId: 0, request },
        { signal: context.signal },
      );
      if (failure !== null) throw refusalOf(failure, engine.name);
      if (belongs !== "shared" && belongs !== "local") {
        throw answerBroken(engine.name, "does not say where what it writes belongs");
      }
      return belongs;
    });
  }

  /** In the process of the mount as it is now, which opens another engine for it over what the mount had stored then. */
  async recovers(
    { held, now }: { readonly held: ForeignEngine; readonly now: ForeignEngine },
    endpoint: DescribedEndpoint,
    context: EngineRequest,
  ): Promise<JsonObject | null> {
    return await this.#during(now, context, async (number, factsVersion) => {
      const parts = { operation: "update", endpoint, input: {}, number, factsVersion } as const;
      const request = ownRequest(parts, context);
      const { failure, body } = await now.callOffering(
        serviceTable(this.services(held, () => false)),
        pluginService.recovers,
        (heldId) => ({ request, heldId }),
        { signal: context.signal },
      );
      if (failure !== null) throw refusalOf(failure, now.name);
      if (body === null) return null;
      const turn = () => now.needs.timers.turn();
      return await bodyOf(body, { name: now.name, maxBytes: this.#parts.maxAnswer, turn });
    });
  }

  #during<T>(
    engine: ForeignEngine,
    context: EngineRequest,
    work: (number: bigint, factsVersion: bigint) => Promise<T>,
  ): Promise<T> {
    const { facts, underWay } = this.#of(engine);
    const version = facts.look();
    return underWay.during(context, (number) => work(number, version));
  }

  /** What it answers; or whether what a write names is there, where it was asked as the other of the two. */
  async #handle(
    engine: ForeignEngine,
    request: WireRequest,
    how: ForeignCall,
  ): Promise<WireResponse | boolean> {
    const { response, err } = await engine.call(
      backend.handleRequest,
      { storageId: 0, request },
      how,
    );
    const found = err?.own?.found ?? null;
    if (found !== null) return found;
    if (err !== null) throw this.#elsewhere(engine, refusalIn(err, engine.name));
    if (response === null) throw answerBroken(engine.name, "answered with nothing");
    return response;
  }

  /** Work on what it has given. */
  async #work(
    engine: ForeignEngine,
    request: WireRequest,
    how: ForeignCall,
  ): Promise<WireResponse> {
    const answer = await this.#handle(engine, request, how);
    if (typeof answer === "boolean") throw answerBroken(engine.name, "answered with nothing");
    return answer;
  }

  /** That another cluster writes what the mount keeps is not for a plugin to say. */
  #elsewhere({ needs, name }: ForeignEngine, failure: Failure): Failure {
    const isSo = needs.storage.writtenElsewhere === true;
    return isWrittenElsewhere(failure) && !isSo
      ? answerBroken(name, "says that another region writes what it keeps")
      : failure;
  }

  // --- what it is ---

  /** Mounts of the same declarations share them, with all that is made of them: what they do is given the engine that it is for. */
  #known(engine: ForeignEngine, said: Description): OwnPlugin {
    const { name, kind } = engine;
    const bytes = pluginService.describe.response.encode(said);
    const key = `${kind} ${name} ${createHash("sha256").update(bytes).digest("hex")}`;
    let plugin = this.#plugins.get(key);
    if (plugin === undefined) {
      plugin = this.#plugin(engine, said);
      const [oldest] = this.#plugins.keys();
      if (this.#plugins.size >= MAX_NAMED && oldest !== undefined) this.#plugins.delete(oldest);
      this.#plugins.set(key, plugin);
    }
    return plugin;
  }

  #plugin(engine: ForeignEngine, said: Description): OwnPlugin {
    const { name, kind } = engine;
    if (said.kind !== kind) throw declarationRefused(name, `it is no ${kind} engine`);
    const named = [...said.undoes, ...said.secrets.map(({ name: secret }) => secret)];
    if (named.length > MAX_NAMED || !named.every((word) => WORD.test(word))) {
      throw declarationRefused(name, "its secrets and what it undoes have names that are words");
    }
    const metrics = declaredMetrics(name, said.metrics);
    this.#declare(engine, metrics);
    const does = new Set(said.does);
    const if_ = <T>(doing: Doing, work: T): T | Record<never, never> =>
      does.has(doing) ? work : {};
    return {
      options: recordOf(said.options),
      endpoints: endpointsOf({ name, kind }, said.endpoints, this),
      type: {
        metrics,
        secrets: Object.fromEntries(
          said.secrets.map(({ name: secret, renews, hasReceipt }) => [
            secret,
            this.#secret(renews, hasReceipt),
          ]),
        ),
        ...(said.minUndoAge !== null && said.minUndoAge > 0n
          ? { minUndoAge: said.minUndoAge }
          : {}),
        ...(said.jobDeadline !== null && said.jobDeadline > 0n
          ? { jobDeadline: said.jobDeadline }
          : {}),
        undo: Object.fromEntries(
          said.undoes.map((undone) => [
            undone,
            async (one: ForeignEngine, record, signal: AbortSignal) => {
              const { id, data, created } = record;
              const sent = { id, kind: undone, data: JSON.stringify(data), created };
              check(one, await one.call(pluginService.undo, sent, { signal }));
            },
          ]),
        ) as OwnPlugin["type"]["undo"] & {},
        invalidate: (one, keys) => void this.#invalidate(one, keys),
        mayChangeOptions: (one, before, after) => this.#mayChangeOptions(one, before, after),
        ...if_("periodic", {
          periodic: async (one: ForeignEngine, signal: AbortSignal) =>
            check(one, await one.call(pluginService.periodic, {}, { signal })),
        }),
        ...if_("leave", {
          leave: async (one: ForeignEngine, signal: AbortSignal) =>
            check(one, await one.call(pluginService.leave, {}, { signal })),
        }),
        ...if_("lead", {
          lead: (one: ForeignEngine, leading: Leading) => {
            this.#of(one).leading = leading;
            const { tookOverAt } = leading;
            void this.#alone(one, async () =>
              check(one, await one.call(pluginService.lead, { tookOverAt }, BOUNDED)),
            );
          },
        }),
        ...if_("rest", {
          rest: async (one: ForeignEngine) => {
            this.#of(one).leading = null;
            check(one, await one.call(pluginService.rest, {}, BOUNDED));
          },
        }),
        ...if_("renewLogin", {
          renewLogin: ((one, owner, request) => renewedLogin(one, owner, request)) as NonNullable<
            OwnPlugin["type"]["renewLogin"]
          >,
        }),
        ...if_("abandoned", {
          abandoned: async (one: ForeignEngine) => {
            const { failure, text } = await one.call(pluginService.abandoned, {}, BOUNDED);
            check(one, { failure });
            return text;
          },
        }),
        ...if_("concerns", { concerns: (one: ForeignEngine) => this.#concerns(one) }),
        ...if_("takeUse", {
          takeUse: (async (one, what) => {
            const sent = { what: JSON.stringify(what) };
            const { failure, taken } = await one.call(pluginService.takeUse, sent, BOUNDED);
            check(one, { failure });
            return taken;
          }) as NonNullable<OwnPlugin["type"]["takeUse"]>,
        }),
      },
    };
  }

  async #mayChangeOptions(
    engine: ForeignEngine,
    before: EngineOptions,
    after: EngineOptions,
  ): Promise<string | null> {
    const local = this.#parts.isLocal(engine.needs.mount.uuid);
    const sent = { before: mapOf(before), after: mapOf(after), local };
    const { failure, refusal } = await engine.call(pluginService.canChangeOptions, sent, BOUNDED);
    if (failure !== null) throw optionsRefused(refusalOf(failure, engine.name));
    return refusal;
  }

  /** A number of the server's own is not a plugin's to declare again. */
  #declare({ needs, name }: ForeignEngine, metrics: MetricDeclarations): void {
    try {
      this.#parts.declare?.(name, metrics);
    } catch (error) {
      needs.log.warn("what a plugin declares to count is not counted", {
        plugin: name,
        cause: describe(error),
      });
    }
  }

  #secret(renews: boolean, hasReceipt: boolean): SecretType<ForeignEngine> {
    return {
      renew: renews
        ? async (engine, lease, increment) => {
            const request = leaseRequest("renew", lease, ownLease(lease.internal), increment ?? 0n);
            return renewalOf(await this.#work(engine, request, BOUNDED));
          }
        : null,
      revoke: async (engine, lease, signal) => {
        const request = leaseRequest("revoke", lease, ownLease(lease.internal), 0n);
        const { own } = await this.#work(engine, request, { signal });
        return { requestIds: own?.requestIds ?? [] };
      },
      ...(hasReceipt ? { receipt: (lease) => ownLease(lease.internal).receipt ?? {} } : {}),
    };
  }

  async #invalidate(engine: ForeignEngine, keys: readonly string[]): Promise<void> {
    await this.#alone(engine, async () => {
      for (const key of keys) await engine.call(backend.invalidateKey, { key }, BOUNDED);
    });
  }

  #concerns(engine: ForeignEngine): readonly Concern[] {
    const around = this.#of(engine);
    void this.#alone(engine, async () => {
      const { concerns } = await engine.call(pluginService.concerns, {}, BOUNDED);
      around.concerns = concerns.slice(0, MAX_NAMED).flatMap(({ kind, place, count }) => {
        const known = CONCERNS.find((one) => one === kind);
        return known === undefined ? [] : [{ kind: known, place: place.slice(0, 1024), count }];
      });
    });
    return around.concerns;
  }

  /** What nobody waits for. */
  async #alone({ needs, name }: ForeignEngine, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      needs.log.warn("a plugin did not do what it was told", {
        plugin: name,
        cause: describe(error),
      });
    }
  }

  #of(engine: ForeignEngine): Around {
    let around = this.#around.get(engine);
    if (around === undefined) {
      const { uuid } = engine.needs.mount;
      const facts = new FactsFeed(engine.needs, () => this.#parts.isLocal(uuid));
      this.#around.set(
        engine,
        (around = { facts, underWay: new UnderWay(), concerns: [], leading: null }),
      );
    }
    return around;
  }
}

const BOUNDED = { timeout: WORK_WITHIN } as const;

function check(
  { name }: ForeignEngine,
  { failure }: { readonly failure: WireFailure | null },
): void {
  if (failure !== null) throw refusalOf(failure, name);
}

async function renewedLogin(
  engine: ForeignEngine,
  owner: Readonly<Record<string, string>>,
  {
    increment,
    issued,
    policies,
  }: { increment: Nanos | null; issued: bigint; policies: readonly string[] },
) {
  const sent = { owner: mapOf(owner), increment, issued, policies };
  const { failure, renewal } = await engine.call(pluginService.renewLogin, sent, BOUNDED);
  check(engine, { failure });
  if (renewal === null) return null;
  const { ttl, maxTtl, period, owner: next } = renewal;
  const times = { ttl: ttl ?? 0n, maxTtl: maxTtl ?? 0n, period: period ?? 0n };
  const problem = timesProblem({ ...times, explicitMaxTtl: 0n });
  if (problem !== null) {
    throw answerBroken(engine.name, `answered the renewal of a login ${problem}`);
  }
  return {
    ...(ttl === null ? {} : { ttl }),
    ...(maxTtl === null ? {} : { maxTtl }),
    ...(period === null ? {} : { period }),
    ...(next === null ? {} : { owner: recordOf(next.metadata) }),
  };
}

async function operationOf(
  { method, looksWhetherItExists }: DescribedEndpoint,
  context: EngineRequest,
): Promise<Operation> {
  switch (method) {
    case "GET":
      return "read";
    case "LIST":
      return "list";
    case "PATCH":
      return "patch";
    case "DELETE":
      return "delete";
    default:
      return looksWhetherItExists && (await context.creates()) ? "create" : "update";
  }
}

/** What it may give is what it has declared: quotas were looked at by that, beforehand. */
function checkOffers(
  { name, kind, own }: ForeignEngine,
  endpoint: DescribedEndpoint,
  { lease, login }: Reply,
): void {
  if (lease !== null) {
    if (!endpoint.issues) throw answerBroken(name, "gave a secret where it declares none");
    if (!Object.hasOwn(own?.type.secrets ?? {}, lease.secretType)) {
      throw answerBroken(name, "gave a secret of a kind that it does not declare");
    }
  }
  if (login !== null && (kind !== "auth" || !endpoint.login)) {
    throw answerBroken(name, "answered with a login where it declares none");
  }
}
