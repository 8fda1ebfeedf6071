// An engine on its own, for its tests, without a server: opened over storage in memory, in a world whose time
// a test drives, and asked through its declarations as the server asks it. What is around it are fakes, which
// remember what they were asked for.

import { ownPace } from "@holdfast/shared/sliced";
import { OWN_WORK } from "@holdfast/shared/waiting";
import { serveMounted } from "@holdfast/shared/endpoint/endpoint";
import { RequestInput } from "@holdfast/shared/endpoint/input";
import { MEANING, meaningOf } from "@holdfast/shared/endpoint/operation";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  type Caller,
  type EngineRequest,
  type MountRef,
  type RequestContext,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { namedValues, Router } from "@holdfast/shared/endpoint/router";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { HOUR } from "@holdfast/shared/text/duration";
import { type EngineServices, NO_SERVICES } from "../engine-services.ts";
import type { EngineNeeds, EngineOptions, EngineType } from "../engine.ts";
import type { EngineMetrics, MetricDeclarations } from "../metrics.ts";
import { DrivenWorld } from "./driven-world.ts";
import { MemoryStorage } from "./memory-storage.ts";

export { DrivenWorld } from "./driven-world.ts";
export { MemoryStorage } from "./memory-storage.ts";

export interface OpenOptions {
  readonly options?: EngineOptions;
  /** Default: one of its own, in which nothing has happened yet. */
  readonly world?: DrivenWorld;
  /** Of an engine before this one. Default: empty. */
  readonly storage?: MemoryStorage;
  /** What is around it; the rest is as in NO_SERVICES, and counts are kept. */
  readonly services?: Partial<EngineServices>;
}

export interface AskOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** Whether the caller may do something on a path of its namespace. Default: everything. */
  readonly may?: (capability: string, path: string, body?: JsonObject) => boolean;
  /** Default: nobody is known, as with a login. */
  readonly caller?: Caller;
  readonly signal?: AbortSignal;
}

/** Opens an engine, mounted at `engine/`. */
export async function openEngine<E>(
  type: EngineType<E>,
  { options = {}, world = new DrivenWorld(), storage, services = {} }: OpenOptions = {},
): Promise<TestedEngine<E>> {
  const kept = storage ?? new MemoryStorage(world);
  const counts: string[] = [];
  const needs: EngineNeeds = {
    ...NO_SERVICES,
    metrics: countingMetrics(type.metrics ?? {}, counts),
    ...services,
    clock: world.clock,
    timers: world.timers,
    random: world.random,
    log: world.log,
    storage: kept,
    writeAhead: kept.writeAhead,
    mount: {
      uuid: "00000000-0000-4000-8000-000000000001",
      accessor: `${type.type}_00000001`,
      namespace: ROOT_NAMESPACE,
      path: () => "engine/",
      defaultTtl: () => 768n * HOUR,
      maxTtl: () => 768n * HOUR,
    },
    options: type.checkOptions(options),
  };
  const engine = await type.open(needs);
  return new TestedEngine({ type, engine, needs, world, storage: kept, counts });
}

interface Parts<E> {
  readonly type: EngineType<E>;
  readonly engine: E;
  readonly needs: EngineNeeds;
  readonly world: DrivenWorld;
  readonly storage: MemoryStorage;
  /** What it has counted, in words: "calls_total action=look". */
  readonly counts: readonly string[];
}

export class TestedEngine<E> {
  readonly parts: Parts<E>;
  readonly #router: Router;
  readonly #mount: MountRef;

  constructor(parts: Parts<E>) {
    this.parts = parts;
    const { type, engine, needs } = parts;
    this.#router = new Router(serveMounted(type.paths(needs.options)));
    this.#mount = {
      uuid: needs.mount.uuid,
      accessor: needs.mount.accessor,
      type: type.type,
      path: needs.mount.path(),
      namespace: needs.mount.namespace,
      local: false,
      readable: { request: new Set(), response: new Set() },
      engine,
    };
  }

  /** What a handler answers to a request, `path` being relative to the mount. Refusals are thrown, those of
   *  the declared input among them; fields that are not declared are warnings of the server, not of this. */
  async ask(verb: string, path: string, options: AskOptions = {}): Promise<Reply> {
    const { context, endpoint, values } = this.#find(verb, path, options);
    const { input } = new RequestInput(endpoint, values).read(MEANING);
    const answer = await endpoint.run(input, context);
    // By the declarations' own types.
    return answer instanceof Reply ? (answer as Reply) : new Reply(answer as Reply["data"]);
  }

  /** Whether a write would need `update` instead of `create`. */
  async exists(path: string): Promise<boolean> {
    const { context, endpoint, values } = this.#find("POST", path, {});
    return (await endpoint.exists?.(values.path, context)) ?? true;
  }

  /** Undoes every write-ahead record, as a rollback would whatever their age. Gives how many there were. */
  async undoAll(): Promise<number> {
    const { type, engine, storage } = this.parts;
    const records = storage.noted;
    for (const record of records) {
      const undo = type.undo?.[record.kind];
      invariant(undo !== undefined, `nothing undoes a ${record.kind}`);
      await undo(engine, record, new AbortController().signal);
      await storage.writeAhead.drop(record.id);
    }
    return records.length;
  }

  #find(verb: string, path: string, { query = {}, body = {}, ...options }: AskOptions) {
    const parameters = new Map(Object.entries(query));
    const meant = meaningOf(verb, parameters);
    const { method } = meant;
    invariant(method !== null, `no verb ${verb}`);
    const segments = path === "" ? [] : path.replace(/\/$/, "").split("/");
    const route = this.#router.find(segments);
    const endpoint = route.methods.get(method);
    invariant(endpoint !== undefined, `no endpoint ${verb} ${path}`);
    const values = { path: namedValues(endpoint, route), query: parameters, body };
    const { may, caller = null, signal = new AbortController().signal } = options;
    const request: EngineRequest = {
      id: "test",
      operation: meant.operation,
      namespace: ROOT_NAMESPACE,
      path: CanonicalPath.of([
        ...this.#mount.path.replace(/\/$/, "").split("/"),
        ...route.segments,
      ]),
      mount: this.#mount,
      wrapTtl: null,
      caller,
      anonymous: false,
      header: () => undefined,
      may: async (capability, where, sent) => may?.(capability, where, sent) ?? true,
      mightEver: async (capability, where) => may?.(capability, where) ?? true,
      confirmExists: () => {},
      creates: async () => false,
      issues: async () => {},
      pace: ownPace(this.parts.world),
      remote: { address: "127.0.0.1", port: 1, loopback: true },
      signal,
      isPrivileged: async () => true,
      allow: () => {},
      ...OWN_WORK,
    };
    // Handlers of engines are declared by what an engine may see: the rest is not looked at.
    return { context: request as RequestContext, endpoint, values };
  }
}

/** Refuses what the type has not declared: the server would count nothing, or "other". */
function countingMetrics(declared: MetricDeclarations, counts: string[]): EngineMetrics {
  const note = (kind: string, name: string, labels: Readonly<Record<string, string>> = {}) => {
    const metric = declared[name];
    invariant(metric?.kind === kind, `no ${kind} ${name} is declared`);
    const words = metric.kind === "age" ? {} : (metric.labels ?? {});
    for (const [label, word] of Object.entries(labels)) {
      invariant(words[label]?.includes(word) === true, `${name} has no ${label} ${word}`);
    }
    counts.push([name, ...Object.entries(labels).map((pair) => pair.join("="))].join(" "));
  };
  return {
    count: (name, labels) => note("counter", name, labels),
    observe: (name, _, labels) => note("histogram", name, labels),
    since: (name) => note("age", name),
  };
}
