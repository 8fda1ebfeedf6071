// Tests that know of one server alone, run against a secondary: HOLDFAST_TESTS_ON=secondary. When such a server is initialised,
// another one is in its place, which becomes the primary, and the server under test is a second region with its shared rows.
// What a test does behind the API to shared records (a policy, a global token) is done at the primary.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import type { Server } from "../../../src/server/server.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { type Answer, at, type CallOptions } from "../http-client.ts";
import { startPlainServer, TestServer, type TestServerOptions } from "../servers/test-server.ts";
import { type Second, secondOf, type TwoRegions } from "./regions/two-regions.ts";

/** What is about the storage below, or about another cluster, is not for a secondary. */
const OTHER = ["generations", "engine", "leads", "standing", "rooms", "dev"] as const;

export function isForSecondary(options: TestServerOptions): boolean {
  return OTHER.every((name) => options[name] === undefined);
}

/** Secondaries whose process has ended, by the disk that is left of them. */
const LEFT = new WeakMap<MemoryDisk, Pair>();

interface Pair {
  readonly second: Second;
  readonly a: TestServer;
  regions: TwoRegions | null;
}

export async function startOnSecondary(options: TestServerOptions): Promise<TestServer> {
  const { disk = new MemoryDisk() } = options;
  const left = LEFT.get(disk) ?? null;
  LEFT.delete(disk);
  const standing = left === null ? {} : left.second.options;
  const settings = { region: "global", ...options.settings };
  const plain = await startPlainServer({ ...options, settings, disk, ...standing });
  return new OnSecondary(plain, { ...options, disk, settings }, left, options.disk !== undefined);
}

class OnSecondary extends TestServer {
  readonly #options: TestServerOptions & { readonly disk: MemoryDisk };
  #pair: Pair | null;
  #plain: TestServer;
  readonly #mayComeBack: boolean;

  constructor(
    plain: TestServer,
    options: TestServerOptions & { readonly disk: MemoryDisk },
    pair: Pair | null,
    mayComeBack: boolean,
  ) {
    super(plain.server, plain.lines, plain.directory, plain.keys, plain.writes, plain.generations);
    this.#plain = plain;
    this.#options = options;
    this.#pair = pair;
    this.#mayComeBack = mayComeBack;
    const regions = pair?.regions ?? null;
    if (regions !== null) this.#put(plain, regions);
  }

  override async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const isInit = /^(?:\/v1)?\/sys\/init$/.test(path) && (method === "POST" || method === "PUT");
    if (isInit && this.#pair === null) return await this.#init(method, path, options);
    const answer = await super.call(method, path, options);
    if (path.endsWith("/sys/unseal")) await this.#begin();
    return answer;
  }

  async #init(method: string, path: string, options: CallOptions): Promise<Answer> {
    const disk = new MemoryDisk();
    const own = { data_dir: this.directory, region: "first" };
    const settings = { ...this.#options.settings, ...own };
    const a = await startPlainServer({ ...this.#options, disk, settings });
    const answer = await a.call(method, path, options);
    if (answer.status !== 200) {
      await a.stop();
      return answer;
    }
    const shares = at(answer, "keys") as string[];
    const token = String(at(answer, "root_token"));
    for (const key of shares) {
      const opened = await a.call("POST", "/v1/sys/unseal", { body: { key } });
      assert.equal(opened.status, 200, opened.text);
      if (at(opened, "sealed") === false) break;
    }
    await this.#plain.server.stop();
    const second = await secondOf({ a, disk, opened: { shares, token } }, this.#options.disk);
    this.#pair = { a, second, regions: null };
    const data = { data_dir: this.directory };
    const b = await startPlainServer({
      ...this.#options,
      ...second.options,
      settings: { ...this.#options.settings, ...data },
    });
    this.#put(b, null);
    return answer;
  }

  /** It is the one that answers from now on. */
  #put(b: TestServer, regions: TwoRegions | null): void {
    this.#plain = b;
    this.server = regions === null ? b.server : withShared(b.server, regions);
    this.url = b.url;
    this.lines = b.lines;
    this.keys = b.keys;
    this.writes = b.writes;
    this.generations = b.generations;
  }

  async #begin(): Promise<void> {
    const pair = this.#pair;
    const b = this.#plain;
    if (pair === null || b.server.keeper.status().sealed) return;
    if (pair.regions === null) {
      pair.regions = await pair.second.begin(b);
    } else {
      b.server.store.leaveShared(true);
      pair.regions.b = b;
      await pair.regions.release();
    }
    this.#put(b, pair.regions);
  }

  override async stop(): Promise<void> {
    this.#pair?.regions?.hold();
    await this.#plain.stop();
    if (this.#mayComeBack) this.#leave();
    else await this.#stopFirst();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Whoever has its disk may start it again: the primary is there until the run ends. */
  #leave(): void {
    if (this.#pair !== null) LEFT.set(this.#options.disk, this.#pair);
  }

  async #stopFirst(): Promise<void> {
    const { a, regions } = this.#pair ?? { a: null, regions: null };
    await regions?.cut();
    await a?.stop();
  }

  override async crash(): Promise<void> {
    this.#pair?.regions?.hold();
    await this.#plain.crash();
    this.#leave();
  }
}

/** The second server; what a test writes of shared records goes to the first. */
function withShared(server: Server, regions: TwoRegions): Server {
  const first = regions.a.server;
  const through =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const written = await write(...args);
      await regions.apply();
      return written;
    };
  const of = <T extends object>(inner: T, changed: Readonly<Record<string, unknown>>): T =>
    new Proxy(inner, {
      get(target, name) {
        if (typeof name === "string" && Object.hasOwn(changed, name)) return changed[name];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const { tokens, policies } = server;
  type Create = typeof tokens.writes.create;
  const create: Create = (draft) =>
    draft.global === true
      ? through(first.tokens.writes.create.bind(first.tokens.writes))(draft)
      : tokens.writes.create(draft);
  type Delete = typeof tokens.writes.delete;
  const remove: Delete = (namespaceId, accessor, cas) =>
    tokens.byAccessor(namespaceId, accessor)?.global === true
      ? through(first.tokens.writes.delete.bind(first.tokens.writes))(namespaceId, accessor, cas)
      : tokens.writes.delete(namespaceId, accessor, cas);
  return of(server, {
    policies: of(policies, { write: through(first.policies.write.bind(first.policies)) }),
    tokens: of(tokens, { writes: of(tokens.writes, { create, delete: remove }) }),
  });
}
