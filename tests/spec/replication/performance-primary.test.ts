// Cases of docs/cases/replication.md with the kind performance: status, how a cluster becomes a primary, and the tokens that it makes.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { startCluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceOf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
  startRegion,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

test("R-4: a cluster becomes a performance primary with a warning, runs, and begins epoch 1; status of both kinds and health say so", async (t) => {
  const cluster = await startCluster(t);
  const enabled = await perf(cluster, "primary/enable");
  is(enabled, 200);
  assert.equal(at(enabled, "data"), null);
  assert.equal((at(enabled, "warnings") as string[]).length, 1);
  const status = await perfStatus(cluster);
  const { mode, state, epoch, known_secondaries, secondaries } = status;
  assert.deepEqual(
    { mode, state, epoch, known_secondaries, secondaries },
    { mode: "primary", state: "running", epoch: 1, known_secondaries: [], secondaries: [] },
  );
  assert.equal(typeof status["last_performance_wal"], "number");
  assert.equal(status["last_dr_wal"], undefined);
  assert.match(JSON.stringify(status["merkle_root"]), /^"[0-9a-f]{64}"$/);
  const both = await cluster.server.call("GET", "/v1/sys/replication/status");
  assert.deepEqual(at(both, "data", "dr"), { mode: "disabled" });
  assert.equal(at(both, "data", "performance", "cluster_id"), status["cluster_id"]);
  const health = await cluster.server.call("GET", "/v1/sys/health");
  is(health, 200);
  assert.equal(at(health, "replication_performance_mode"), "primary");
  assert.equal(at(health, "replication_dr_mode"), "disabled");
});

test("R-4: a cluster is a primary of both kinds at once, each with a set of its own, and each ends by itself", async (t) => {
  const cluster = await startPerformancePrimary(t);
  is(await cluster.dr("primary/enable"), 200);
  const [dr, shared] = [await cluster.status(), await perfStatus(cluster)];
  assert.deepEqual([dr["mode"], shared["mode"]], ["primary", "primary"]);
  assert.notEqual(dr["cluster_id"], shared["cluster_id"]);
  assert.notEqual(dr["merkle_root"], shared["merkle_root"], "one is of what is shared alone");
  is(await cluster.dr("primary/secondary-token", { id: "b" }), 200);
  is(await perf(cluster, "primary/secondary-token", { id: "b" }), 200);
  is(await cluster.dr("primary/disable"), 200);
  assert.deepEqual((await perfStatus(cluster))["known_secondaries"], ["b"]);
  await cluster.put("x", { n: "1" });
});

test("R-5: a performance primary is not enabled again", async (t) => {
  const primary = await startPerformancePrimary(t);
  const before = await perfStatus(primary);
  const again = await perf(primary, "primary/enable");
  is(again, 400, "replication_primary_already");
  assert.match(again.text, /sys\/replication\/performance\/status/);
  assert.equal((await perfStatus(primary))["cluster_id"], before["cluster_id"]);
});

test("R-6: an address that is none is refused, and the cluster stays what it was", async (t) => {
  const cluster = await startCluster(t);
  for (const primary_cluster_addr of ["http://a:1", "https://a", "https://a:1/x"]) {
    is(
      await perf(cluster, "primary/enable", { primary_cluster_addr }),
      400,
      "replication_address_unusable",
    );
    assert.deepEqual(await perfStatus(cluster), { mode: "disabled" });
  }
  is(await perf(cluster, "primary/enable", { primary_cluster_addr: "perf.example:8201" }), 200);
  assert.equal((await perfStatus(cluster))["primary_cluster_addr"], "https://perf.example:8201");
});

test("R-7: a token for a performance secondary needs sudo", async (t) => {
  const primary = await startPerformancePrimary(t);
  const { server, token } = primary;
  const policy = `path "sys/replication/performance/primary/*" { capabilities = ["update"] }`;
  const body = { policy };
  const put = await server.call("POST", "/v1/sys/policies/acl/some", { token, body });
  assert.ok(put.status < 300, put.text);
  const made = await server.call("POST", "/v1/auth/token/create", {
    token,
    body: { policies: ["some"] },
  });
  const some = String(at(made, "auth", "client_token"));
  is(await perf(primary, "primary/secondary-token", { id: "b" }, some), 403);
  is(await perf(primary, "primary/revoke-secondary", { id: "b" }, some), 204); // which does not
});

test("R-8, R-9, R-10: tokens of a performance primary: ids, lifetimes, and what is no primary", async (t) => {
  const primary = await startPerformancePrimary(t);
  is(await perf(primary, "primary/secondary-token"), 400);
  for (const id of ["", "-b", "b c", "b".repeat(65)]) {
    is(await perf(primary, "primary/secondary-token", { id }), 400);
  }
  for (const ttl of ["0", "25h"]) {
    is(await perf(primary, "primary/secondary-token", { id: "never", ttl }), 400);
  }
  const usual = await perf(primary, "primary/secondary-token", { id: "b" });
  is(usual, 200);
  assert.equal(at(usual, "data"), null);
  assert.equal(at(usual, "wrap_info", "ttl"), 1800);
  is(await perf(primary, "primary/secondary-token", { id: "b" }), 400);
  const short = await perf(primary, "primary/secondary-token", { id: "c", ttl: "2m" });
  assert.equal(at(short, "wrap_info", "ttl"), 120);
  const other = await startCluster(t);
  const refused = await perf(other, "primary/secondary-token", { id: "b" });
  is(refused, 400, "replication_not_primary");
  assert.match(refused.text, /performance replication/);
});

test("R-11: a wrapped token of a performance primary is unwrapped once, and says which kind it is of", async (t) => {
  const primary = await startPerformancePrimary(t);
  const made = await perf(primary, "primary/secondary-token", { id: "b" });
  const token = String(at(made, "wrap_info", "token"));
  const unwrap = () => primary.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
  const opened = await unwrap();
  is(opened, 200);
  assert.equal(at(opened, "data", "mode"), "performance");
  assert.equal(at(opened, "data", "cluster_id"), (await perfStatus(primary))["cluster_id"]);
  assert.equal((await unwrap()).status, 400);
});

test("a token of one kind opens nothing of the other", async (t) => {
  const primary = await startPerformancePrimary(t);
  const other = await startRegion(t, "b");
  const token = await performanceToken(primary, other);
  is(await other.dr("secondary/enable", { token }), 400);
  assert.deepEqual(await other.status(), { mode: "disabled" });
});

test("R-19, R-22, R-24: a token that nobody has used is known until it is revoked; its id is free again", async (t) => {
  const primary = await startPerformancePrimary(t);
  is(await perf(primary, "primary/secondary-token", { id: "b" }), 200);
  const { known_secondaries, secondaries } = await perfStatus(primary);
  assert.deepEqual([known_secondaries, secondaries], [["b"], []]);
  is(await perf(primary, "primary/revoke-secondary", { id: "b" }), 204);
  assert.deepEqual((await perfStatus(primary))["known_secondaries"], []);
  is(await perf(primary, "primary/revoke-secondary", { id: "b" }), 204);
  is(await perf(primary, "primary/revoke-secondary", { id: "b." }), 400, "joining_id_invalid");
  is(await perf(primary, "primary/secondary-token", { id: "b" }), 200);
});

test("R-61: a performance primary that is disabled and enabled again begins another set", async (t) => {
  const primary = await startPerformancePrimary(t);
  const { cluster_id: before } = await perfStatus(primary);
  is(await perf(primary, "primary/disable"), 200);
  assert.deepEqual(await perfStatus(primary), { mode: "disabled" });
  await primary.put("x", { a: "1" }); // it works on
  is(await perf(primary, "primary/enable"), 200);
  assert.notEqual((await perfStatus(primary))["cluster_id"], before);
});

test("the role of a performance primary outlives a start, with its authority and who is known", async (t) => {
  const primary = await startPerformancePrimary(t);
  is(await perf(primary, "primary/secondary-token", { id: "b" }), 200);
  const before = await perfStatus(primary);
  const { server } = primary;
  is(await server.call("POST", "/v1/sys/seal", { token: primary.token }), 204);
  await server.unseal(primary.opened.shares);
  const { cluster_id, known_secondaries } = await perfStatus(primary);
  assert.deepEqual([cluster_id, known_secondaries], [before["cluster_id"], ["b"]]);
});

test("the log is kept for a region that is away, and not only for who stands in for the primary: it goes on by it", async (t) => {
  const bytes = 400_000n; // looked at after a sixteenth of it
  const logRetention = { minEntries: 1n, bytes };
  const { primary: a, way } = await startPerformancePrimaryBehind(t, { logRetention });
  const b = await joinedRegion(t, a);
  await a.put("x", { n: "1" });
  await regionInSync(a, b);
  const acknowledged = () => performanceOf(a).retention?.acknowledged ?? 0n;
  await until(() => acknowledged() === a.index);
  way.cut();
  const { store } = a.server.server;
  const before = performanceOf(b).status.reading.rows;
  const value = "x".repeat(30_000);
  for (let i = 0; i < 6; i++) await a.put(`large-${i}`, { value });
  await until(() => {
    const [{ first }, known] = [store.tail!, acknowledged()];
    assert.ok(first <= known + 1n, `${first}, and it has all up to ${known}`);
    return first === known + 1n; // what it has is kept for nobody
  });
  way.heal();
  await regionInSync(a, b);
  assert.equal(performanceOf(b).status.reading.rows, before, "nothing was compared");
});
