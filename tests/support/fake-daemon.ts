// A host without a process, and a server that does what a test says: for the daemon's tests.

import { join } from "node:path";
import type { Fs, Net, World } from "@holdfast/shared/world";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import type { Config } from "../../src/config/config.ts";
import type { Helper, Host, SignalName } from "../../src/daemon/host.ts";
import type {
  KeeperPart,
  ServerModule,
  ServerPart,
  ServerParts,
} from "../../src/daemon/server-part.ts";
import type { SealStatus } from "../../src/seal/status.ts";
import { FakeClock, FakeTimers, FlakyRandom } from "./fake-world.ts";
import { type MemoryFiles, memoryFiles } from "./memory-files.ts";

export class FakeHost implements Host {
  env: Record<string, string | undefined> = {};
  pid = 4711;
  /** Processes that run. */
  readonly alive = new Set<number>();
  directory = "/srv";
  readonly hostname = "host";
  home: string | null = "/home/me";
  readonly root = "/opt/holdfast";
  runtime: Host["runtime"] = {
    version: "26.10.0",
    flags: ["--disallow-code-generation-from-strings", "--disable-proto=delete"],
    inspecting: false,
    intrinsicsSealed: true,
    user: 1000,
  };
  readonly printed: string[] = [];
  readonly errors: string[] = [];
  readonly exits: number[] = [];
  readonly kernel = new Map<string, string>();
  readonly links = new Map<string, string>();
  readonly sockets = new Map<string, string>();
  readonly removed: string[] = [];
  /** What programs beside us print, by path. */
  readonly helpers = new Map<string, string>();
  readonly stopped: string[] = [];
  writable = true;
  starts = 0;
  readonly #signals = new Map<SignalName, (() => void)[]>();
  #crash: ((error: unknown) => void) | null = null;

  columns: number | null = null;

  out(text: string): void {
    this.printed.push(text);
  }

  err(text: string): void {
    this.errors.push(text);
  }

  onSignal(signal: SignalName, call: () => void): void {
    this.#signals.set(signal, [...(this.#signals.get(signal) ?? []), call]);
  }

  onCrash(call: (error: unknown) => void): void {
    this.#crash = call;
  }

  exit(code: number): void {
    this.exits.push(code);
  }

  realPath(path: string): string {
    for (const [link, to] of this.links) {
      if (path === link || path.startsWith(`${link}/`))
        return this.realPath(to + path.slice(link.length));
    }
    return path;
  }

  canWrite(): boolean {
    return this.writable;
  }

  isAlive(pid: number): boolean {
    return this.alive.has(pid);
  }

  kernelFile(path: string): string | null {
    return this.kernel.get(path) ?? null;
  }

  makeTemporary(): string {
    return "/tmp/holdfast-dev-x";
  }

  removeTemporary(path: string): void {
    this.removed.push(path);
  }

  async socketProblem(path: string): Promise<string | null> {
    return this.sockets.get(path) ?? null;
  }

  async startHelper(file: string): Promise<Helper> {
    const line = this.helpers.get(file);
    if (line === undefined) throw new Error("it ended");
    return { line, stop: () => void this.stopped.push(file) };
  }

  measures() {
    return { rss: 1, heapUsed: 2, external: 3, resources: { Timeout: 4 } };
  }

  started(): void {
    this.starts++;
  }

  /** Sends a signal; whether anybody listens. */
  signal(signal: SignalName): boolean {
    const calls = this.#signals.get(signal) ?? [];
    for (const call of calls) call();
    return calls.length > 0;
  }

  crash(error: unknown): void {
    this.#crash?.(error);
  }
}

const STATUS: SealStatus = {
  type: "shamir",
  initialized: true,
  sealed: true,
  t: 3,
  n: 5,
  progress: 0,
  nonce: "",
  version: "0",
  buildDate: "",
  migration: false,
  recoverySeal: false,
  recoveryCanUnseal: false,
  storageType: "sqlite",
  warnings: [],
};

export class FakeServer implements ServerPart {
  readonly addresses: readonly string[] = ["http://127.0.0.1:8200"];
  readonly reloads: Config[] = [];
  readonly unsealedWith: string[] = [];
  stops = 0;
  initialised = true;
  problems: readonly string[] = [];
  stopping: () => Promise<void> = async () => {};
  reloading: () => Promise<void> = async () => {};
  rootToken = "root-token";
  readonly failed: Promise<unknown>;
  readonly fail: (cause: unknown) => void;
  readonly keeper: KeeperPart;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.failed = promise;
    this.fail = resolve;
    this.keeper = {
      status: () => ({ ...STATUS, initialized: this.initialised }),
      init: async () => {
        this.initialised = true;
        const keys = new Secret(["c2hhcmU="]);
        const none = new Secret<readonly string[]>([]);
        return {
          keys,
          keysBase64: keys,
          recoveryKeys: none,
          recoveryKeysBase64: none,
          rootToken: new Secret(this.rootToken),
        };
      },
      unseal: async ({ key = "" }) => {
        this.unsealedWith.push(key);
        return STATUS;
      },
    };
  }

  async reload(config: Config): Promise<readonly string[]> {
    this.reloads.push(config);
    await this.reloading();
    return this.problems;
  }

  async stop(): Promise<void> {
    this.stops++;
    await this.stopping();
  }
}

export interface FakeDaemon {
  readonly host: FakeHost;
  readonly server: FakeServer;
  readonly files: MemoryFiles;
  readonly clock: FakeClock;
  readonly timers: FakeTimers;
  readonly world: World;
  readonly ports: Set<number>;
  /** What the server was opened with. */
  readonly opened: { config: Config; parts: ServerParts }[];
  opening: () => Promise<void>;
  readonly load: () => Promise<ServerModule>;
}

export function fakeDaemon(files: Readonly<Record<string, string>> = {}): FakeDaemon {
  const clock = new FakeClock();
  const timers = new FakeTimers(clock);
  const memory = memoryFiles(files);
  const fs: Fs = memory;
  const ports = new Set<number>();
  const net: Net = {
    connect: async () => Promise.reject(new Error("no network")),
    listen: async (address) => {
      if (!ports.has(address.port)) return { address, close: async () => {} };
      const message = `cannot listen on ${address.host}:${address.port}: EADDRINUSE`;
      throw new Failure("unavailable", "network-failed", message);
    },
  };
  const host = new FakeHost();
  const server = new FakeServer();
  const daemon: FakeDaemon = {
    host,
    server,
    files: memory,
    clock,
    timers,
    ports,
    world: { clock, timers, random: new FlakyRandom(), fs, net },
    opened: [],
    opening: async () => {},
    load: async () => ({
      openServer: async (config, parts) => {
        daemon.opened.push({ config, parts });
        await daemon.opening();
        return server;
      },
      exitCodeOf: (error) => (error instanceof Error && error.message === "locked" ? 3 : 1),
    }),
  };
  return daemon;
}

export const CONFIG_FILE = join("/etc", "h.hcl");
export const LISTENER = 'listener "tcp" { tls_disable = true }\n';
