// A real server process whose event loop and memory are watched from inside: made ready as an operator
// does it, with a store and an audit file on disk, on the loopback address.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compiledCode } from "../scripts/quick-start.ts";
import { at, call, type Answer, type CallOptions } from "../tests/support/http-client.ts";
import type { ProbeCommand, ProbeReading } from "./hostile/loop-probe.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");
const PROBE = join(import.meta.dirname, "hostile", "loop-probe.ts");
// As bin/holdfast has them.
const FLAGS = [
  "--disable-sigusr1",
  "--no-warnings",
  "--disallow-code-generation-from-strings",
  "--disable-proto=delete",
];
const LONGEST_START_MS = 30_000;
const LONGEST_STOP_MS = 10_000;
const MAX_LOG = 64 * 1024; // characters

export interface ObservedOptions {
  /** For everything of this server. */
  readonly directory: string;
  /** Further listeners, and settings, in HCL. */
  readonly settings?: string;
  /** Lines of the first listener's block beside its address. */
  readonly listener?: string;
}

export class ObservedServer {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #log = "";
  url = "";
  /** Of all listeners, in the order of the configuration. */
  addresses: readonly string[] = [];
  token = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, "exit");
    this.#exit.catch(() => {});
    const note = (text: string) => {
      this.#log = (this.#log + text).slice(-MAX_LOG);
    };
    child.stdout?.setEncoding("utf8").on("data", note);
    child.stderr?.setEncoding("utf8").on("data", note);
  }

  static async start(options: ObservedOptions): Promise<ObservedServer> {
    const { directory, settings = "", listener = "" } = options;
    const data = join(directory, "data");
    const config = join(directory, "server.hcl");
    mkdirSync(data, { mode: 0o700 });
    const text = configuration(data, listener, settings);
    writeFileSync(config, text, { mode: 0o600 });
    const args = [...FLAGS, "--import", PROBE, MAIN, "server", "--config", config];
    const child = spawn(process.execPath, args, {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { PATH: process.env["PATH"] ?? "", HOME: directory, ...compiledCode() },
    });
    const server = new ObservedServer(child);
    process.once("exit", server.#kill); // it ends with us
    const limit = setTimeout(server.#kill, LONGEST_START_MS);
    try {
      await server.#prepare(join(data, "audit", "audit.log"));
      return server;
    } catch (error) {
      await server.stop();
      throw new Error(`the server did not start:\n${server.#log}`, { cause: error });
    } finally {
      clearTimeout(limit);
    }
  }

  readonly #kill = () => void this.#child.kill("SIGKILL");

  async #prepare(audit: string): Promise<void> {
    for (;;) {
      const found = /\] {2}ready: .*addresses=("[^"]+"|\S+)/.exec(this.#log)?.[1];
      if (found !== undefined) {
        this.addresses = found.replaceAll('"', "").split(/[, ]+/);
        break;
      }
      if (this.ended !== null) throw new Error("it ended");
      await Promise.race([once(this.#child.stderr!, "data"), this.#exit]);
    }
    this.url = this.addresses[0] ?? "";
    const shares = { secret_shares: 1, secret_threshold: 1 };
    const made = await this.expect(200, "POST", "sys/init", { body: shares });
    this.token = String(at(made, "root_token"));
    await this.expect(200, "POST", "sys/unseal", { body: { key: at(made, "keys", 0) } });
    const body = { type: "file", options: { file_path: audit } };
    await this.expect(204, "POST", "sys/audit/file", { body });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get log(): string {
    return this.#log;
  }

  /** How it ended, null while it runs. Nothing starts it again. */
  get ended(): string | null {
    const { exitCode, signalCode } = this.#child;
    return signalCode ?? (exitCode === null ? null : `status ${exitCode}`);
  }

  /** With the first token. */
  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const token = this.token === "" ? undefined : this.token;
    return call(this.url, method, `/v1/${path}`, { token, ...options });
  }

  async expect(
    status: number,
    method: string,
    path: string,
    options?: CallOptions,
  ): Promise<Answer> {
    const answer = await this.call(method, path, options);
    if (answer.status === status) return answer;
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 500)}`);
  }

  /** What the probe has seen since it was last asked. */
  async read(): Promise<ProbeReading> {
    const answered = once(this.#child, "message");
    this.tell({ ask: "read" });
    const gone = this.#exit.then(() => {
      throw new Error(`the server ended with ${this.ended}`);
    });
    const [reading] = (await Promise.race([answered, gone])) as [ProbeReading];
    return reading;
  }

  tell(command: ProbeCommand): void {
    this.#child.send(command);
  }

  /** What the server itself says about its loop since it was last asked, in ms. */
  async ownFigure(): Promise<number> {
    const { text } = await this.expect(200, "GET", "sys/metrics?format=prometheus");
    const found = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1];
    return found === undefined ? 0 : Number(found) * 1000;
  }

  async stop(): Promise<void> {
    const limit = setTimeout(this.#kill, LONGEST_STOP_MS);
    if (this.ended === null) this.#child.kill("SIGTERM");
    if (this.ended === null) await this.#exit;
    clearTimeout(limit);
    process.off("exit", this.#kill);
    if (this.#child.connected) this.#child.disconnect();
  }
}

function configuration(data: string, listener: string, settings: string): string {
  return `data_dir = ${JSON.stringify(data)}
storage "sqlite" {}
listener "tcp" {
  address     = "127.0.0.1:0"
  tls_disable = true
  ${listener}
}
${settings}
`;
}
