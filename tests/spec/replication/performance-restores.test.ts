// A snapshot that is restored on a performance primary: data goes back, and what the cluster is in its set does not.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  deny,
  mountSecret,
  readFilter,
  request,
  scopeOfMount,
  secretAt,
  siftedRegion,
} from "../../support/replication/filtered.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  withRoot,
} from "../../support/replication/performance.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

function is(answer: Pick<Answer, "status" | "text">, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

async function restore(cluster: Cluster, token: string, archive: Uint8Array): Promise<void> {
  is(await sendSnapshot(cluster.server.url, token, "snapshot", archive), 204);
  await until(async () => {
    const path = "/v1/sys/storage/raft/restore-status";
    const status = await cluster.server.call("GET", path, { token });
    return status.status === 200 && at(status, "data", "state") === "done";
  });
}

async function knownTo(cluster: Cluster): Promise<unknown[]> {
  const { known_secondaries: known } = await perfStatus(cluster);
  return Array.isArray(known) ? known : [];
}

test("R-126 on a performance primary: what was denied since the snapshot stays so, who was revoked does, and the set has another epoch", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  await mountSecret(a, "us");
  const b = withRoot(await joinedRegion(t, a, "b"), a.token);
  const c = await joinedRegion(t, a, "c");
  await siftedRegion(a, b);
  await regionInSync(a, c);
  const { body: archive } = await takeSnapshot(a.server.url, a.token);
  await deny(a, "eu/");
  is(await perf(a, "primary/revoke-secondary", { id: "region-c" }), 204);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  await mountSecret(a, "later");

  await restore(a, a.token, archive);
  assert.deepEqual(at(await readFilter(a), "data", "paths"), ["eu/"]);
  assert.deepEqual(await knownTo(a), ["region-b"]);
  const { epoch, mode } = await perfStatus(a);
  assert.deepEqual({ epoch, mode }, { epoch: 2, mode: "primary" });
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal((await perfStatus(b))["epoch"], 2);
  assert.equal(await secretAt(b, "us"), "us");
  assert.equal(await secretAt(b, "eu"), null);
  assert.equal(await secretAt(b, "later"), null, "it goes back with its primary");
  // Written after it, of both kinds.
  for (const mount of ["eu", "us"]) {
    is(await request(a, "POST", `${mount}/one`, { body: { of: "again" } }), 204);
  }
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await secretAt(b, "us"), "again");
  assert.equal(await secretAt(b, "eu"), null);
  await until(async () => (await perfStatus(c))["state"] !== "stream-wals");
});

test("R-126: who was promoted since the snapshot goes on leading after it was restored, and is followed", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a, "b");
  await regionInSync(a, b);
  const root = a.token;
  const { body: archive } = await takeSnapshot(b.server.url, root);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, a);
  await restore(b, root, archive);
  const { epoch, mode, state } = await perfStatus(b);
  assert.deepEqual({ epoch, mode, state }, { epoch: 3, mode: "primary", state: "running" });
  await regionInSync(b, a);
  assert.equal((await perfStatus(a))["epoch"], 3);
  assert.deepEqual(await knownTo(b), ["region-a"]);
});

test("a snapshot of another region is refused where the set may have that one, and changes nothing", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a, "b");
  await regionInSync(a, b);
  const root = a.token;
  const { body: archive } = await takeSnapshot(a.server.url, root);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, a);
  is(await sendSnapshot(b.server.url, root, "snapshot-force", archive), 204);
  const path = "/v1/sys/storage/raft/restore-status";
  let status: unknown;
  await until(async () => {
    const answer = await b.server.call("GET", path, { token: root });
    status = at(answer, "data", "error");
    return at(answer, "data", "state") === "failed";
  });
  assert.match(
    String(status),
    /the snapshot is of the region "a", and this cluster is "b" in a performance set/,
  );
  assert.equal((await perfStatus(b))["epoch"], 2);
  await regionInSync(b, a);
});

test("R-126: one that leads no set any more leads none after a snapshot of when it did", async (t) => {
  const a = await startPerformancePrimary(t);
  const { body: archive } = await takeSnapshot(a.server.url, a.token);
  is(await perf(a, "primary/disable"), 200);
  await restore(a, a.token, archive);
  assert.equal((await perfStatus(a))["mode"], "disabled");
  is(await perf(a, "primary/enable"), 200);
  assert.equal((await perfStatus(a))["epoch"], 1);
});
