// Clusters of one replication set as operators run them: a process each, on a directory of its own, with real TLS between
// their cluster ports, through a proxy that can be cut.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { JsonObject } from "@holdfast/shared/json/json";
import { uncovered } from "../covered-token.ts";
import { type Answer, at, type CallOptions } from "../http-client.ts";
import { configured, type Ends, PROGRAM, StartedServer } from "../servers/started-server.ts";
import { until } from "../until.ts";
import { freePort, TcpProxy } from "./tcp-proxy.ts";

const DR = "/v1/sys/replication/dr";

export class ClusterProcess {
  readonly #t: Ends;
  readonly #home: string;
  readonly #config: string;
  readonly #program: readonly string[];
  /** What others come through to its cluster port. */
  readonly way: TcpProxy;
  #server: StartedServer;
  /** As many as open it. */
  shares: readonly string[] = [];
  allShares: readonly string[] = [];
  token = "";

  /** Where it listens itself. */
  readonly clusterPort: number;

  private constructor(
    t: Ends,
    { home, config }: { readonly home: string; readonly config: string },
    program: readonly string[],
    way: TcpProxy,
    clusterPort: number,
  ) {
    this.clusterPort = clusterPort;
    this.#t = t;
    this.#home = home;
    this.#config = config;
    this.#program = program;
    this.way = way;
    this.#server = this.#begin();
  }

  /** `more`: lines of its configuration, made of the directory that it has to itself. `program`: in place of the product's. */
  static async start(
    t: Ends,
    more: (home: string) => string = () => "",
    program: readonly string[] = [PROGRAM],
    { shares, threshold } = { shares: 1, threshold: 1 },
  ): Promise<ClusterProcess> {
    const port = await freePort();
    const way = await TcpProxy.before(t, port);
    const files = configured(t);
    const { home, config } = files;
    const listener = `listener "tcp" { address = "127.0.0.1:0" tls_disable = true cluster_address = "127.0.0.1:${port}" }`;
    const addr = `cluster_addr = "https://127.0.0.1:${way.port}"`;
    writeFileSync(config, `data_dir = "${home}/data"\n${listener}\n${addr}\n${more(home)}`);
    const cluster = new ClusterProcess(t, files, program, way, port);
    await cluster.#server.ready();
    const body = { secret_shares: shares, secret_threshold: threshold };
    const made = await cluster.call("POST", "/v1/sys/init", { body });
    assert.equal(made.status, 200, made.text);
    cluster.shares = (at(made, "keys") as string[]).slice(0, threshold);
    cluster.allShares = at(made, "keys") as string[];
    cluster.token = String(at(made, "root_token"));
    await cluster.unseal();
    return cluster;
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.#server.call(method, path, options);
  }

  /** Of its API, which is another one after each start. */
  get address(): string {
    return this.#server.address;
  }

  /** Of its API by HTTPS, where it has such a listener. */
  get secureAddress(): string {
    return /https:\/\/127\.0\.0\.1:\d+/.exec(this.log.split("ready").at(-1) ?? "")?.[0] ?? "";
  }

  /** A directory that it has to itself. */
  get home(): string {
    return this.#home;
  }

  get pid(): number {
    return this.#server.pid;
  }

  get log(): string {
    return this.#server.log;
  }

  /** Resolves when the process of now is gone, whoever has ended it. */
  get ended(): Promise<unknown> {
    return this.#server.ended;
  }

  async unseal(shares: readonly string[] = this.shares): Promise<void> {
    for (const key of shares) {
      const answer = await this.call("POST", "/v1/sys/unseal", { body: { key } });
      assert.equal(answer.status, 200, answer.text);
    }
  }

  async kill(): Promise<void> {
    process.kill(this.#server.pid, "SIGKILL");
    await this.#server.ended;
  }

  /** After it was killed or has stopped. */
  async startAgain(shares: readonly string[] = this.shares): Promise<void> {
    this.#server = this.#begin();
    await this.#server.ready();
    await this.unseal(shares);
  }

  #begin(): StartedServer {
    const command = [...this.#program, "server", "-config", this.#config];
    return new StartedServer(this.#t, this.#home, command);
  }

  /** With the root token, below sys/replication/dr/. */
  dr(path: string, body: object = {}, token: string = this.token): Promise<Answer> {
    return this.call("POST", `${DR}/${path}`, { token, body });
  }

  /** Of an operator of a secondary. */
  async operationToken(): Promise<string> {
    const ATTEMPT = `${DR}/secondary/generate-operation-token`;
    const begun = await this.call("POST", `${ATTEMPT}/attempt`);
    assert.equal(begun.status, 200, begun.text);
    let encoded = "";
    for (const key of this.shares) {
      const share = { key, nonce: at(begun, "nonce") };
      const answer = await this.call("POST", `${ATTEMPT}/update`, { body: share });
      assert.equal(answer.status, 200, answer.text);
      encoded = String(at(answer, "encoded_token"));
    }
    return uncovered(encoded, String(at(begun, "otp")));
  }

  /** As an operator of a secondary, below sys/replication/dr/secondary/. */
  async operate(path: string, body: object = {}, token?: string): Promise<Answer> {
    const sent = { ...body, dr_operation_token: token ?? (await this.operationToken()) };
    return await this.call("POST", `${DR}/secondary/${path}`, { body: sent });
  }

  async status(): Promise<JsonObject> {
    const answer = await this.call("GET", `${DR}/status`);
    assert.equal(answer.status, 200, answer.text);
    return at(answer, "data") as JsonObject;
  }

  put(path: string, value: string, token: string = this.token): Promise<Answer> {
    const body = { data: { value } };
    return this.call("POST", `/v1/secret/data/${path}`, { token, body });
  }

  async value(path: string, token: string = this.token): Promise<string | null> {
    const answer = await this.call("GET", `/v1/secret/data/${path}`, { token });
    return answer.status === 200 ? String(at(answer, "data", "data", "value")) : null;
  }
}

/** A primary with a key/value mount. */
export async function startPrimaryProcess(
  t: Ends,
  more?: (home: string) => string,
  program?: readonly string[],
  quorum?: { readonly shares: number; readonly threshold: number },
): Promise<ClusterProcess> {
  const primary = await ClusterProcess.start(t, more, program, quorum);
  const { token } = primary;
  const body = { type: "kv", options: { version: "2" } };
  const mounted = await primary.call("POST", "/v1/sys/mounts/secret", { token, body });
  assert.ok(mounted.status < 300, mounted.text);
  const enabled = await primary.dr("primary/enable");
  assert.equal(enabled.status, 200, enabled.text);
  return primary;
}

/** A token of the primary, sealed to a new key of a cluster that is none of its set yet. */
export async function sealedFor(
  primary: ClusterProcess,
  secondary: ClusterProcess,
  id: string,
): Promise<string> {
  const key = await secondary.dr("secondary/generate-public-key");
  assert.equal(key.status, 200, key.text);
  const made = await primary.dr("primary/secondary-token", {
    id,
    secondary_public_key: at(key, "data", "secondary_public_key"),
  });
  assert.equal(made.status, 200, made.text);
  return String(at(made, "data", "token"));
}

/** Its shares and its token are the primary's from then on. */
export async function joinProcess(
  primary: ClusterProcess,
  secondary: ClusterProcess,
  id = "site-b",
): Promise<void> {
  const token = await sealedFor(primary, secondary, id);
  const enabled = await secondary.dr("secondary/enable", { token });
  assert.equal(enabled.status, 200, enabled.text);
  takenOver(primary, secondary);
}

/** It has joined: the data, and so the shares and the root token, are the primary's. */
export function takenOver(primary: ClusterProcess, secondary: ClusterProcess): void {
  secondary.shares = primary.shares;
  secondary.allShares = primary.allShares;
  secondary.token = primary.token;
}

/** One that was a primary follows another: what only it has written is given up. */
export async function rejoinProcess(
  primary: ClusterProcess,
  secondary: ClusterProcess,
  id: string,
  /** Of an operator there. Default: one is made. */
  operation?: string,
): Promise<void> {
  const token = operation ?? (await secondary.operationToken());
  const key = await secondary.operate("generate-public-key", {}, token);
  assert.equal(key.status, 200, key.text);
  const made = await primary.dr("primary/secondary-token", {
    id,
    secondary_public_key: at(key, "data", "secondary_public_key"),
  });
  assert.equal(made.status, 200, made.text);
  const body = { token: at(made, "data", "token") };
  // One that has just taken over begins with its members anew: whoever comes meanwhile is cut, and comes again.
  await until(async () => {
    const { status, text } = await secondary.operate("update-primary", body, token);
    assert.ok(status === 200 || status === 502, text);
    return status === 200;
  });
}

/** It streams, and its trees are the primary's. */
export async function equalProcesses(
  primary: ClusterProcess,
  secondary: ClusterProcess,
): Promise<void> {
  await until(async () => {
    const [here, there] = [await primary.status(), await secondary.status()];
    return (
      there["state"] === "stream-wals" &&
      Number(there["last_remote_wal"]) >= Number(here["last_dr_wal"]) &&
      there["merkle_root"] === here["merkle_root"]
    );
  });
}
