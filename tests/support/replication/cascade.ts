// A performance set whose members have clusters that stand in for them, in this process: a leads it, b stands in for a; c follows, and d stands in
// for c where a test wants it.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Answer, at } from "../http-client.ts";
import { until } from "../until.ts";
import { type Cluster, inSync, joined } from "./clusters.ts";
import {
  joinedRegion,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  withRoot,
} from "./performance.ts";
import { freePort, TcpProxy } from "./tcp-proxy.ts";

export interface Cascade {
  readonly a: Cluster;
  /** To the cluster port of a: from c, and from b. */
  readonly fromC: TcpProxy;
  readonly fromB: TcpProxy;
  /** Stands in for a. */
  readonly b: Cluster;
  readonly c: Cluster;
  /** To the cluster port of c. */
  readonly toC: TcpProxy;
  readonly root: string;
}

/** The three of them, in sync, and c knows where b is. */
export async function startCascade(t: TestContext): Promise<Cascade> {
  const clusterPort = await freePort();
  const fromC = await TcpProxy.before(t, clusterPort);
  const fromB = await TcpProxy.before(t, clusterPort);
  const a = await startPerformancePrimary(t, { clusterPort, address: addressOf(fromC) });
  const root = a.token;
  is(await a.dr("primary/enable", { primary_cluster_addr: addressOf(fromB) }), 200);
  const b = await joined(t, a, "site-b");
  await inSync(a, b);
  const ownPort = await freePort();
  const toC = await TcpProxy.before(t, ownPort);
  const c = await joinedRegion(t, a, "c", {
    clusterPort: ownPort,
    settings: { outbound_allow: ["127.0.0.1"] },
  });
  await regionInSync(a, c);
  await until(async () => {
    const { failover_cluster_addrs: addresses } = await perfStatus(c);
    return Array.isArray(addresses) && addresses.length === 1;
  });
  return { a, fromC, fromB, b, c, toC, root };
}

export function addressOf({ port }: TcpProxy): string {
  return `https://127.0.0.1:${port}`;
}

/** Another cluster stands in for it, and comes by that address. */
export async function standInOf(
  t: TestContext,
  of: Cluster,
  root: string,
  address = "",
): Promise<Cluster> {
  const body = address === "" ? {} : { primary_cluster_addr: address };
  is(await of.dr("primary/enable", body, root), 200);
  const own = withRoot(of, root);
  const standIn = await joined(t, own, "stand-in");
  await inSync(own, standIn);
  return standIn;
}

/** It takes the place of the one that it stands in for. */
export async function takeOver(standIn: Cluster, shares: readonly string[], force = false) {
  const token = await standIn.operationToken(shares);
  const answer = await standIn.dr("secondary/promote", { dr_operation_token: token, force }, token);
  is(answer, 200);
  return answer;
}

export function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

export async function putAt(cluster: Cluster, path: string, token: string, n = "1") {
  const body = { data: { n } };
  return await cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
}

export async function readAt(cluster: Cluster, path: string, token: string): Promise<Answer> {
  return await cluster.server.call("GET", `/v1/secret/data/${path}`, { token });
}

/** What is stored under a path; null where nothing is. */
export async function valueAt(cluster: Cluster, path: string, token: string) {
  const answer = await readAt(cluster, path, token);
  if (answer.status === 404) return null;
  is(answer, 200);
  return at(answer, "data", "data", "n");
}

/** Whom a performance secondary follows, by the id of the cluster. */
export async function followed(cluster: Cluster): Promise<unknown> {
  const { state, primary_cluster: by } = await perfStatus(cluster);
  return state === "stream-wals" ? by : null;
}
