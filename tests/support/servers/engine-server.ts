// A server for tests of mounts, leases, wrapping and engines: time that a test moves, an engine that
// counts what it makes outside, requests in short form, refusals compared in full, and a crash.

import assert from "node:assert/strict";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import type { Nanos } from "@holdfast/shared/world";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { countingEngine, type CountingOptions } from "../stores/counting-engine.ts";
import { type Answer, at, type CallOptions, errorsOf } from "../http-client.ts";
import { Outside } from "../stores/outside.ts";
import { ServerTime } from "./server-time.ts";
import { startServer, type TestServer, type TestServerOptions } from "./test-server.ts";

export const SECOND: Nanos = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;
export const DAY = 24n * HOUR;

interface After {
  after(call: () => Promise<void> | void): void;
}

export interface EngineServerOptions extends TestServerOptions {
  readonly counting?: CountingOptions;
  readonly outside?: Outside;
}

/** A lease as an answer shows it. */
export interface Issued {
  readonly id: string;
  readonly seconds: number;
  readonly renewable: boolean;
  readonly object: string;
  readonly warnings: readonly string[];
}

export class EngineServer {
  readonly time: ServerTime;
  readonly outside: Outside;
  readonly #disk: MemoryDisk;
  readonly #options: EngineServerOptions;
  #test: TestServer | null = null;
  #policies = 0;
  root = "";
  shares: readonly string[] = [];

  constructor(options: EngineServerOptions) {
    this.#options = options;
    this.time = new ServerTime();
    this.outside = options.outside ?? new Outside();
    this.#disk = options.disk ?? new MemoryDisk();
  }

  get test(): TestServer {
    assert.ok(this.#test !== null);
    return this.#test;
  }

  async start(): Promise<void> {
    const { counting, outside: _, world, ...options } = this.#options;
    this.#test = await startServer({
      ...options,
      disk: this.#disk,
      engineTypes: [
        anyEngine(countingEngine(this.outside, counting)),
        ...(options.engineTypes ?? []),
      ],
      world: { clock: this.time.clock, timers: this.time, ...world },
    });
  }

  async open(): Promise<void> {
    const { token, shares } = await this.test.open();
    [this.root, this.shares] = [token, shares];
  }

  /** The process dies without a word, and the next one is unsealed. */
  async crash(): Promise<void> {
    await this.die();
    await this.restart();
  }

  /** Comes up on the disk of the one that died, and is unsealed. */
  async restart(): Promise<void> {
    await this.start();
    await this.test.unseal(this.shares);
  }

  /** Lets time pass, in steps, until something holds: whatever the pace of what goes on meanwhile. */
  async passUntil(holds: () => Promise<boolean> | boolean, step = 10n * SECOND): Promise<void> {
    for (let i = 0; i < 3000; i++) {
      if (await holds()) return;
      await this.time.passSlowly(step, step);
    }
    assert.fail(`this never came: ${String(holds)}`);
  }

  /** From here on nothing that it does reaches the disk, nor the outside. */
  async die(): Promise<void> {
    const gone = this.test.crash();
    this.outside.abandon();
    await gone;
  }

  /** Below /v1/, as management unless told otherwise. */
  ask(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    const sent = body === undefined ? {} : { body };
    return this.test.call(method, `/v1/${path}`, { token: this.root, ...sent, ...options });
  }

  /** And it must succeed. */
  async must(
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<Answer> {
    const answer = await this.ask(method, path, body, options);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  async enable(path: string, type: string, more: object = {}, namespace?: string): Promise<void> {
    done(await this.ask("POST", `sys/mounts/${path}`, { type, ...more }, { namespace }));
  }

  /** A counting mount with the role `r`. */
  async counting(path = "count", role: object = {}, namespace?: string): Promise<void> {
    await this.enable(path, "counting", {}, namespace);
    await this.role(path, role, namespace);
  }

  async role(path: string, role: object, namespace?: string): Promise<void> {
    done(await this.ask("POST", `${path}/roles/r`, role, { namespace }));
  }

  async issue(path = "count/creds/r", options: CallOptions = {}): Promise<Issued> {
    return issuedIn(await this.ask("GET", path, undefined, options));
  }

  lookup(id: string, options: CallOptions = {}): Promise<Answer> {
    return this.ask("POST", "sys/leases/lookup", { lease_id: id }, options);
  }

  async isThere(id: string, namespace?: string): Promise<boolean> {
    const { status, text } = await this.lookup(id, { namespace });
    assert.ok(status === 200 || status === 400, text);
    return status === 200;
  }

  renew(id: string, more: object = {}, options: CallOptions = {}): Promise<Answer> {
    return this.ask("POST", "sys/leases/renew", { lease_id: id, ...more }, options);
  }

  revoke(id: string, more: object = {}, options: CallOptions = {}): Promise<Answer> {
    return this.ask("POST", "sys/leases/revoke", { lease_id: id, ...more }, options);
  }

  /** Keys of what is durable, those that contain this. */
  storedKeys(part: string): string[] {
    const all = this.#disk.rows.keys({ from: "", to: null, limit: 1_000_000 });
    return all.filter((key) => key.includes(part));
  }

  async namespaces(...paths: readonly string[]): Promise<void> {
    for (const path of paths) await this.must("POST", `sys/namespaces/${path}`, {});
  }

  /** The secret of a client token that may do what these rules say. */
  async client(rules: string, more: object = {}, namespace?: string): Promise<string> {
    return (await this.clientToken(rules, more, namespace)).secret;
  }

  async clientToken(
    rules: string,
    more: object = {},
    namespace?: string,
  ): Promise<{ readonly secret: string; readonly accessor: string }> {
    const name = `rules-${++this.#policies}`;
    // With warnings where a test's rules are about what is not there yet.
    await this.must("POST", `sys/policies/acl/${name}`, { policy: rules }, { namespace });
    const body = { policies: [name], ...more };
    const made = await this.must("POST", "auth/token/create-orphan", body, { namespace });
    return {
      secret: String(at(made, "auth", "client_token")),
      accessor: String(at(made, "auth", "accessor")),
    };
  }
}

/** Open and unsealed. */
export async function engineServer(
  t: After,
  options: EngineServerOptions = {},
): Promise<EngineServer> {
  const server = new EngineServer(options);
  await server.start();
  t.after(() => server.test.stop());
  await server.open();
  return server;
}

export function issuedIn(answer: Answer): Issued {
  assert.equal(answer.status, 200, answer.text);
  return {
    id: String(at(answer, "lease_id")),
    seconds: Number(at(answer, "lease_duration")),
    renewable: at(answer, "renewable") === true,
    object: String(at(answer, "data", "object")),
    warnings: (at(answer, "warnings") ?? []) as string[],
  };
}

/** A rule of a policy: `grants("kv/*", "read")`. */
export function grants(path: string, ...capabilities: readonly string[]): string {
  return `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(capabilities)} }\n`;
}

/** 204 without a body. */
export function done(answer: Answer): void {
  assert.equal(answer.status, 204, answer.text);
  assert.equal(answer.text, "");
}

/** The data of a 200 with an envelope. */
export function dataOf(answer: Answer): Readonly<Record<string, unknown>> {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as Readonly<Record<string, unknown>>;
}

export function keysOf(answer: Answer): unknown {
  return dataOf(answer)["keys"];
}

/** Exactly these texts, or one that looks like this. */
export function refused(
  answer: Answer,
  status: number,
  ...texts: readonly (string | RegExp)[]
): void {
  assert.equal(answer.status, status, answer.text);
  const errors = errorsOf(answer) as unknown[];
  assert.equal(errors.length, texts.length, answer.text);
  for (const [i, text] of texts.entries()) {
    if (typeof text === "string") assert.equal(errors[i], text);
    else assert.match(String(errors[i]), text);
  }
}

/** 404 without a word. */
export function absent(answer: Answer): void {
  assert.equal(answer.status, 404, answer.text);
  assert.deepEqual(answer.json, { errors: [] });
}
