// What a command has at hand while it runs; made on demand, closed at the end.

import { Failure } from "@holdfast/shared/failure";
import type { Secret } from "@holdfast/shared/secret";
import { showDuration } from "@holdfast/shared/text/duration";
import { Client, type Watcher } from "@holdfast/client/client";
import { NodeTransport } from "@holdfast/client/node/node-transport";
import type { PassedSignal } from "./exec/child-command.ts";
import type { Context } from "./command.ts";
import type { CliIo, CliWorld } from "./io.ts";
import type { Settings } from "./settings.ts";
import { Activity } from "./terminal/activity.ts";
import { Output } from "./terminal/output.ts";
import { Interrupted, Prompt } from "./terminal/prompt.ts";

export class Running implements Context {
  readonly settings: Settings;
  readonly out: Output;
  readonly prompt: Prompt;
  readonly fs: CliWorld["fs"];
  readonly files: CliWorld["files"];
  readonly clock: CliWorld["clock"];
  readonly timers: CliWorld["timers"];
  readonly children: CliWorld["children"];
  readonly env: CliIo["env"];
  readonly onTerminal: boolean;
  readonly #io: CliIo;
  readonly #activity: Activity;
  readonly #withoutToken: boolean;
  #client: Client | null = null;
  #anonymous: Client | null = null;
  #tokenFrom: string | null = null;

  constructor(io: CliIo, world: CliWorld, settings: Settings, { withoutToken = false } = {}) {
    const { stdin, stdout, stderr } = io;
    this.#io = io;
    this.#withoutToken = withoutToken;
    const { format, field } = settings;
    const colours = {
      stdout: settings.colours(stdout.isTTY === true),
      stderr: settings.colours(stderr.isTTY === true),
    };
    this.settings = settings;
    const { chosen } = settings;
    this.out = new Output({ stdout, stderr, format, field, colours, chosen });
    this.prompt = new Prompt(stdin, stderr, settings.nonInteractive);
    this.fs = world.fs;
    this.files = world.files;
    this.clock = world.clock;
    this.timers = world.timers;
    this.children = world.children;
    this.env = io.env;
    this.onTerminal = [stdin, stdout, stderr].some((stream) => stream.isTTY === true);
    this.#activity = new Activity(stderr, world.clock, world.timers);
  }

  get client(): Client {
    this.#client ??= this.#withToken(this.anonymous);
    return this.#client;
  }

  get anonymous(): Client {
    this.#anonymous ??= this.#connect();
    return this.#anonymous;
  }

  get openly(): Client {
    return this.anonymous.withToken(this.#usableToken());
  }

  #usableToken(): Secret<string> | null {
    const { settings, fs } = this;
    try {
      return settings.token(fs)?.value ?? null;
    } catch (error) {
      if (error instanceof Failure) return null; // its file is not to be read
      throw error;
    }
  }

  /** For messages; null while no client was asked for, and without a token. */
  get tokenFrom(): string | null {
    return this.#tokenFrom;
  }

  async untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { onInterrupt, stdout } = this.#io;
    const controller = new AbortController();
    const interrupted = Promise.withResolvers<never>();
    const stop = () => {
      controller.abort();
      interrupted.reject(new Interrupted());
    };
    const forget = onInterrupt?.(stop);
    stdout.on("error", stop);
    try {
      return await Promise.race([work(controller.signal), interrupted.promise]);
    } finally {
      forget?.();
      stdout.off("error", stop);
    }
  }

  onSignal(name: PassedSignal, call: () => void): () => void {
    return this.#io.onSignal?.(name, call) ?? (() => {});
  }

  progress(text: string): void {
    this.#activity.tell(text);
  }

  /** Takes away what shows that work goes on. */
  quiet(): void {
    this.#activity.tell(null);
  }

  close(): void {
    this.quiet();
    this.#anonymous?.close();
  }

  #connect(): Client {
    const { settings, timers, out } = this;
    for (const unused of settings.unusedAddress()) out.warn(unused);
    const tls = settings.tls(this.files);
    if (tls.skipVerify) out.warn("the server's certificate is not checked");
    const { value: address } = settings.address;
    return new Client({
      transport: new NodeTransport({ address, tls, timeout: settings.timeout, timers }),
      token: null,
      namespace: settings.namespace,
      region: settings.region,
      policyOverride: settings.policyOverride,
      watcher: this.#watcher(),
      warn: (warning) => out.warn(warning),
    });
  }

  #withToken(client: Client): Client {
    const { settings, fs, out } = this;
    if (this.#withoutToken) return client;
    for (const unused of settings.unusedToken(fs)) out.warn(unused);
    const token = settings.token(fs);
    this.#tokenFrom = token?.from ?? null;
    return client.withToken(token?.value ?? null);
  }

  #watcher(): Watcher {
    return {
      started: (method, path, held) => {
        const since = this.clock.elapsed();
        this.#activity.begin(held ? "watching" : "waiting for the server");
        return (status, requestId) => {
          this.#activity.end();
          if (!this.settings.debug) return;
          const took = showDuration(this.clock.elapsed() - since);
          const id = requestId === "" ? "" : `, request ${requestId}`;
          this.out.hint(`${method} ${path}: ${status ?? "no answer"} in ${took}${id}`);
        };
      },
    };
  }
}
