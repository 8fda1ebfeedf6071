// A whole server in this process, on a loopback port, over storage in memory: what tests of the API
// talk to. It is the product's own composition; only the engine is handed in.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { type LogDial, makeLog } from "@holdfast/shared/log";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import type { World } from "@holdfast/shared/world";
import type { Config, ListenerConfig } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { openServer, type Server } from "../../../src/server/server.ts";
import type { ServerParts } from "../../../src/server/process.ts";
import type { Batch, StorageEngine } from "../../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import type { Generations } from "../../../src/storage/generations/generations.ts";
import { MemoryGenerations } from "../../../src/storage/generations/memory-generations.ts";
import { type Answer, at, call, type CallOptions } from "../http-client.ts";
import { KeyWatch } from "../stores/key-table.ts";
import { PoweredGenerations } from "../stores/powered-generations.ts";
import { WriteWatch } from "../stores/witnessed-writes.ts";

export interface TestServerOptions {
  readonly disk?: MemoryDisk;
  /** Puts something between the server and its storage. */
  readonly engine?: (inner: MemoryEngine) => StorageEngine;
  /** In place of those in memory. */
  readonly generations?: Generations;
  readonly world?: Partial<World>;
  readonly listener?: Partial<ListenerConfig>;
  /** Members of the configuration file, beside the listener. */
  readonly settings?: object;
  readonly config?: (config: Config) => Config;
  readonly dev?: { readonly rootToken: string | null };
  /** Beside the built-in ones. */
  readonly engineTypes?: readonly EngineType<unknown>[];
  /** Variables that engines look for. Default none. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether it becomes the active node when it is unsealed. Default: it does. */
  readonly leads?: ServerParts["leads"];
  /** How long the log of the store is kept. Default: as long as on every server. */
  readonly logRetention?: ServerParts["logRetention"];
  /** What it is, and its cluster among others. Default: active, and there are no others. */
  readonly standing?: ServerParts["standing"];
  /** Rooms beside those of the list. Default none. */
  readonly rooms?: ServerParts["rooms"];
}

export interface Opened {
  readonly shares: readonly string[];
  readonly token: string;
}

export class TestServer {
  server: Server;
  url: string;
  /** Every line of the log. */
  lines: string[];
  /** Where audit files may lie, and the data directory around it. */
  readonly directory: string;
  /** What it has stored, by the table of keys. */
  keys: KeyWatch;
  /** What its requests write, by what their endpoints declare. */
  writes: WriteWatch;
  generations: PoweredGenerations;

  constructor(
    server: Server,
    lines: string[],
    directory: string,
    keys: KeyWatch,
    writes: WriteWatch,
    generations: PoweredGenerations,
  ) {
    const [url] = server.addresses;
    assert.ok(url !== undefined);
    this.server = server;
    this.url = url;
    this.lines = lines;
    this.directory = directory;
    this.keys = keys;
    this.writes = writes;
    this.generations = generations;
  }

  get auditDirectory(): string {
    return join(this.directory, "audit");
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return call(this.url, method, path, options);
  }

  async init(shares = 1, threshold = 1): Promise<Opened> {
    const body = { secret_shares: shares, secret_threshold: threshold };
    const made = await this.call("POST", "/v1/sys/init", { body });
    assert.equal(made.status, 200, made.text);
    return { shares: at(made, "keys") as string[], token: String(at(made, "root_token")) };
  }

  async unseal(shares: readonly string[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const key of shares) {
      const answer = await this.call("POST", "/v1/sys/unseal", { body: { key } });
      assert.equal(answer.status, 200, answer.text);
      answers.push(answer);
    }
    return answers;
  }

  /** Initialised and unsealed. */
  async open(shares = 1, threshold = 1): Promise<Opened> {
    const opened = await this.init(shares, threshold);
    await this.unseal(opened.shares.slice(0, threshold));
    return opened;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.directory, { recursive: true, force: true });
    this.keys.assert();
    this.writes.assert();
  }

  /** The process is gone: nothing is sealed or flushed, whichever data is in use. What was durable is on the disk, or in
   *  the generations, handed in. */
  async crash(): Promise<void> {
    await this.generations.fail();
    await this.server.stop().catch(() => {});
    rmSync(this.directory, { recursive: true, force: true });
    this.keys.assert();
    this.writes.assert();
  }
}

class SeenEngine extends MemoryEngine {
  readonly written = new KeyWatch();

  override commit(batch: Batch): Promise<void> {
    this.written.see(batch);
    return super.commit(batch);
  }
}

/** Where HOLDFAST_TESTS_ON says so, tests that know of no other cluster talk to a secondary instead. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  if (process.env["HOLDFAST_TESTS_ON"] === "secondary") {
    const { isForSecondary, startOnSecondary } = await import("../replication/on-secondary.ts");
    if (isForSecondary(options)) return await startOnSecondary(options);
  }
  return await startPlainServer(options);
}

export async function startPlainServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  const lines: string[] = [];
  const fs = new SystemFs();
  const world: World = {
    clock: new SystemClock(),
    timers: new SystemTimers(),
    random: new SystemRandom(),
    fs,
    net: new SystemNet(),
    ...options.world,
  };
  const document = {
    data_dir: directory,
    storage: { memory: {} },
    listener: { tcp: { address: "127.0.0.1:0", tls_disable: true } },
    ...options.settings,
  };
  const { config: loaded } = await loadConfig({
    paths: [],
    inline: { name: "test.json", text: JSON.stringify(document) },
    env: {},
    files: fs,
    directory,
    hostname: "test",
  });
  const listeners = loaded.listeners.map(
    (listener) => ({ ...listener, ...options.listener }) as ListenerConfig,
  );
  const settings: Config = { ...loaded, listeners };
  const config = options.config?.(settings) ?? settings;
  const dial: LogDial = { level: "debug", components: new Map() };
  const write = (line: string) => void lines.push(line);
  const log = makeLog({ level: dial, format: "standard", write, clock: world.clock });
  const engine = new SeenEngine(options.disk ?? new MemoryDisk());
  const {
    dev,
    engineTypes = [],
    environment = {},
    leads = () => true,
    rooms = [],
    standing,
  } = options;
  const { logRetention = {} } = options;
  const about = { version: "1.2.3", buildDate: "2026-11-15" };
  const generations = new PoweredGenerations(
    options.generations ?? new MemoryGenerations(options.engine?.(engine) ?? engine),
  );
  const common = { world, log, dial, ...about, generations };
  const witnessed = new WriteWatch();
  const stands = standing === undefined ? {} : { standing };
  const more = { logRetention, rooms, witnessed, ...stands };
  const parts = { ...common, engineTypes, environment, leads, ...more };
  try {
    const server = await openServer(config, dev === undefined ? parts : { ...parts, dev });
    return new TestServer(server, lines, directory, engine.written, witnessed, generations);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}
