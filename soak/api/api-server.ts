// A real server process on a directory, started as an operator starts it, and what its first caller does:
// initialise, unseal, ask.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { compiledCode, FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import type { Prng } from "../../sim/prng.ts";
import { type Answer, at, call, type CallOptions } from "../../tests/support/http-client.ts";
import type { Ended } from "../child.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");
const TARGET = join(import.meta.dirname, "api-target.ts");

/** A directory with everything of one node in it. */
export class NodePlace {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  get data(): string {
    return join(this.directory, "data");
  }

  /** Where audit files may lie; the server makes it. */
  get audit(): string {
    return join(this.data, "audit");
  }

  auditFile(device: string): string {
    return join(this.audit, `${device}.log`);
  }
}

export interface ServerOptions {
  readonly place: NodePlace;
  /** For the configuration and the home of the process, which are no part of the node. */
  readonly beside: string;
  /** Lines of the listener's block. Default: without TLS. */
  readonly listener?: string;
  /** Variables of the process beside PATH and HOME. Default none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Runs api-target.ts with these options instead of the program. */
  readonly target?: object;
  /** More lines of the configuration. Default none. */
  readonly settings?: string;
}

export class ServerProcess {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** The address, once it is ready; rejects when it ends before. */
  readonly ready: Promise<string>;
  #log = "";

  constructor(options: ServerOptions) {
    const {
      place,
      beside,
      listener = "tls_disable = true",
      env = {},
      target,
      settings = "",
    } = options;
    mkdirSync(beside, { recursive: true });
    const config = join(beside, "server.hcl");
    writeFileSync(config, configuration(place.data, listener) + settings);
    const args = ["server", "--config", config];
    const [program, first] =
      target === undefined
        ? [PROGRAM, []]
        : [
            process.execPath,
            ["--no-warnings", ...FIND_OWN_MODULES, TARGET, JSON.stringify(target)],
          ];
    this.process = spawn(program, [...first, ...args], {
      stdio: [target === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], HOME: beside, ...compiledCode(), ...env },
    });
    this.process.stdin?.on("error", () => {}); // it was killed while we spoke
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.ready = promise;
    promise.catch(() => {}); // also where nobody waits for it
    const read = (text: string) => {
      this.#log += text;
      const address = /\] {2}ready: .*addresses=(\S+)/.exec(this.#log)?.[1];
      if (address !== undefined) resolve(address);
    };
    this.process.stdout?.setEncoding("utf8").on("data", read);
    this.process.stderr?.setEncoding("utf8").on("data", read);
    this.ended = new Promise<Ended>((settle, fail) => {
      this.process.on("error", fail);
      this.process.on("close", (code, signal) => {
        reject(
          new Error(`the server ended with ${code ?? signal} before it was ready\n${this.#log}`),
        );
        settle({ code, signal, errors: this.#log, at: Date.now() });
      });
    });
  }

  get log(): string {
    return this.#log;
  }

  /** A line for the target. */
  say(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  async kill(): Promise<Ended> {
    this.process.kill("SIGKILL");
    return this.ended;
  }
}

function configuration(data: string, listener: string): string {
  return `data_dir = ${JSON.stringify(data)}
storage "sqlite" {}
listener "tcp" {
  address = "127.0.0.1:0"
  ${listener}
}
`;
}

export interface Keys {
  readonly shares: readonly string[];
  readonly token: string;
}

export const SHARES = 5;
export const THRESHOLD = 3;

/** The API of one running server, as one caller with a token sees it. */
export class Api {
  readonly #url: string;
  readonly #agent: Agent;
  readonly token: string | undefined;

  constructor(url: string, token?: string, keepAlive = true) {
    this.#url = url;
    this.token = token;
    this.#agent = new Agent({ keepAlive });
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { token, ...rest } = { token: this.token, ...options };
    return call(this.#url, method, `/v1/${path}`, { token, agent: this.#agent, ...rest });
  }

  /** Refuses every status but those given. */
  async expect(statuses: readonly number[], method: string, path: string, options?: CallOptions) {
    const answer = await this.call(method, path, options);
    if (statuses.includes(answer.status)) return answer;
    throw new UnexpectedAnswer(`${method} ${path}: ${answer.status} ${answer.text}`, answer.status);
  }

  async init(): Promise<Keys> {
    const body = { secret_shares: SHARES, secret_threshold: THRESHOLD };
    const made = await this.expect([200], "POST", "sys/init", { body });
    return { shares: texts(at(made, "keys")), token: String(at(made, "root_token")) };
  }

  /** With as many shares as are needed, whichever and in whatever order. */
  async unseal({ shares }: Keys, random: Prng): Promise<void> {
    for (const [i, key] of random.shuffle(shares).slice(0, THRESHOLD).entries()) {
      const answer = await this.expect([200], "POST", "sys/unseal", { body: { key } });
      if ((at(answer, "sealed") === false) !== (i === THRESHOLD - 1)) {
        throw new Error(`after ${i + 1} of ${THRESHOLD} shares: ${answer.text}`);
      }
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

export class UnexpectedAnswer extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.name = "UnexpectedAnswer";
    this.status = status;
  }
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
