// A server in development mode as somebody starts it by hand.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { until } from "../support/until.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");

interface After {
  after(call: () => unknown): void;
}

export class DevServer {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #text = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once("close", resolve));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (data: Buffer) => (this.#text += data.toString("utf8")));
    }
  }

  /** In that directory. */
  static async start(t: After, home: string, args: readonly string[]): Promise<DevServer> {
    const child = spawn(
      PROGRAM,
      ["server", "--dev", "--dev-listen-address", "127.0.0.1:0", ...args],
      {
        cwd: home,
        env: { PATH: process.env["PATH"], HOME: home },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    t.after(() => child.kill("SIGKILL"));
    const server = new DevServer(child);
    await server.says(/Root token +\S+/);
    return server;
  }

  /** What it complains of; it does not start. */
  static refused(args: readonly string[], code = 2): string {
    const { status, stderr } = spawnSync(PROGRAM, ["server", ...args], { encoding: "utf8" });
    assert.equal(status, code, stderr);
    return stderr;
  }

  /** All that it has said. */
  get text(): string {
    return this.#text;
  }

  get address(): string {
    return /Address +(\S+)/.exec(this.#text)?.[1] ?? "";
  }

  get token(): string {
    return /Root token +(\S+)/.exec(this.#text)?.[1] ?? "";
  }

  async says(what: RegExp): Promise<void> {
    await until(() => {
      assert.equal(this.#child.exitCode, null, this.#text);
      return what.test(this.#text);
    });
  }

  /** Gives its exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    return await this.#ended;
  }
}
