// Clusters of a performance set in this process: as those of disaster recovery, by the other endpoints.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Replication } from "../../../src/replication/replication.ts";
import { type Answer, at } from "../http-client.ts";
import { until } from "../until.ts";
import { Cluster, type ClusterOptions, startCluster } from "./clusters.ts";
import { freePort, TcpProxy } from "./tcp-proxy.ts";

const PERFORMANCE = "/v1/sys/replication/performance";

export function performanceOf(cluster: Cluster): Replication {
  return cluster.server.server.performance;
}

/** With the root token, below sys/replication/performance/. */
export function perf(
  cluster: Cluster,
  path: string,
  body: object = {},
  token: string = cluster.token,
): Promise<Answer> {
  return cluster.server.call("POST", `${PERFORMANCE}/${path}`, { token, body });
}

export async function perfStatus(cluster: Cluster): Promise<JsonObject> {
  const answer = await cluster.server.call("GET", `${PERFORMANCE}/status`);
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as JsonObject;
}

/** A region of its own. */
export function startRegion(
  t: TestContext,
  region: string,
  options: ClusterOptions = {},
): Promise<Cluster> {
  return startCluster(t, { ...options, settings: { region, ...options.settings } });
}

/** A primary with a key/value mount. */
export async function startPerformancePrimary(
  t: TestContext,
  options: ClusterOptions = {},
): Promise<Cluster> {
  const primary = await startRegion(t, "a", options);
  const { token } = primary;
  const body = { type: "kv", options: { version: "2" } };
  const mounted = await primary.server.call("POST", "/v1/sys/mounts/secret", { token, body });
  assert.ok(mounted.status < 300, mounted.text);
  const { address } = options;
  const enabled = await perf(primary, "primary/enable", { primary_cluster_addr: address });
  assert.equal(enabled.status, 200, enabled.text);
  return primary;
}

/** A primary whose secondaries come by a way that can be cut. */
export async function startPerformancePrimaryBehind(
  t: TestContext,
  options: ClusterOptions = {},
): Promise<{ readonly primary: Cluster; readonly way: TcpProxy }> {
  const clusterPort = await freePort();
  const way = await TcpProxy.before(t, clusterPort);
  const address = `https://127.0.0.1:${way.port}`;
  return { primary: await startPerformancePrimary(t, { ...options, clusterPort, address }), way };
}

/** A token of the primary, sealed to a key of that cluster. */
export async function performanceToken(
  primary: Cluster,
  secondary: Cluster,
  id = "region-b",
  /** Of both, where they have shared data before. */
  root?: string,
): Promise<string> {
  const key = await perf(secondary, "secondary/generate-public-key", {}, root);
  assert.equal(key.status, 200, key.text);
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const made = await perf(primary, "primary/secondary-token", { id, secondary_public_key }, root);
  assert.equal(made.status, 200, made.text);
  return String(at(made, "data", "token"));
}

/** Another cluster becomes its secondary, by a token that is sealed to its key. */
export async function joinedRegion(
  t: TestContext,
  primary: Cluster,
  region = "b",
  options: ClusterOptions = {},
): Promise<Cluster> {
  const secondary = await startRegion(t, region, options);
  const token = await performanceToken(primary, secondary, `region-${region}`);
  const enabled = await perf(secondary, "secondary/enable", { token });
  assert.equal(enabled.status, 200, enabled.text);
  return secondary;
}

/** The same with a token that it has by now. */
export function withRoot(cluster: Cluster, token: string): Cluster {
  return new Cluster(cluster.server, { ...cluster.opened, token });
}

/** It streams, and has everything that is shared, byte for byte; and its rooms are open with it. */
export async function regionInSync(primary: Cluster, secondary: Cluster): Promise<void> {
  const { index } = primary; // roots are looked at once a second at most: they may be equal, and old
  await until(async () => {
    if (performanceOf(secondary).applied < index) return false;
    const { state, merkle_root: root, promotable_reasons: found } = await perfStatus(secondary);
    const reasons = Array.isArray(found) ? found : [];
    const isOpen = !["copied", "alone"].some((one) => reasons.includes(one));
    const isSame = root === (await perfStatus(primary))["merkle_root"];
    return state === "stream-wals" && isSame && isOpen;
  });
}
