// What clients have seen, as they say it with X-Service-State, over promotions of a performance set, a restore, and a set that is left.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
} from "../../support/replication/performance.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

/** A write, and what it says of how far it was seen. */
async function put(cluster: Cluster, path: string, token: string): Promise<string> {
  const body = { data: { n: "1" } };
  const answer = await cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
  is(answer, 200);
  return String(answer.headers["x-service-state"]);
}

function read(cluster: Cluster, path: string, token: string, state: string): Promise<Answer> {
  const headers = { "X-Service-State": state };
  return cluster.server.call("GET", `/v1/secret/data/${path}`, { token, headers });
}

function isLost(answer: Answer): void {
  is(answer, 412, "state_lost");
  assert.equal(answer.headers["retry-after"], undefined);
  assert.match(answer.text, /will not be seen any more/);
}

test("R-89, R-49: what a primary shared after another was promoted in its place is told as lost, there and where it joins again; what came before is reached, and the generation counts", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  const root = a.token;
  const kept = await put(a, "kept", root);
  await regionInSync(a, b);
  assert.equal((await perfStatus(b))["ssct_generation_counter"], 0);
  way.cut();
  const lost = await put(a, "lost", root);
  is(await perf(b, "secondary/promote", { force: true }, root), 200);
  assert.equal((await perfStatus(b))["ssct_generation_counter"], 1);
  is(await read(b, "kept", root, kept), 200);
  isLost(await read(b, "kept", root, lost));
  const after = await put(b, "after", root);
  isLost(await read(b, "after", root, lost));
  way.heal();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await perf(a, "primary/demote", {}, root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, a);
  isLost(await read(a, "kept", root, lost));
  is(await read(a, "kept", root, kept), 200);
  is(await read(a, "after", root, after), 200);
  assert.equal((await perfStatus(a))["ssct_generation_counter"], 1);
});

test("R-89: who was superseded and leads again goes on from where the other parted from it: nothing that the other has shared is taken for its own", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  const root = a.token;
  const kept = await put(a, "kept", root);
  await regionInSync(a, b);
  way.cut();
  // Both go on, and what the other shares has indexes that are used here as well.
  while (a.index < b.index + 20n) await put(a, "alone", root);
  is(await perf(b, "secondary/promote", { force: true }, root), 200);
  const others = await put(b, "others", root);
  way.heal();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await perf(a, "primary/demote", {}, root), 200);
  assert.ok(b.index < a.index, "the harness");
  is(await perf(a, "secondary/promote", { force: true }, root), 200);
  assert.equal((await perfStatus(a))["epoch"], 3);
  isLost(await read(a, "kept", root, others));
  is(await read(a, "kept", root, kept), 200);
});

test("R-89: after a planned change of the primary nothing that was seen is lost, also where the last writes were local", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  const root = a.token;
  const state = await put(a, "x", root);
  await regionInSync(a, b);
  const demoted = await perf(a, "primary/demote");
  is(demoted, 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  is(await read(b, "x", root, state), 200);
  is(await read(b, "x", root, String(demoted.headers["x-service-state"])), 200);
});

test("R-89: what was written after a snapshot is told as lost once that was restored", async (t) => {
  const a = await startPerformancePrimary(t);
  const root = a.token;
  const kept = await put(a, "kept", root);
  const { body: archive } = await takeSnapshot(a.server.url, root);
  const lost = await put(a, "lost", root);
  is(await sendSnapshot(a.server.url, root, "snapshot", archive), 204);
  await until(async () => {
    const path = "/v1/sys/storage/raft/restore-status";
    const status = await a.server.call("GET", path, { token: root });
    return status.status === 200 && at(status, "data", "state") === "done";
  });
  is(await read(a, "kept", root, kept), 200);
  isLost(await read(a, "kept", root, lost));
});

test("a state of the set is refused where that was left, for it says nothing there", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  const root = a.token;
  const state = await put(a, "x", root);
  await regionInSync(a, b);
  is(await read(b, "x", root, state), 200);
  is(await perf(b, "secondary/disable", {}, root), 200);
  is(await read(b, "x", root, state), 400, "state_unknown");
  is(await read(b, "x", root, await put(b, "own", root)), 200);
});
