// A key/value engine on its own, with requests in short form.

import assert from "node:assert/strict";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type Kv, kvEngine } from "@holdfast/engines/kv/kv";
import { type AskOptions, openEngine, type TestedEngine } from "../engine-host.ts";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { type FakeWorld, fakeWorld } from "../fake-world.ts";

export type May = (capability: string, path: string, body?: JsonObject) => boolean;

export class MadeKv {
  readonly tested: TestedEngine<Kv>;
  readonly world: FakeWorld;
  /** For every request that does not say otherwise. */
  may: May = () => true;

  constructor(tested: TestedEngine<Kv>, world: FakeWorld) {
    this.tested = tested;
    this.world = world;
  }

  get storage(): EngineStorage {
    return this.tested.needs.storage;
  }

  async ask(verb: string, path: string, options: AskOptions = {}) {
    const reply = await this.tested.ask(verb, path, { may: this.may, ...options });
    return { status: reply.status, warnings: reply.warnings, data: reply.data as JsonObject };
  }

  get(path: string, query: Readonly<Record<string, string>> = {}) {
    return this.ask("GET", path, { query });
  }

  post(path: string, body: JsonObject = {}) {
    return this.ask("POST", path, { body });
  }

  /** Writes a version; gives its number. */
  async put(path: string, data: JsonObject, cas?: number): Promise<unknown> {
    const options = cas === undefined ? {} : { options: { cas } };
    return (await this.post(`data/${path}`, { data, ...options })).data["version"];
  }

  async value(path: string, version = 0): Promise<unknown> {
    return (await this.get(`data/${path}`, { version: String(version) })).data["data"];
  }

  async keys(path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> {
    return (await this.ask("LIST", path, { query })).data["keys"];
  }

  /** Keys of storage. */
  rows(prefix = ""): Promise<string[]> {
    return this.storage.keys(prefix, { limit: 10_000 });
  }

  /** The text of a refusal. */
  async refusal(asking: Promise<unknown>): Promise<{ kind: string; texts: readonly string[] }> {
    try {
      await asking;
    } catch (error) {
      assert.ok(error instanceof Failure, String(error));
      return { kind: error.kind, texts: error.texts };
    }
    return assert.fail("it was not refused");
  }
}

export async function madeKv(
  options: { version?: string; storage?: EngineStorage; world?: FakeWorld } = {},
): Promise<MadeKv> {
  const world = options.world ?? fakeWorld();
  const { version, storage } = options;
  const tested = await openEngine(kvEngine, world, {
    options: version === undefined ? {} : { version },
    ...(storage === undefined ? {} : { kept: { storage } }),
  });
  return new MadeKv(tested, world);
}

export const NOT_FOUND = { kind: "not-found", texts: [] };
export const DENIED = { kind: "denied", texts: ["permission denied"] };
