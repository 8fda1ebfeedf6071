// A server with the small plugin in its plugin directory, and mounts of it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { KeptEntry } from "../../../src/plugins/catalog/rows.ts";
import { type Answer, at, type CallOptions, call } from "../http-client.ts";
import {
  type Opened,
  startServer,
  type TestServer,
  type TestServerOptions,
} from "../servers/test-server.ts";
import { until } from "../until.ts";
import { PluginPlace } from "./plugin-place.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

export class PluginServer {
  readonly place = new PluginPlace();
  readonly log = join(this.place.base, "calls");
  readonly #options: TestServerOptions;
  #test: TestServer | null = null;
  opened: Opened = { shares: [], token: "" };

  private constructor(options: TestServerOptions) {
    this.#options = options;
  }

  static async start(t: After, options: TestServerOptions = {}): Promise<PluginServer> {
    const server = new PluginServer(options);
    t.after(() => server.stop());
    await server.open();
    return server;
  }

  get test(): TestServer {
    assert.ok(this.#test !== null);
    return this.#test;
  }

  async open(): Promise<void> {
    const { settings = {}, ...options } = this.#options;
    this.#test = await startServer({
      ...options,
      settings: {
        plugin_directory: this.place.directory,
        plugin_tmpdir: this.place.temporary,
        plugin_isolation: "none",
        ...settings,
      },
    });
    this.opened = await this.test.open();
  }

  async stop(): Promise<void> {
    await this.#test?.stop();
    assert.deepEqual(this.place.runs(), [], "nothing is left of processes");
    this.place.remove();
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return call(this.test.url, method, `/v1/${path}`, { token: this.opened.token, ...options });
  }

  /** 200 or 204. */
  async ok(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await this.call(method, path, body === undefined ? {} : { body });
    assert.ok(answer.status === 200 || answer.status === 204, `${answer.status} ${answer.text}`);
    return answer;
  }

  async data(path: string): Promise<Record<string, unknown>> {
    return at(await this.ok("GET", path), "data") as Record<string, unknown>;
  }

  /** An entry of the catalog with the small plugin behind it. */
  async register(changes: Partial<KeptEntry> = {}): Promise<KeptEntry> {
    const command = changes.command ?? "small.mjs";
    // Whoever names a file and its sum has put it there.
    const isOther = changes.command !== undefined && changes.sha256 !== undefined;
    const entry: KeptEntry = {
      type: "secret",
      name: "small",
      version: "",
      sha256: isOther ? "" : this.place.putSmall(command),
      command,
      args: [`--log=${this.log}`],
      env: [],
      ociImage: "",
      runtime: "",
      network: "none",
      reportedVersion: "",
      declared: false,
      ...changes,
    };
    await this.test.server.plugins.catalog.register(entry);
    return entry;
  }

  mount(path: string, body: object = {}): Promise<Answer> {
    return this.call("POST", `sys/mounts/${path}`, { body: { type: "small", ...body } });
  }

  /** What the plugin was asked, in its order. */
  calls(): string[] {
    return existsSync(this.log) ? readFileSync(this.log, "utf8").trimEnd().split("\n") : [];
  }

  /** What the plugin keeps under a key. */
  async storage(key: string, path = "small"): Promise<string | null> {
    return (await this.data(`${path}/store/${key}`))["value"] as string | null;
  }

  async store(path: string, key: string, value: string): Promise<void> {
    await this.ok("POST", `${path}/store/${key}`, { value });
  }

  /** The server knows that a process is gone. */
  async noticed(pid: number): Promise<void> {
    const { processes } = this.test.server.plugins;
    await until(() => processes.reports().every((report) => report.pid !== pid));
  }

  async pid(path = "small"): Promise<number> {
    return Number((await this.data(`${path}/pid`))["pid"]);
  }
}
