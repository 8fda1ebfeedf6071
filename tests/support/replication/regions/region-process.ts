// Performance sets of processes: regions that join, what they have of each other, and who stands in for them.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromHex } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type Answer, at } from "../../http-client.ts";
import { until } from "../../until.ts";
import type { Ends } from "../../servers/started-server.ts";
import { ClusterProcess, equalProcesses, joinProcess } from "../cluster-process.ts";

const PERFORMANCE = "/v1/sys/replication/performance";

export function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

/** With the root token, below sys/replication/performance/. */
export function perf(
  cluster: ClusterProcess,
  path: string,
  body: object = {},
  method = "POST",
): Promise<Answer> {
  const { token } = cluster;
  const sent = method === "POST" ? { token, body } : { token };
  return cluster.call(method, `${PERFORMANCE}/${path}`, sent);
}

/** With the root token, so that it tells everything. */
export async function perfStatus(cluster: ClusterProcess): Promise<JsonObject> {
  const answer = await cluster.call("GET", `${PERFORMANCE}/status`, { token: cluster.token });
  is(answer, 200);
  return at(answer, "data") as JsonObject;
}

/** `more`: lines of its configuration. */
export function startRegionProcess(t: Ends, region: string, more = ""): Promise<ClusterProcess> {
  return ClusterProcess.start(t, () => `region = "${region}"\n${more}`);
}

/** A primary with a key/value mount at secret/. */
export async function startPerformanceProcess(t: Ends, more = ""): Promise<ClusterProcess> {
  const primary = await startRegionProcess(t, "a", more);
  const { token } = primary;
  const body = { type: "kv", options: { version: "2" } };
  is(await primary.call("POST", "/v1/sys/mounts/secret", { token, body }), 204);
  is(await perf(primary, "primary/enable"), 200);
  return primary;
}

/** From here on it has the shares and the token of the primary. */
export async function joinRegionProcess(
  primary: ClusterProcess,
  region: ClusterProcess,
  id: string,
): Promise<void> {
  const key = await perf(region, "secondary/generate-public-key");
  is(key, 200);
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const made = await perf(primary, "primary/secondary-token", { id, secondary_public_key });
  is(made, 200);
  is(await perf(region, "secondary/enable", { token: at(made, "data", "token") }), 200);
  region.shares = primary.shares;
  region.token = primary.token;
}

/** It streams from somebody of this epoch, with everything, and its rooms are open. */
export async function regionFollows(region: ClusterProcess, epoch = 1): Promise<void> {
  await until(async () => {
    const status = await perfStatus(region);
    const reasons = status["promotable_reasons"];
    const isOpen =
      Array.isArray(reasons) && !["copied", "alone"].some((one) => reasons.includes(one));
    return status["state"] === "stream-wals" && status["epoch"] === epoch && isOpen;
  });
}

/** A second cluster stands in for one of a set. `at`: where it comes to. */
export async function standInProcess(
  of: ClusterProcess,
  standIn: ClusterProcess,
  id: string,
  address?: string,
): Promise<void> {
  const body = address === undefined ? {} : { primary_cluster_addr: address };
  is(await of.dr("primary/enable", body), 200);
  await joinProcess(of, standIn, id);
  await equalProcesses(of, standIn);
}

/** It takes the place of the one that it stands in for. */
export async function takeOverProcess(standIn: ClusterProcess, force: boolean): Promise<Answer> {
  const answer = await standIn.operate("promote", { force });
  is(answer, 200);
  return answer;
}

/** One number of its metrics, by its name and what its labels have. */
export async function metricOf(
  cluster: ClusterProcess,
  name: string,
  ...labels: readonly string[]
): Promise<number | null> {
  const { token } = cluster;
  const { text, status } = await cluster.call("GET", "/v1/sys/metrics?format=prometheus", {
    token,
  });
  assert.equal(status, 200, text);
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
  const found = lines.find((line) => labels.every((label) => line.includes(label)));
  return found === undefined ? null : Number(found.slice(found.lastIndexOf(" ") + 1));
}

/** A key/value mount with one secret, which is its own path; gives its uuid. */
export async function mountAt(
  cluster: ClusterProcess,
  path: string,
  namespace = "",
): Promise<string> {
  const mount = { type: "kv", options: { version: "1" } };
  const made = await within(cluster, "POST", `sys/mounts/${path}`, namespace, mount);
  assert.ok(made.status < 300, made.text);
  const put = await within(cluster, "POST", `${path}/one`, namespace, { of: path });
  assert.ok(put.status < 300, put.text);
  const entry = await within(cluster, "GET", `sys/mounts/${path}`, namespace);
  return String(at(entry, "data", "uuid"));
}

/** With the root token, in a namespace. */
export function within(
  cluster: ClusterProcess,
  method: string,
  path: string,
  namespace = "",
  body?: object,
): Promise<Answer> {
  const headers = namespace === "" ? {} : { "X-Service-Namespace": namespace };
  const { token } = cluster;
  return cluster.call(method, `/v1/${path}`, { token, headers, ...(body && { body }) });
}

/** The secret of such a mount; null where nothing is there. */
export async function secretOf(
  cluster: ClusterProcess,
  path: string,
  namespace = "",
): Promise<unknown> {
  const answer = await within(cluster, "GET", `${path}/one`, namespace);
  // Of a namespace that is not there nobody is told so.
  if (answer.status === 404 || (namespace !== "" && answer.status === 403)) return null;
  is(answer, 200);
  return at(answer, "data", "of");
}

/** Whether any file of the cluster names a mount, by its uuid or by the scope of its rows. */
export function isOnDiskOf({ home }: ClusterProcess, uuid: string): boolean {
  const scope = fromHex(uuid.replaceAll("-", ""))!;
  const files = readdirSync(join(home, "data"), { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .some((file) => {
      const bytes = readFileSync(join(file.parentPath, file.name));
      return bytes.includes(uuid) || bytes.includes(scope);
    });
}
