// An engine on its own, for its tests: opened over real storage in memory, behind a real barrier, and
// asked through its declarations as the server would ask it. What tests hand in is the world around it
// (time, timers, randomness, log) and what the caller may do.

import { ownPace } from "@holdfast/shared/sliced";
import { OWN_WORK } from "@holdfast/shared/waiting";
import { createSecretKey } from "node:crypto";
import { Barrier } from "../../src/barrier/barrier.ts";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { HOUR } from "@holdfast/shared/text/duration";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import { RequestInput } from "@holdfast/shared/endpoint/input";
import { MEANING, meaningOf } from "@holdfast/shared/endpoint/operation";
import { namedValues, Router } from "@holdfast/shared/endpoint/router";
import { serveMounted } from "@holdfast/shared/endpoint/endpoint";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  type RequestContext,
  type MountRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { MountStorage } from "../../src/mounts/mount-storage.ts";
import { WriteAheadLog } from "../../src/mounts/undo/write-ahead.ts";
import { MemoryDisk, MemoryEngine } from "../../src/storage/engines/memory.ts";
import { Store } from "../../src/storage/store.ts";
import type { EngineNeeds, EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { NO_SERVICES, type EngineServices } from "@holdfast/plugin-sdk/engine-services";

export interface EngineWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export interface AskOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** Whether the caller may do something on a path of its namespace. Default: everything. */
  readonly may?: (capability: string, path: string, fields?: JsonObject) => boolean;
  /** Whether any request of that kind might be allowed there. Default: whether one without fields is. */
  readonly mightEver?: (capability: string, path: string) => boolean;
  readonly signal?: AbortSignal;
}

/** What outlives an engine: what it keeps, and its write-ahead records. */
export interface KeptByTests {
  readonly storage: EngineStorage;
  readonly writeAhead: WriteAheadLog;
}

export async function testStorage(world: EngineWorld): Promise<KeptByTests> {
  const { clock, timers, random, log } = world;
  const store = new Store({ engine: new MemoryEngine(new MemoryDisk()), clock, timers, log });
  const barrier = new Barrier({ store, clock, timers, random, log });
  const key = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
  const keys = { rootKey: key(1), treeKey: key(2) };
  await barrier.create(keys, { lineage: Buffer.alloc(16, 3), cluster: "test" }, () => {});
  const view = barrier.view("local/").sub("wal/");
  const writeAhead = new WriteAheadLog({ view, clock, random, takesNew: () => true });
  const data = barrier.view("shared/").sub("engine/");
  return { storage: new MountStorage(data, { ended: false }, writeAhead), writeAhead };
}

export class TestedEngine<E> {
  readonly engine: E;
  readonly needs: EngineNeeds;
  readonly #type: EngineType<E>;
  readonly #router: Router;
  readonly #mount: MountRef;

  constructor(type: EngineType<E>, engine: E, needs: EngineNeeds) {
    this.engine = engine;
    this.needs = needs;
    this.#type = type;
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

  get type(): EngineType<E> {
    return this.#type;
  }

  /** What a handler answers to a request, `path` being relative to the mount. Refusals are thrown. */
  async ask(verb: string, path: string, options: AskOptions = {}): Promise<Reply> {
    const { asked: context, endpoint, given: parts } = this.#find(verb, path, options);
    const { input } = new RequestInput(endpoint, parts).read(MEANING);
    const answer = await endpoint.run(input, context);
    // By the declarations' own types.
    return answer instanceof Reply ? (answer as Reply) : new Reply(answer as Reply["data"]);
  }

  /** Whether a write would need `update` instead of `create`. */
  async exists(path: string): Promise<boolean> {
    const { asked: context, endpoint, given: parts } = this.#find("POST", path, {});
    return (await endpoint.exists?.(parts.path, context)) ?? true;
  }

  #find(
    verb: string,
    path: string,
    { query = {}, body = {}, may, mightEver = may, signal }: AskOptions,
  ) {
    const asking = new Map(Object.entries(query));
    const meant = meaningOf(verb, asking);
    const { method } = meant;
    invariant(method !== null, `no verb ${verb}`);
    const segments = path === "" ? [] : path.replace(/\/$/, "").split("/");
    const route = this.#router.find(segments);
    const endpoint = route.methods.get(method);
    invariant(endpoint !== undefined, `no endpoint ${verb} ${path}`);
    const parts = { path: namedValues(endpoint, route), query: asking, body };
    const context: RequestContext = {
      id: "test",
      operation: meant.operation,
      namespace: ROOT_NAMESPACE,
      path: CanonicalPath.of([
        ...this.#mount.path.replace(/\/$/, "").split("/"),
        ...route.segments,
      ]),
      mount: this.#mount,
      wrapTtl: null,
      caller: null,
      anonymous: false,
      header: () => undefined,
      may: async (capability, where, sent) => may?.(capability, where, sent) ?? true,
      mightEver: async (capability, where) => mightEver?.(capability, where) ?? true,
      confirmExists: () => {},
      creates: async () => false,
      issues: async () => {},
      pace: ownPace(this.needs),
      remote: { address: "127.0.0.1", port: 1, loopback: true },
      listener: {
        keyCeremonies: "open",
        openings: { metrics: false },
        maxBody: 1 << 20,
        metricsOnly: false,
      },
      signal: signal ?? new AbortController().signal,
      isPrivileged: async () => true,
      allow: () => {},
      ...OWN_WORK,
      recheck: () => null,
      ownHeader: () => undefined,
      note: () => {},
      detach: () => {},
    };
    return { asked: context, endpoint, given: parts };
  }
}

export interface OpenOptions {
  readonly options?: EngineOptions;
  /** Of an engine before this one. Default: all is new. */
  readonly kept?: Partial<KeptByTests>;
  /** What is around it; the rest is as in NO_SERVICES. */
  readonly around?: Partial<EngineServices>;
}

/** Opens an engine, mounted at `engine/`. Nothing rolls its write-ahead records back: see `undoAll`. */
export async function openEngine<E>(
  type: EngineType<E>,
  world: EngineWorld,
  { options = {}, kept = {}, around = {} }: OpenOptions = {},
): Promise<TestedEngine<E>> {
  const { clock, timers, random, log } = world;
  const needs: EngineNeeds = {
    ...NO_SERVICES,
    ...around,
    clock,
    timers,
    random,
    log,
    ...(await testStorage(world)),
    ...kept,
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
  type.lead?.(engine, { tookOverAt: null });
  return new TestedEngine(type, engine, needs);
}

/** Undoes every record there is, as a rollback would whatever their age. Gives how many there were. */
export async function undoAll<E>(
  { type, engine }: TestedEngine<E>,
  { writeAhead }: KeptByTests,
): Promise<number> {
  const records = writeAhead.page(undefined);
  for (const record of records) {
    const undo = type.undo?.[record.kind];
    invariant(undo !== undefined, `nothing undoes a ${record.kind}`);
    await undo(engine, record, new AbortController().signal);
    await writeAhead.drop(record.id);
  }
  return records.length;
}
