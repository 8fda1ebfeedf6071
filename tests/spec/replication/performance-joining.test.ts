// Cases of docs/cases/replication.md with the kind performance: how a cluster joins a primary and serves what is shared, what it costs when
// that fails, and how it is refused afterwards.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
  startRegion,
} from "../../support/replication/performance.ts";
import { OnceNet } from "../../support/replication/once-net.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

async function read(cluster: Cluster, path: string, token: string): Promise<Answer> {
  return await cluster.server.call("GET", `/v1/secret/data/${path}`, { token });
}

test("R-13, R-18: a cluster that joins serves what is shared, with the tokens of the primary; what it had before is gone", async (t) => {
  const primary = await startPerformancePrimary(t);
  await primary.put("x", { n: "1" });
  const secondary = await startRegion(t, "b");
  const own = secondary.token;
  const token = await performanceToken(primary, secondary);
  const enabled = await perf(secondary, "secondary/enable", { token });
  is(enabled, 200);
  assert.match(JSON.stringify(at(enabled, "warnings")), /all data of before is gone/);
  await regionInSync(primary, secondary);
  is(await read(secondary, "x", primary.token), 200);
  is(await read(secondary, "x", own), 403);
  const status = await perfStatus(secondary);
  assert.equal(status["mode"], "secondary");
  assert.equal(status["secondary_id"], "region-b");
  assert.equal(status["cluster_id"], (await perfStatus(primary))["cluster_id"]);
  assert.deepEqual(await secondary.status(), { mode: "disabled" });
  const health = await secondary.server.call("GET", "/v1/sys/health");
  is(health, 200);
  assert.equal(at(health, "replication_performance_mode"), "secondary");
  await primary.put("y", { n: "2" });
  await regionInSync(primary, secondary);
  is(await read(secondary, "y", primary.token), 200);
  await until(async () => {
    const { secondaries } = await perfStatus(primary);
    return JSON.stringify(secondaries).includes(`"state":"stream-wals"`);
  });
});

test("R-12, R-14: a token that was used or is for another key is refused, and the cluster keeps its data; the last key counts", async (t) => {
  const primary = await startPerformancePrimary(t);
  const other = await startRegion(t, "b");
  const before = await performanceToken(primary, other, "first");
  const after = await performanceToken(primary, other, "second");
  is(await perf(other, "secondary/enable", { token: before }), 400);
  assert.deepEqual(await perfStatus(other), { mode: "disabled" });
  is(await other.server.call("GET", "/v1/sys/mounts", { token: other.token }), 200);
  is(await perf(other, "secondary/enable", { token: after }), 200);
  await regionInSync(primary, other);
});

test("R-15, R-16: a primary that is not reached costs nothing: 502, all is as it was, and the same token works later", async (t) => {
  const { primary, way } = await startPerformancePrimaryBehind(t);
  const other = await startRegion(t, "b");
  const token = await performanceToken(primary, other);
  way.cut();
  is(await perf(other, "secondary/enable", { token }), 502);
  assert.deepEqual(await perfStatus(other), { mode: "disabled" });
  is(await other.server.call("GET", "/v1/sys/mounts", { token: other.token }), 200);
  way.heal();
  is(await perf(other, "secondary/enable", { token }), 200);
  await regionInSync(primary, other);
});

test("R-17: a cluster that is something in either kind already does not join", async (t) => {
  const primary = await startPerformancePrimary(t);
  const other = await startRegion(t, "b");
  const token = await performanceToken(primary, other);
  is(await other.dr("primary/enable"), 200);
  const refused = await perf(other, "secondary/enable", { token });
  is(refused, 400, "replication_role_taken");
  assert.match(refused.text, /disaster-recovery replication/);
  const tried = await perf(other, "secondary/enable", { token, dry_run: true });
  assert.equal(at(tried, "data", "ready"), false);
  is(await other.dr("primary/disable"), 200);
  is(await perf(other, "primary/enable"), 200);
  is(await perf(other, "secondary/enable", { token }), 400, "replication_role_taken");
  const dr = await other.dr("secondary/enable", { token });
  is(dr, 400, "replication_role_taken");
  assert.match(dr.text, /performance replication/);
});

test("R-20: a performance secondary that is revoked is cut off, hears why, stays idle, and is refused when it comes again; it serves what it has", async (t) => {
  const primary = await startPerformancePrimary(t);
  await primary.put("x", { n: "1" });
  const secondary = await joinedRegion(t, primary);
  await regionInSync(primary, secondary);
  is(await perf(primary, "primary/revoke-secondary", { id: "region-b" }), 204);
  const { known_secondaries } = await perfStatus(primary);
  assert.deepEqual(known_secondaries, []);
  await until(async () => {
    const { state, last_sync_error: why } = await perfStatus(secondary);
    return state === "idle" && /revoked/.test(JSON.stringify(why));
  });
  is(await read(secondary, "x", primary.token), 200);
  const written = await secondary.server.call("POST", "/v1/secret/data/y", {
    token: primary.token,
    body: { data: { n: "2" } },
  });
  is(written, 503, "primary_refuses");
  assert.match(written.text, /revoked/);
  assert.equal(written.headers["retry-after"], undefined);
});

test("R-24: an id that was revoked is good for another token; with it the same cluster comes again by update-primary, and keeps its data", async (t) => {
  const primary = await startPerformancePrimary(t);
  const secondary = await joinedRegion(t, primary);
  await regionInSync(primary, secondary);
  is(await perf(primary, "primary/revoke-secondary", { id: "region-b" }), 204);
  const token = await performanceToken(primary, secondary, "region-b", primary.token);
  is(await perf(secondary, "secondary/update-primary", { token }, primary.token), 200);
  await primary.put("x", { n: "1" });
  await regionInSync(primary, secondary);
  is(await read(secondary, "x", primary.token), 200);
});

test("two regions of one name do not replicate: the primary says which setting is to be changed, and nothing is lost", async (t) => {
  const primary = await startPerformancePrimary(t);
  const other = await startRegion(t, "a");
  const token = await performanceToken(primary, other);
  const refused = await perf(other, "secondary/enable", { token });
  is(refused, 502, "replication_primary_refuses");
  assert.match(refused.text, /set region in its configuration/);
  assert.deepEqual(await perfStatus(other), { mode: "disabled" });
  is(await other.server.call("GET", "/v1/sys/mounts", { token: other.token }), 200);
});

test("until the first copy is whole all but status and health is 503 with a time to try again, and a start changes nothing of it", async (t) => {
  const primary = await startPerformancePrimary(t);
  await primary.put("x", { n: "1" });
  const net = new OnceNet();
  const secondary = await startRegion(t, "b", { world: { net } });
  const token = await performanceToken(primary, secondary);
  is(await perf(secondary, "secondary/enable", { token }), 200);
  const { server } = secondary;
  const looksCopying = async () => {
    is(await perf(secondary, "secondary/disable", {}, primary.token), 403);
    for (const answer of [
      await read(secondary, "x", primary.token),
      await server.call("GET", "/v1/acl/tokens", { token: primary.token }),
      await secondary.dr("secondary/promote", {}, primary.token),
      await secondary.dr("secondary/recover", {}, primary.token),
    ]) {
      is(answer, 503, "first_copy"); // also on /acl/
      assert.equal(answer.headers["retry-after"], "5");
    }
    const { mode, promotable } = await perfStatus(secondary);
    assert.deepEqual({ mode, promotable }, { mode: "secondary", promotable: false });
    const health = await server.call("GET", "/v1/sys/health");
    is(health, 473);
    assert.deepEqual(
      [at(health, "replication_dr_mode"), at(health, "replication_dr_fenced")],
      ["disabled", false],
    );
  };
  await until(async () => (await server.call("GET", "/v1/sys/health")).status === 473);
  await looksCopying();
  await server.server.keeper.seal();
  await server.unseal(primary.opened.shares);
  await looksCopying();
  net.isOpen = true;
  const operator = await secondary.operationToken(primary.opened.shares);
  is(await server.call("POST", "/v1/sys/replication/recover", { token: operator }), 200);
  await regionInSync(primary, secondary);
  await until(async () => (await read(secondary, "x", primary.token)).status === 200);
  is(await perf(secondary, "secondary/disable", {}, operator), 403);
});

test("R-46, R-60: a first copy that is stuck is not promoted, keeps its primary where another address is nobody, and is given up: by an operation token, and nothing of it is left", async (t) => {
  const primary = await startPerformancePrimary(t);
  await primary.put("x", { n: "1" });
  const net = new OnceNet();
  const secondary = await startRegion(t, "b", {
    world: { net },
    settings: { outbound_allow: ["127.0.0.1"] },
  });
  const made = await performanceToken(primary, secondary);
  is(await perf(secondary, "secondary/enable", { token: made }), 200);
  const { server } = secondary;
  await until(async () => (await server.call("GET", "/v1/sys/health")).status === 473);
  const token = await secondary.operationToken(primary.opened.shares);
  for (const force of [false, true]) {
    const body = { dr_operation_token: token, force };
    const refused = await server.call("POST", "/v1/sys/replication/performance/secondary/promote", {
      body,
    });
    is(refused, 400, "replication_promotion_refused");
    assert.match(refused.text, /nothing of the primary's data is here yet/);
  }
  const tried = await perf(secondary, "secondary/promote", { dry_run: true }, token);
  const checks = at(tried, "data", "checks") as readonly Readonly<Record<string, unknown>>[];
  const { ok, skipped_by_force: skipped } = checks.find(({ name }) => name === "copied") ?? {};
  assert.deepEqual([ok, skipped], [false, false]);
  assert.equal((await perfStatus(secondary))["mode"], "secondary");
  const attention = await server.call("GET", "/v1/sys/attention", { token });
  is(attention, 200);
  assert.match(attention.text, /the first copy of what is shared is not whole/);
  const dead = ["https://127.0.0.1:1"];
  is(await perf(secondary, "secondary/update-primary", { update_primary_addrs: dead }, token), 502);
  is(await perf(secondary, "secondary/disable", {}, "nonsense"), 403, "invalid_operation_token");
  const left = await perf(secondary, "secondary/disable", {}, token);
  is(left, 200);
  assert.match(JSON.stringify(at(left, "warnings")), /is to be initialised as a new one/);
  is(await server.call("GET", "/v1/sys/health"), 501);
  const again = new Cluster(server, await server.open());
  assert.deepEqual(await perfStatus(again), { mode: "disabled" });
  is(await perf(again, "secondary/enable", { token: made }), 400); // it was for a key that is gone
  net.isOpen = true;
  is(await perf(primary, "primary/revoke-secondary", { id: "region-b" }), 204);
  is(await perf(again, "secondary/enable", { token: await performanceToken(primary, again) }), 200);
  await regionInSync(primary, again);
});
