// What a plugin answers to whoever has started it: each method by the instance that the call is for.

import { describe, OwnError } from "@holdfast/shared/failure";
import type { ClientSession } from "@holdfast/shared/grpc/client-session";
import { type Call, type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { Log } from "@holdfast/shared/log";
import type { Access } from "@holdfast/shared/endpoint/access";
import { EMPTY } from "@holdfast/shared/bytes";
import type { EngineType } from "../engine.ts";
import { backend, BackendType, NO_INSTANCE, version } from "../wire/backend.ts";
import { failureToWire } from "../wire/own-failure.ts";
import { mapOf, recordOf } from "../wire/own-caller.ts";
import { pluginService } from "../wire/plugin-service.ts";
import { MULTIPLEX_ID } from "../wire/processes.ts";
import { descriptionOf, whyNotChanged } from "./describe.ts";
import { unsupportedOperation } from "./failures.ts";
import { Instance, objectIn, setupError } from "./instance.ts";
import { processServices } from "./process-services.ts";

export interface ServicesParts<E> {
  readonly type: EngineType<E>;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** It is only asked what it is: nothing is opened. */
  readonly isProbed: boolean;
  /** The host's service of that number. */
  readonly reach: (id: number) => Promise<ClientSession>;
  /** Where a numbered service of the host is. */
  readonly announced: (id: number, address: string) => void;
  /** The host has let it go. */
  readonly leave: () => void;
}

export class Services<E> {
  readonly #parts: ServicesParts<E>;
  readonly #instances = new Map<string, Instance<E>>();
  readonly #opening = new Set<string>();

  constructor(parts: ServicesParts<E>) {
    this.#parts = parts;
  }

  async close(): Promise<void> {
    const instances = [...this.#instances.values()];
    this.#instances.clear();
    await Promise.all(instances.map((instance) => instance.close()));
  }

  all(): readonly Served<null>[] {
    return [...processServices(this.#parts), ...this.#ofBackend(), ...this.#ofOurs()];
  }

  #ofBackend(): readonly Served<null>[] {
    const { type } = this.#parts;
    return [
      serveUnary(backend.setup, async ({ brokerId }, call) => {
        try {
          if (!this.#parts.isProbed) await this.#setUp(idOf(call), brokerId);
          return { err: "" };
        } catch (error) {
          this.#parts.log.error("the engine could not be opened", { cause: describe(error) });
          return { err: setupError(error) };
        }
      }),
      serveUnary(backend.initialize, async (_, call) => ({ err: await this.#of(call).begin() })),
      serveUnary(backend.type, async () => ({ type: BackendType[type.kind] })),
      serveUnary(version.version, async () => ({ pluginVersion: type.version })),
      serveUnary(backend.specialPaths, async () => ({ paths: specialPaths(type) })),
      serveUnary(backend.handleRequest, async ({ request }, call) => {
        if (request === null) throw new StatusError(Status.invalidArgument, "there is no request");
        return await this.#of(call).answer(request, call.signal);
      }),
      serveUnary(backend.handleExistenceCheck, async ({ request }, call) => {
        if (request === null) throw new StatusError(Status.invalidArgument, "there is no request");
        return await this.#of(call).exists(request, call.signal);
      }),
      serveUnary(backend.invalidateKey, async ({ key }, call) => {
        this.#of(call).invalidate(key);
        return {};
      }),
      serveUnary(backend.cleanup, async (_, call) => {
        const instance = this.#instances.get(idOf(call));
        this.#instances.delete(idOf(call));
        await instance?.close();
        return {};
      }),
    ];
  }

  #ofOurs(): readonly Served<null>[] {
    const { type, log } = this.#parts;
    const failureOf = (error: unknown) => {
      const failure = failureToWire(error);
      if (failure.code === "internal") log.error("work failed", { cause: describe(error) });
      return failure;
    };
    const outcome = async (work: Promise<unknown>) => {
      try {
        await work;
        return { failure: null };
      } catch (error) {
        return { failure: failureOf(error) };
      }
    };
    /** Asynchronous throughout, so that whatever is thrown is an answer. */
    const does = (call: Call<null>, work: (engine: E) => unknown) =>
      outcome((async () => await work(this.#of(call).engine))());
    return [
      serveUnary(pluginService.describe, async ({ options, local }) => {
        try {
          return descriptionOf(type, recordOf(options), local);
        } catch (error) {
          const empty = pluginService.describe.response.decode(EMPTY);
          return { ...empty, failure: failureOf(error) };
        }
      }),
      serveUnary(pluginService.canChangeOptions, async ({ before, after, local }) => {
        try {
          const refusal = whyNotChanged(type, recordOf(before), recordOf(after), local);
          return { failure: null, refusal };
        } catch (error) {
          return { failure: failureOf(error), refusal: null };
        }
      }),
      serveUnary(pluginService.recovers, async ({ request, heldId }, call) => {
        try {
          if (request === null) throw unsupportedOperation();
          const reach = () => this.#parts.reach(heldId);
          const body = await this.#of(call).recovers(request, reach, call.signal);
          return { failure: null, body: body === null ? null : JSON.stringify(body) };
        } catch (error) {
          return { failure: failureOf(error), body: null };
        }
      }),
      serveUnary(pluginService.belongs, async ({ request }, call) => {
        try {
          if (request === null) throw unsupportedOperation();
          return { failure: null, belongs: await this.#of(call).belongs(request, call.signal) };
        } catch (error) {
          return { failure: failureOf(error), belongs: "" };
        }
      }),
      serveUnary(pluginService.undo, ({ id, kind, data, created }, call) =>
        does(call, (engine) => {
          const undo = type.undo?.[kind];
          if (undo === undefined) throw unsupportedOperation();
          return undo(engine, { id, kind, data: objectIn(data), created }, call.signal);
        }),
      ),
      serveUnary(pluginService.periodic, (_, call) =>
        does(call, (engine) => type.periodic?.(engine, call.signal)),
      ),
      serveUnary(pluginService.leave, (_, call) =>
        does(call, (engine) => type.leave?.(engine, call.signal)),
      ),
      serveUnary(pluginService.lead, ({ tookOverAt }, call) =>
        does(call, (engine) => type.lead?.(engine, { tookOverAt })),
      ),
      serveUnary(pluginService.rest, (_, call) => does(call, (engine) => type.rest?.(engine))),
      serveUnary(pluginService.renewLogin, async ({ owner, ...request }, call) => {
        try {
          const { engine } = this.#of(call);
          if (type.renewLogin === undefined) throw unsupportedOperation();
          const renewal = await type.renewLogin(engine, recordOf(owner), request);
          if (renewal === null) return { failure: null, renewal: null };
          const { ttl = null, maxTtl = null, period = null, owner: next } = renewal;
          const metadata = next === undefined ? null : { metadata: mapOf(next) };
          return { failure: null, renewal: { ttl, maxTtl, period, owner: metadata } };
        } catch (error) {
          return { failure: failureOf(error), renewal: null };
        }
      }),
      serveUnary(pluginService.abandoned, async (_, call) => {
        try {
          const text = (await type.abandoned?.(this.#of(call).engine)) ?? null;
          return { failure: null, text };
        } catch (error) {
          return { failure: failureOf(error), text: null };
        }
      }),
      serveUnary(pluginService.concerns, async (_, call) => ({
        concerns: type.concerns?.(this.#of(call).engine) ?? [],
      })),
      serveUnary(pluginService.takeUse, async ({ what }, call) => {
        try {
          const { engine } = this.#of(call);
          return { failure: null, taken: (await type.takeUse?.(engine, objectIn(what))) ?? false };
        } catch (error) {
          return { failure: failureOf(error), taken: false };
        }
      }),
    ];
  }

  async #setUp(id: string, brokerId: number): Promise<void> {
    if (this.#instances.has(id) || this.#opening.has(id)) {
      throw new OwnError("there is an instance of that name already");
    }
    this.#opening.add(id);
    try {
      const host = await this.#parts.reach(brokerId);
      try {
        this.#instances.set(id, await Instance.open(this.#parts, host));
      } catch (error) {
        host.destroy();
        throw error;
      }
    } finally {
      this.#opening.delete(id);
    }
  }

  #of(call: Call<null>): Instance<E> {
    const instance = this.#instances.get(idOf(call));
    if (instance === undefined) throw new StatusError(Status.internal, NO_INSTANCE);
    return instance;
  }
}

function idOf(call: Call<null>): string {
  return call.metadata(MULTIPLEX_ID) ?? "";
}

/** For hosts that know no more of it: of a mount with no options. */
function specialPaths<E>(type: EngineType<E>) {
  const endpoints = endpointsWithoutOptions(type);
  const pathsOf = (wanted: (access: Access) => boolean) => [
    ...new Set(endpoints.filter((one) => wanted(one.access)).map(({ path }) => patternOf(path))),
  ];
  return {
    root: pathsOf((access) => access.kind === "capability" && access.sudo),
    unauthenticated: pathsOf((access) => access.kind === "open"),
    localStorage: [],
    sealWrapStorage: [],
    writeForwardedStorage: [],
    binary: [],
    limited: [],
    allowSnapshotRead: [],
  };
}

function endpointsWithoutOptions<E>(type: EngineType<E>) {
  try {
    return type.paths(type.checkOptions({}));
  } catch {
    return []; // it needs some, and a host that gives them asks for its declarations
  }
}

/** As others write patterns. */
function patternOf(path: string): string {
  return path
    .slice(1)
    .replace(/:[^/]+\+$/, "*")
    .replaceAll(/:[^/]+/g, "+");
}
