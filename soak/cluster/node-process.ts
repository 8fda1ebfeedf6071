// A cluster of the replication-kills experiment as its operator sees it: a process on a directory, which is killed, begins
// again, and is asked over HTTP.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { JsonObject } from "@holdfast/shared/json/json";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import { uncovered } from "../../tests/support/covered-token.ts";
import { type Answer, at, call, type CallOptions } from "../../tests/support/http-client.ts";
import { freePort } from "../../tests/support/replication/tcp-proxy.ts";
import type { NodeOptions } from "./killed-node.ts";

const PROGRAM = join(import.meta.dirname, "killed-node.ts");
const DR = "/v1/sys/replication/dr";
const PATIENCE_MS = 120_000;

export interface Keys {
  readonly share: string;
  readonly token: string;
}

export class NodeProcess {
  readonly #place: string;
  readonly #port: number;
  #child: ChildProcess | null = null;
  #lines: Interface | null = null;
  #url = "";
  #log = "";
  /** Those of its primary once it has joined. */
  keys: Keys = { share: "", token: "" };

  private constructor(place: string, port: number) {
    this.#place = place;
    this.#port = port;
    mkdirSync(join(place, "tmp"), { recursive: true });
  }

  /** Initialised and unsealed. */
  static async first(place: string): Promise<NodeProcess> {
    const node = new NodeProcess(place, await freePort());
    await node.#spawn();
    const body = { secret_shares: 1, secret_threshold: 1 };
    const made = await node.call("POST", "/v1/sys/init", { body });
    node.keys = { share: String(at(made, "keys", 0)), token: String(at(made, "root_token")) };
    if (!(await node.unseal())) throw new Error("it does not unseal");
    return node;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get log(): string {
    return this.#log.split("\n").slice(-6).join("\n");
  }

  async #spawn(): Promise<void> {
    const options: NodeOptions = {
      directory: join(this.#place, "store"),
      clusterPort: this.#port,
    };
    const child = spawn(
      process.execPath,
      ["--no-warnings", ...FIND_OWN_MODULES, PROGRAM, JSON.stringify(options)],
      {
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...process.env, TMPDIR: join(this.#place, "tmp") },
      },
    );
    child.stdin.on("error", () => {}); // it may be gone
    child.stderr.on("data", (data: Buffer) => void (this.#log += data.toString()));
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
    this.#url = await this.#line();
  }

  async #line(): Promise<string> {
    const child = this.#child!;
    const gone = once(child, "exit").then(() => {
      throw new Error(`it ended: ${this.log}`);
    });
    gone.catch(() => {});
    const [line] = (await Promise.race([once(this.#lines!, "line"), gone])) as [string];
    return line;
  }

  /** So many commits are left from here on. */
  async arm(commits: number): Promise<void> {
    const armed = this.#line();
    this.#child!.stdin!.write(`${commits}\n`);
    await armed;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const ended = this.isRunning ? once(child, "exit") : null;
    child.kill("SIGKILL");
    await ended;
    this.#child = null;
  }

  /** Whether its share has unsealed it. */
  async begin(): Promise<boolean> {
    rmSync(join(this.#place, "tmp"), { recursive: true, force: true });
    mkdirSync(join(this.#place, "tmp"), { recursive: true });
    await this.#spawn();
    return await this.unseal();
  }

  async unseal(): Promise<boolean> {
    const body = { key: this.keys.share };
    const { status, json } = await this.call("POST", "/v1/sys/unseal", { body });
    return status === 200 && (json as { sealed?: boolean }).sealed === false;
  }

  /** It has no process. What is given puts its files back. */
  saved(): () => Promise<void> {
    const { keys } = this;
    const [store, kept] = [join(this.#place, "store"), join(this.#place, "kept")];
    rmSync(kept, { recursive: true, force: true });
    cpSync(store, kept, { recursive: true });
    return async () => {
      await this.kill();
      rmSync(store, { recursive: true, force: true });
      cpSync(kept, store, { recursive: true });
      this.keys = keys;
    };
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return call(this.#url, method, path, { agent: false, ...options });
  }

  async must(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.call(method, path, options);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  dr(path: string, body: object = {}): Promise<Answer> {
    return this.must("POST", `${DR}/${path}`, { token: this.keys.token, body });
  }

  async operationToken(): Promise<string> {
    const path = `${DR}/secondary/generate-operation-token`;
    const begun = await this.must("POST", `${path}/attempt`);
    const body = { key: this.keys.share, nonce: at(begun, "nonce") };
    const done = await this.must("POST", `${path}/update`, { body });
    return uncovered(String(at(done, "encoded_token")), String(at(begun, "otp")));
  }

  async operate(path: string, body: object = {}): Promise<Answer> {
    const sent = { ...body, dr_operation_token: await this.operationToken() };
    return await this.must("POST", `${DR}/secondary/${path}`, { body: sent });
  }

  async status(): Promise<JsonObject> {
    return at(await this.must("GET", `${DR}/status`), "data") as JsonObject;
  }

  async put(path: string): Promise<number> {
    const body = { data: { n: "1" } };
    const { token } = this.keys;
    return (await this.call("POST", `/v1/secret/data/${path}`, { token, body })).status;
  }

  async has(path: string): Promise<boolean> {
    const { token } = this.keys;
    return (await this.call("GET", `/v1/secret/data/${path}`, { token })).status === 200;
  }
}

/** A member that is a text. */
export function textIn(status: JsonObject, name: string): string {
  const value = status[name];
  return typeof value === "string" ? value : "";
}

export async function waitFor(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`this never came: ${what}`);
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
}

/** It streams, and its trees are the primary's. */
export async function equal(primary: NodeProcess, secondary: NodeProcess): Promise<void> {
  await waitFor("they are equal", async () => {
    const [here, there] = [await primary.status(), await secondary.status()];
    return (
      there["state"] === "stream-wals" &&
      Number(there["last_remote_wal"]) >= Number(here["last_dr_wal"]) &&
      there["merkle_root"] === here["merkle_root"]
    );
  });
}
