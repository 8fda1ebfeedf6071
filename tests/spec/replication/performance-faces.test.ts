// What people and machines see of performance replication: status, metrics, attention and health.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
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
  startRegion,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

async function scraped(cluster: Cluster, token: string): Promise<string> {
  const path = "/v1/sys/metrics?format=prometheus";
  const answer = await cluster.server.call("GET", path, { token });
  is(answer, 200);
  return answer.text;
}

async function health(cluster: Cluster): Promise<JsonObject> {
  return at(await cluster.server.call("GET", "/v1/sys/health")) as JsonObject;
}

/** What needs attention of replication, by code: subject and text of each. */
async function attention(cluster: Cluster, token: string): Promise<Map<string, string>> {
  const answer = await cluster.server.call("GET", "/v1/sys/attention", { token });
  is(answer, 200);
  const items = at(answer, "data", "items") as Readonly<Record<string, string>>[];
  const found = items.filter(({ code = "" }) => code.startsWith("replication."));
  return new Map(found.map(({ code = "", subject, text }) => [code, `${subject}: ${text}`]));
}

test("status of both sides names the regions, and a secondary says whether writes are sent on; a cut shows in attention, metrics and health", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const root = a.token;
  await until(async () => JSON.stringify(await perfStatus(a)).includes(`"region":"b"`));
  const here = await perfStatus(a);
  assert.equal(here["region"], "a");
  await until(async () => (await perfStatus(b))["forwards_writes"] === true);
  const there = await perfStatus(b);
  assert.deepEqual([there["region"], there["primary_region"]], ["b", "a"]);

  const own = `{kind="performance",secondary="region-b"}`;
  for (const cluster of [a, b]) {
    await until(async () =>
      (await scraped(cluster, root)).includes(`holdfast_replication_connected${own} 1\n`),
    );
  }
  const metrics = await scraped(b, root);
  assert.match(metrics, /^holdfast_replication_role\{kind="performance",role="secondary"\} 1$/m);
  assert.match(metrics, /^holdfast_replication_role\{kind="dr",role="disabled"\} 1$/m);
  assert.match(metrics, /^holdfast_replication_sync_rows_total\{kind="performance"\} [1-9]/m);
  await until(async () => {
    const { echo_duration_ms: way, replication_primary_canary_age_ms: age } = await health(b);
    return typeof way === "number" && typeof age === "number" && age < 60_000;
  });
  assert.equal((await attention(b, root)).get("replication.lag"), undefined);

  way.cut();
  await until(async () => (await perfStatus(b))["forwards_writes"] === false);
  await until(async () => (await attention(b, root)).has("replication.lag"));
  const cut = (await attention(b, root)).get("replication.lag") ?? "";
  assert.match(cut, /^performance: this performance secondary does not stream/);
  await until(async () => (await attention(a, root)).has("replication.lag"));
  const away = (await attention(a, root)).get("replication.lag") ?? "";
  assert.match(away, /^performance\/region-b: a performance secondary is not connected/);
  assert.ok((await scraped(b, root)).includes(`holdfast_replication_connected${own} 0\n`));
  const { replication_performance_mode: mode, replication_dr_mode: dr } = await health(b);
  assert.deepEqual([mode, dr], ["secondary", "disabled"]);
  // Q40: how old the global tokens are here.
  await until(async () => Number((await health(b))["replication_primary_canary_age_ms"]) > 0);
  is(await b.server.call("GET", "/v1/sys/health"), 200);
});

test("a primary in whose place another was promoted says so of this kind alone: health, metrics and attention", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const root = a.token;
  way.cut();
  is(await perf(b, "secondary/promote", { force: true }, root), 200);
  way.heal();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  await until(async () => (await attention(a, root)).has("replication.fenced"));
  const text = (await attention(a, root)).get("replication.fenced") ?? "";
  assert.match(text, /^performance: another performance primary was promoted/);
  const now = await health(a);
  assert.deepEqual(
    [now["replication_performance_fenced"], now["replication_dr_fenced"]],
    [true, false],
  );
  const metrics = await scraped(a, root);
  assert.match(metrics, /^holdfast_replication_role\{kind="performance",role="fenced"\} 1$/m);
  assert.match(metrics, /^holdfast_replication_role\{kind="dr",role="fenced"\} 0$/m);
  assert.equal((await perfStatus(b))["region"], "b");
});

test("two secondaries of one region are not taken: who comes second is told by whom the name is taken, and keeps its data", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a, "b");
  await regionInSync(a, b);
  const other = await startRegion(t, "b");
  const token = await performanceToken(a, other, "second");
  const tried = await perf(other, "secondary/enable", { token, dry_run: true });
  is(tried, 200);
  assert.equal(at(tried, "data", "ready"), false);
  const refused = await perf(other, "secondary/enable", { token });
  is(refused, 502, "replication_primary_refuses");
  assert.match(refused.text, /has the name of the secondary region-b/);
  assert.deepEqual(await perfStatus(other), { mode: "disabled" });
  is(await other.server.call("GET", "/v1/sys/mounts", { token: other.token }), 200);
  // Also where the first is away: its name is kept.
  await b.server.stop();
  is(await perf(other, "secondary/enable", { token }), 502, "replication_primary_refuses");
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204);
  is(await perf(other, "secondary/enable", { token }), 200);
  await regionInSync(a, other);
});

test("the status of either kind is the same in every namespace, whether there is such a one or not, and with a token of another", async (t) => {
  const a = await startPerformancePrimary(t);
  const { token } = a;
  is(await a.server.call("POST", "/v1/sys/namespaces/team", { token }), 200);
  const made = await a.server.call("POST", "/v1/auth/token/create", {
    token,
    body: {},
    namespace: "team",
  });
  const theirs = String(at(made, "auth", "client_token"));
  for (const kind of ["dr", "performance"]) {
    const path = `/v1/sys/replication/${kind}/status`;
    const statusFor = async (more: { namespace?: string; token?: string }) => {
      const answer = await a.server.call("GET", path, more);
      is(answer, 200);
      const {
        merkle_root: _root,
        last_performance_wal: _wal,
        ...status
      } = at(answer, "data") as JsonObject;
      return status;
    };
    const open = await statusFor({});
    for (const namespace of ["team", "nobody", "team/nobody"]) {
      assert.deepEqual(await statusFor({ namespace }), open, namespace);
      assert.deepEqual(await statusFor({ namespace, token: theirs }), open, namespace);
    }
  }
});
