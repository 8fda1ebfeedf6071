// One engine in a plugin's process: that of one mount, with its own connection to the host.

import { describe, explain, Failure } from "@holdfast/shared/failure";
import type { ClientSession } from "@holdfast/shared/grpc/client-session";
import type { Log } from "@holdfast/shared/log";
import { readJson } from "@holdfast/shared/json/json-reader";
import { utf8 } from "@holdfast/shared/bytes";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { EngineNeeds, EngineType, LeaseFacts } from "../engine.ts";
import type { MessageOf } from "@holdfast/shared/grpc/message";
import type {
  handleRequestReply,
  ProtoError,
  WireRequest,
  WireResponse,
} from "../wire/backend-messages.ts";
import { hostService } from "../wire/host-service.ts";
import { PLUGIN_JSON } from "../wire/limits.ts";
import { RoutedEngine } from "./routed-engine.ts";
import { errorOf, type KeptWithLease, renewedOf, responseOf, revokedOf } from "./answered.ts";
import { needsTransactions, unknownSecret, unsupportedOperation } from "./failures.ts";
import { HeldFacts } from "./held-facts.ts";
import { NO_SERVICES } from "../engine-services.ts";
import { askHost, type HostCalls, hostCalls } from "./host-calls.ts";
import { clock, random, timers } from "./own-world.ts";
import { RemoteStorage } from "../remote/remote-storage.ts";

export interface InstanceParts<E> {
  readonly type: EngineType<E>;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Answered = MessageOf<typeof handleRequestReply>;

export class Instance<E> {
  readonly #parts: InstanceParts<E>;
  readonly #host: ClientSession;
  readonly #facts: HeldFacts;
  readonly #calls: HostCalls;
  readonly #engine: { readonly value: E; readonly routed: RoutedEngine<E> } | null;
  /** Why there is no engine. */
  readonly #refusal: Failure | null;

  private constructor(
    parts: InstanceParts<E>,
    opened: {
      readonly host: ClientSession;
      readonly facts: HeldFacts;
      readonly calls: HostCalls;
      readonly engine: { readonly value: E; readonly routed: RoutedEngine<E> } | null;
      readonly refusal: Failure | null;
    },
  ) {
    this.#parts = parts;
    this.#host = opened.host;
    this.#facts = opened.facts;
    this.#calls = opened.calls;
    this.#engine = opened.engine;
    this.#refusal = opened.refusal;
  }

  /** Options that are refused are no reason to have no instance: whoever asks what it is is told. */
  static async open<E>(parts: InstanceParts<E>, host: ClientSession): Promise<Instance<E>> {
    const facts = await HeldFacts.begin(host);
    if (facts === null) throw needsTransactions();
    const storageFor = (local: boolean) =>
      new RemoteStorage({
        transact: (transaction) => askHost(host, hostService.transact, transaction),
        clock,
        random,
        local,
        writtenElsewhere: () => !local && facts.now.writtenElsewhere,
      });
    const storage = storageFor(false);
    const calls = hostCalls(host, storage);
    const { outbound, leases, identity, uses, metrics, writeAhead } = calls;
    try {
      const options = checked(parts.type, facts);
      if (options instanceof Failure) {
        return new Instance(parts, { host, facts, calls, engine: null, refusal: options });
      }
      const needs: EngineNeeds = {
        outbound,
        leases,
        identity,
        uses,
        metrics,
        databases: NO_SERVICES.databases, // plugins use none
        environment: (name) => parts.environment[name] || null,
        settings: facts.settings,
        storage,
        localStorage: storageFor(true),
        writeAhead,
        clock,
        timers,
        random,
        log: parts.log,
        mount: facts.mount(),
        options,
      };
      const value = await parts.type.open(needs);
      const routed = new RoutedEngine({ type: parts.type, engine: value, needs, host });
      return new Instance(parts, {
        host,
        facts,
        calls,
        engine: { value, routed },
        refusal: null,
      });
    } catch (error) {
      facts.close();
      throw error;
    }
  }

  /** The engine, for what is asked of it besides requests. */
  get engine(): E {
    return this.#opened.value;
  }

  get #opened() {
    if (this.#engine === null) throw this.#refusal ?? unsupportedOperation();
    return this.#engine;
  }

  async begin(): Promise<ProtoError | null> {
    try {
      await this.#parts.type.begin?.(this.engine);
      return null;
    } catch (error) {
      return errorOf(error, this.#parts.log);
    }
  }

  async answer(request: WireRequest, signal: AbortSignal): Promise<Answered> {
    try {
      await this.#facts.atLeast(request.own?.factsVersion ?? 0n);
      return { response: await this.#respond(request, signal), err: null, walIndex: null };
    } catch (error) {
      return { response: null, err: errorOf(error, this.#parts.log), walIndex: null };
    }
  }

  async exists(request: WireRequest, signal: AbortSignal) {
    try {
      await this.#facts.atLeast(request.own?.factsVersion ?? 0n);
      const found = await this.#opened.routed.exists(request, signal);
      return { checkFound: found !== null, exists: found ?? false, err: null };
    } catch (error) {
      return { checkFound: false, exists: false, err: errorOf(error, this.#parts.log) };
    }
  }

  belongs(request: WireRequest, signal: AbortSignal): Promise<string> {
    return this.#opened.routed.belongs(request, signal);
  }

  /** `reach`: what is served over what the mount had stored then. */
  async recovers(
    request: WireRequest,
    reach: () => Promise<ClientSession>,
    signal: AbortSignal,
  ): Promise<JsonObject | null> {
    await this.#facts.atLeast(request.own?.factsVersion ?? 0n);
    const { routed } = this.#opened;
    const host = await reach();
    let held: Instance<E>;
    try {
      held = await Instance.open(this.#parts, host);
    } catch (error) {
      host.destroy();
      throw error;
    }
    try {
      return await routed.recovers(request, held.engine, signal);
    } finally {
      await held.close();
    }
  }

  invalidate(key: string): void {
    this.#parts.type.invalidate?.(this.engine, [key]);
  }

  async close(): Promise<void> {
    const { type, log } = this.#parts;
    try {
      if (this.#engine !== null) await type.close?.(this.#engine.value);
    } catch (error) {
      log.error("the engine did not close well", { cause: describe(error) });
    }
    this.#calls.close();
    this.#facts.close();
    this.#host.drain();
  }

  async #respond(request: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    const { type } = this.#parts;
    const { value, routed } = this.#opened;
    const { operation } = request;
    if (operation === "renew" || operation === "revoke") {
      const kept = keptOf(request);
      const secret = type.secrets?.[kept.secret_type];
      if (secret === undefined) throw unknownSecret();
      const lease = leaseOf(request, kept);
      if (operation === "revoke") {
        const revoked = await secret.revoke(value, lease, signal);
        return revokedOf(revoked?.requestIds ?? []);
      }
      if (secret.renew === null) throw unsupportedOperation();
      const increment = request.secret?.leaseOptions?.increment ?? 0n;
      const renewal = await secret.renew(value, lease, increment > 0n ? increment : null);
      return renewedOf(type, kept, renewal);
    }
    return responseOf(await routed.answer(request, signal), type);
  }
}

function checked<E>(
  type: EngineType<E>,
  facts: HeldFacts,
): Readonly<Record<string, string>> | Failure {
  try {
    return type.checkOptions(facts.options, { local: facts.now.local });
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function keptOf({ secret }: WireRequest): KeptWithLease {
  const kept = readJson(utf8(secret?.internalData ?? ""), PLUGIN_JSON);
  const { secret_type: secretType, internal } = kept;
  if (typeof secretType !== "string" || !isObject(internal)) throw unknownSecret();
  return { secret_type: secretType, internal };
}

function leaseOf({ secret }: WireRequest, { internal }: KeptWithLease): LeaseFacts {
  const { issueTime = null, ttl = 0n } = secret?.leaseOptions ?? {};
  const issued = issueTime ?? 0n;
  return { leaseId: secret?.leaseId ?? "", internal, issued, expires: issued + ttl };
}

/** What a host is told of why a mount has no engine: in words alone. */
export function setupError(error: unknown): string {
  return error instanceof Failure ? error.message : explain(error);
}

export function objectIn(text: string): JsonObject {
  return text === "" ? {} : readJson(utf8(text), PLUGIN_JSON);
}
