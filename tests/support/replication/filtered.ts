// A primary that withholds something from a region, and what both have of it.

import assert from "node:assert/strict";
import { hex } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Store } from "../../../src/storage/store.ts";
import { type Answer, at } from "../http-client.ts";
import { until } from "../until.ts";
import type { Cluster } from "./clusters.ts";
import { performanceOf, perfStatus } from "./performance.ts";

const ROWS = { from: "shared/", to: "shared0", limit: 1_000_000 };

/** With a token, in a namespace. */
export function request(
  cluster: Cluster,
  method: string,
  path: string,
  { body, namespace = "" }: { readonly body?: object; readonly namespace?: string } = {},
): Promise<Answer> {
  const headers = namespace === "" ? {} : { "X-Service-Namespace": namespace };
  const { token } = cluster;
  return cluster.server.call(method, `/v1/${path}`, { token, headers, ...(body && { body }) });
}

async function done(answer: Promise<Answer>): Promise<Answer> {
  const { status, text } = await answer;
  assert.ok(status < 300, text);
  return await answer;
}

/** A key/value mount with one secret, which is its own path. */
export async function mountSecret(cluster: Cluster, path: string, namespace = ""): Promise<string> {
  const where = { namespace };
  await done(
    request(cluster, "POST", `sys/mounts/${path}`, {
      ...where,
      body: { type: "kv", options: { version: "1" } },
    }),
  );
  await done(request(cluster, "POST", `${path}/one`, { ...where, body: { of: path } }));
  const answer = await done(request(cluster, "GET", `sys/mounts/${path}`, where));
  return String(at(answer, "data", "uuid"));
}

export async function makeNamespace(cluster: Cluster, path: string): Promise<void> {
  await done(request(cluster, "POST", `sys/namespaces/${path}`, { body: {} }));
}

const FILTER = "sys/replication/performance/primary/paths-filter";

export function filterOf(
  cluster: Cluster,
  id: string,
  mode: string,
  paths: readonly string[],
): Promise<Answer> {
  return request(cluster, "POST", `${FILTER}/${id}`, { body: { mode, paths } });
}

export async function deny(cluster: Cluster, ...paths: string[]): Promise<void> {
  await done(filterOf(cluster, "region-b", "deny", paths));
}

export function readFilter(cluster: Cluster, id = "region-b"): Promise<Answer> {
  return request(cluster, "GET", `${FILTER}/${id}`);
}

export function deleteFilter(cluster: Cluster, id = "region-b"): Promise<Answer> {
  return request(cluster, "DELETE", `${FILTER}/${id}`);
}

/** As the primary shows it, or the secondary. */
export async function withheldAt(
  cluster: Cluster,
  side: "primary" | "secondary",
  id = "region-b",
): Promise<JsonObject> {
  const path = `sys/replication/performance/${side}/dynamic-filter/${id}`;
  return at(await done(request(cluster, "GET", path)), "data") as JsonObject;
}

/** The secret of such a mount; null where nothing is there, undefined where nothing is open yet. */
export async function secretAt(cluster: Cluster, path: string, namespace = ""): Promise<unknown> {
  const answer = await request(cluster, "GET", `${path}/one`, { namespace });
  // Of a namespace that is not there nobody is told so.
  if (answer.status === 404 || (namespace !== "" && answer.status === 403)) return null;
  if (answer.status === 503) return undefined;
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data", "of");
}

export function storeOf(cluster: Cluster): Store {
  return cluster.server.server.store;
}

/** Every shared row with its scope and its bytes, but for those of these scopes. */
export function sharedRows(store: Store, without: readonly string[] = []): Map<string, string> {
  const view = store.view();
  try {
    const scopes = new Map(view.scopes(null, 1_000_000).map(({ key, scope }) => [key, scope]));
    const rows = view.rows(ROWS).filter(({ key }) => !without.includes(scopes.get(key)!));
    return new Map(rows.map(({ key, value }) => [key, `${scopes.get(key)} ${hex(value)}`]));
  } finally {
    view.close();
  }
}

/** Of a mount, as rows have it. */
export function scopeOfMount(uuid: string): string {
  return uuid.replaceAll("-", "");
}

/** It streams, and has all that is shared but for what is withheld from it, by the comparison of both sides. */
export async function siftedRegion(
  primary: Cluster,
  secondary: Cluster,
  without: readonly string[] = [],
): Promise<void> {
  const { index } = primary;
  await until(async () => {
    if (performanceOf(secondary).applied < index) return false;
    const { state } = await perfStatus(secondary);
    if (state !== "stream-wals") return false;
    const [theirs, ours] = [sharedRows(storeOf(primary), without), sharedRows(storeOf(secondary))];
    return theirs.size === ours.size && [...theirs].every(([key, row]) => ours.get(key) === row);
  });
}
