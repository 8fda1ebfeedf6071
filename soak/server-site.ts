// A server of an experiment with something outside of it that outlives each of its lives: started, killed, and started again on
// what is left, with a clock that is moved on.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Prng } from "../sim/prng.ts";
import { at } from "../tests/support/http-client.ts";
import type { ApiTargetOptions } from "./api/api-target.ts";
import { Api, type Keys, NodePlace, ServerProcess, texts } from "./api/api-server.ts";
import { discard } from "./child.ts";

/** As a call to a server that is gone. */
class NotRunning extends Error {
  readonly code = "ECONNREFUSED";

  constructor() {
    super("the server does not run");
    this.name = "NotRunning";
  }
}

export interface SiteOptions {
  /** For everything of it; it goes with it. */
  readonly directory: string;
  /** Of its configuration. */
  readonly settings: string;
  readonly target: ApiTargetOptions;
  /** Seconds before the machine's clock, for whoever goes by the same. */
  readonly time?: { ahead: number };
}

export class ServerSite {
  readonly directory: string;
  readonly #settings: string;
  readonly #target: ApiTargetOptions;
  readonly #place: NodePlace;
  readonly #time: { ahead: number };
  readonly #random = new Prng(1);
  #keys: Keys | null = null;
  #server: ServerProcess | null = null;
  #api: Api | null = null;

  constructor({ directory, settings, target, time = { ahead: 0 } }: SiteOptions) {
    this.directory = directory;
    this.#settings = settings;
    this.#target = target;
    this.#place = new NodePlace(join(directory, "node"));
    this.#time = time;
  }

  get api(): Api {
    if (this.#api === null) throw new NotRunning();
    return this.#api;
  }

  get lastLog(): string {
    return this.log.split("\n").slice(-8).join("\n");
  }

  /** What the server wrote since it was started. */
  get log(): string {
    return this.#server?.log ?? "";
  }

  /** For all that go by it. */
  advance(seconds: number): void {
    this.#time.ahead += seconds;
    this.#server?.say(`advance ${seconds}`);
  }

  /** The first time, with an audit file. */
  async initialise(): Promise<void> {
    const stranger = new Api(await this.#run().ready);
    this.#keys = await stranger.init();
    stranger.close();
    await this.#open();
    const device = { type: "file", options: { file_path: this.#place.auditFile("file") } };
    await this.api.expect([204], "POST", "sys/audit/file", { body: device });
  }

  async start(): Promise<void> {
    this.#run();
    await this.#open();
  }

  async #open(): Promise<void> {
    if (this.#keys === null) throw new Error("the server was not initialised");
    const url = await this.#server!.ready;
    const stranger = new Api(url);
    await stranger.unseal(this.#keys, this.#random);
    stranger.close();
    // A connection that was idle while the clock was moved on is closed, maybe in the moment in which it is used again.
    this.#api = new Api(url, this.#keys.token, false);
  }

  /** It is, or has been. */
  async kill(): Promise<void> {
    const ended = await this.#server?.kill();
    this.#api?.close();
    this.#api = null;
    if (ended !== undefined && ended.signal !== "SIGKILL") {
      throw new Error(`the server ended with ${ended.code}\n${this.lastLog}`);
    }
  }

  async close(): Promise<void> {
    await this.#server?.kill();
    this.#api?.close();
    discard(this.directory);
  }

  /** Ids of the leases that a path has given. */
  async leases(path: string): Promise<string[]> {
    const answer = await this.api.expect([200, 404], "LIST", `sys/leases/lookup/${path}`);
    return texts(at(answer, "data", "keys")).map((name) => `${path}/${name}`);
  }

  /** Polls until `look` finds nothing more to wait for; what it says last is thrown after `longest`. */
  async until(look: () => Promise<string | null>, longest: number): Promise<void> {
    const limit = performance.now() + longest;
    for (;;) {
      const left = await look();
      if (left === null) return;
      if (performance.now() > limit) throw new Error(left);
      await pause(40);
    }
  }

  #run(): ServerProcess {
    this.#server = new ServerProcess({
      place: this.#place,
      beside: join(this.directory, "beside"),
      settings: this.#settings,
      target: { ...this.#target, clock: { seconds: this.#time.ahead } },
    });
    return this.#server;
  }
}
