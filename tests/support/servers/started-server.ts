// The program as operators start it, on a directory of its own: for what only a process and its files show.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { TestContext } from "node:test";
import { compiledCode } from "../../../scripts/quick-start.ts";
import { type Answer, call, type CallOptions } from "../http-client.ts";

export const ROOT = join(import.meta.dirname, "..", "..", "..");
export const PROGRAM = join(ROOT, "bin", "holdfast");

/** Whoever ends what was begun: a test, or a suite whose tests share it. */
export type Ends = Pick<TestContext, "after">;

/** A configuration on a fresh directory, with a listener on a free port. */
export function configured(t: Ends, settings = ""): { home: string; config: string } {
  const home = mkdtempSync(join(tmpdir(), "holdfast-started-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const config = join(home, "h.hcl");
  const listener = 'listener "tcp" { address = "127.0.0.1:0" tls_disable = true }\n';
  writeFileSync(config, `data_dir = "${home}/data"\n${listener}${settings}`);
  return { home, config };
}

export class StartedServer {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<number | null>;
  /** Everything it has printed. */
  log = "";

  constructor(t: Ends, home: string, command: readonly string[]) {
    const [program = "", ...args] = command;
    const env = { PATH: process.env["PATH"], HOME: home, ...compiledCode() };
    this.#child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    t.after(() => this.#child.kill("SIGKILL"));
    this.ended = new Promise((resolve) => this.#child.once("exit", resolve));
    const take = (data: Buffer) => void (this.log += data.toString("utf8"));
    this.#child.stdout.on("data", take);
    this.#child.stderr.on("data", take);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Until it says that it is ready; rejects when it ends instead. */
  async ready(): Promise<this> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (/\] {2}ready/.test(this.log)) resolve();
    };
    this.#child.stdout.on("data", look);
    this.#child.stderr.on("data", look);
    void this.ended.then((code) => reject(new Error(`it ended with ${code}: ${this.log}`)));
    look();
    await promise;
    return this;
  }

  /** Of its first listener. */
  get address(): string {
    return /addresses="?([^\s"]+)/.exec(this.log)?.[1] ?? "";
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return call(this.address, method, path, options);
  }

  async stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    return this.ended;
  }
}
