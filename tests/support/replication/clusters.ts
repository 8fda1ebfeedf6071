// Clusters of one replication set in this process: whole servers over storage in memory, with real TLS between their
// cluster ports on loopback.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Replication } from "../../../src/replication/replication.ts";
import { uncovered } from "../covered-token.ts";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { SystemClock } from "../../../src/system/clock.ts";
import { type Answer, at } from "../http-client.ts";
import {
  type Opened,
  startServer,
  type TestServer,
  type TestServerOptions,
} from "../servers/test-server.ts";
import { until } from "../until.ts";
import { freePort, TcpProxy } from "./tcp-proxy.ts";

const DR = "/v1/sys/replication/dr";

/** The system's, and somebody has set it. */
export class ShiftedClock extends SystemClock {
  ahead: Nanos = 0n;

  override now(): Instant {
    return super.now() + this.ahead;
  }
}

export class Cluster {
  readonly server: TestServer;
  readonly opened: Opened;

  constructor(server: TestServer, opened: Opened) {
    this.server = server;
    this.opened = opened;
  }

  get token(): string {
    return this.opened.token;
  }

  get replication(): Replication {
    return this.server.server.replication;
  }

  /** With the root token, below sys/replication/dr/. */
  dr(path: string, body: object = {}, token: string = this.token): Promise<Answer> {
    return this.server.call("POST", `${DR}/${path}`, { token, body });
  }

  /** With the shares of the primary that its data is of. */
  async operationToken(shares: readonly string[]): Promise<string> {
    const ATTEMPT = "secondary/generate-operation-token";
    const begun = await this.server.call("POST", `${DR}/${ATTEMPT}/attempt`);
    assert.equal(begun.status, 200, begun.text);
    const [key] = shares;
    const body = { key, nonce: at(begun, "nonce") };
    const done = await this.server.call("POST", `${DR}/${ATTEMPT}/update`, { body });
    assert.equal(done.status, 200, done.text);
    return uncovered(String(at(done, "encoded_token")), String(at(begun, "otp")));
  }

  async status(): Promise<JsonObject> {
    const answer = await this.server.call("GET", `${DR}/status`);
    assert.equal(answer.status, 200, answer.text);
    return at(answer, "data") as JsonObject;
  }

  /** Of the cluster itself, and not of the set. */
  async clusterId(): Promise<string> {
    const answer = await this.server.call("GET", "/v1/sys/health");
    return String(at(answer, "cluster_id"));
  }

  async put(path: string, data: object): Promise<void> {
    const answer = await this.server.call("POST", `/v1/secret/data/${path}`, {
      token: this.token,
      body: { data },
    });
    assert.equal(answer.status, 200, answer.text);
  }

  get index(): bigint {
    return this.server.server.store.index;
  }
}

export interface ClusterOptions extends TestServerOptions {
  /** Default: a free one. Null: none. */
  readonly clusterPort?: number | null;
  /** What its secondaries are told. Default: its cluster port. */
  readonly address?: string;
}

export async function startCluster(t: TestContext, options: ClusterOptions = {}): Promise<Cluster> {
  const { clusterPort: port = 0 } = options;
  const clusterPort = port === null ? null : { host: "127.0.0.1", port };
  const server = await startServer({
    ...options,
    config: (config) => ({ ...(options.config?.(config) ?? config), clusterPort }),
  });
  t.after(() => server.stop());
  const opened = await server.open();
  return new Cluster(server, opened);
}

/** A primary with a key/value mount. */
export async function startPrimary(t: TestContext, options: ClusterOptions = {}): Promise<Cluster> {
  const primary = await startCluster(t, options);
  const mounted = await primary.server.call("POST", "/v1/sys/mounts/secret", {
    token: primary.token,
    body: { type: "kv", options: { version: "2" } },
  });
  assert.ok(mounted.status < 300, mounted.text);
  const { address } = options;
  const enabled = await primary.dr("primary/enable", { primary_cluster_addr: address });
  assert.equal(enabled.status, 200, enabled.text);
  return primary;
}

/** A primary whose secondaries come by a way that can be cut. */
export async function startPrimaryBehind(
  t: TestContext,
  options: ClusterOptions = {},
): Promise<{ readonly primary: Cluster; readonly way: TcpProxy; readonly clusterPort: number }> {
  const clusterPort = await freePort();
  const way = await TcpProxy.before(t, clusterPort);
  const address = `https://127.0.0.1:${way.port}`;
  const primary = await startPrimary(t, { ...options, clusterPort, address });
  return { primary, way, clusterPort };
}

/** A token of the primary, sealed to a key of that cluster. */
export async function sealedToken(
  primary: Cluster,
  secondary: Cluster,
  id = "site-b",
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

/** Another cluster becomes its secondary, by a token that is sealed to its key. */
export async function joined(
  t: TestContext,
  primary: Cluster,
  id = "site-b",
  options: ClusterOptions = {},
): Promise<Cluster> {
  const secondary = await startCluster(t, options);
  const token = await sealedToken(primary, secondary, id);
  const enabled = await secondary.dr("secondary/enable", { token });
  assert.equal(enabled.status, 200, enabled.text);
  return secondary;
}

/** Follows another primary: what only it has written is given up. */
export async function rejoined(
  primary: Cluster,
  secondary: Cluster,
  id: string,
  shares: readonly string[],
  /** Of the new primary; default: they have always had the same. */
  root = secondary.token,
) {
  const token = await secondary.operationToken(shares);
  const key = await secondary.dr("secondary/generate-public-key", {}, token);
  assert.equal(key.status, 200, key.text);
  const made = await primary.dr(
    "primary/secondary-token",
    { id, secondary_public_key: at(key, "data", "secondary_public_key") },
    root,
  );
  assert.equal(made.status, 200, made.text);
  const moved = await secondary.dr(
    "secondary/update-primary",
    { token: at(made, "data", "token") },
    token,
  );
  assert.equal(moved.status, 200, moved.text);
  return token;
}

/** It streams, and has everything, byte for byte. */
export async function inSync(primary: Cluster, secondary: Cluster): Promise<void> {
  await until(async () => {
    const { state } = await secondary.status();
    return state === "stream-wals" && secondary.index >= primary.index;
  });
  assert.deepEqual(
    secondary.server.server.store.differsFrom(primary.server.server.store.headBytes!),
    [],
  );
}
