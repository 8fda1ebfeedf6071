// What people and machines see of replication: metrics, history, signed rehearsals, events in the log, and settings.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { MINUTE } from "@holdfast/shared/text/duration";
import { openEnvelope } from "../../../src/signed/envelope.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  startCluster,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { PassingClock } from "../../support/servers/sealed-node.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

async function pair(t: TestContext, options: ClusterOptions = {}) {
  const a = await startPrimary(t, options);
  await a.put("x", { n: "1" });
  const b = await joined(t, a, "site-b", options);
  await inSync(a, b);
  return { a, b };
}

async function scraped(cluster: Cluster, token: string): Promise<string> {
  const path = "/v1/sys/metrics?format=prometheus";
  const answer = await cluster.server.call("GET", path, { token });
  is(answer, 200);
  return answer.text;
}

function events(cluster: Cluster): Set<string> {
  const found = cluster.server.lines.flatMap((line) => {
    const [, event = ""] = /event"?[=:] ?"?([a-z.-]+)/.exec(line) ?? [];
    return event === "" ? [] : [event];
  });
  return new Set(found);
}

test("both sides tell how far a secondary is, and the log names what has happened", async (t) => {
  const { a, b } = await pair(t);
  const own = `{kind="dr",secondary="site-b"}`;
  await until(async () => /lag_entries\{[^}]*\} 0\n/.test(await scraped(a, a.token)));
  const here = await scraped(a, a.token);
  assert.match(here, /^holdfast_replication_role\{kind="dr",role="primary"\} 1$/m);
  assert.match(here, /^holdfast_replication_role\{kind="dr",role="secondary"\} 0$/m);
  assert.match(here, /^holdfast_log_retained_bytes [1-9]/m);
  const there = await scraped(b, await b.operationToken(a.opened.shares));
  assert.match(there, /^holdfast_replication_role\{kind="dr",role="secondary"\} 1$/m);
  assert.match(there, /^holdfast_replication_sync_rows_total\{kind="dr"\} [1-9]/m);
  for (const text of [here, there]) {
    for (const line of [
      `holdfast_replication_connected${own} 1`,
      `holdfast_replication_remote_index${own} ${a.index}`,
      `holdfast_storage_index{kind="last_dr"} ${a.index}`,
    ]) {
      assert.ok(text.includes(`${line}\n`), `${line}\n${text}`);
    }
    assert.ok(text.includes(`holdfast_replication_heartbeat_age_seconds${own} 0`), text);
  }
  assert.ok(events(a).has("replication.secondary-connected"), [...events(a)].join(" "));
  const line = a.server.lines.find((one) => one.includes("secondary-connected"));
  assert.match(line ?? "", /\] +replication: /, "it says who speaks");
  for (const event of ["state-changed", "sync-started", "sync-finished"]) {
    assert.ok(events(b).has(`replication.${event}`), event);
  }
  assert.ok(events(b).has("operation-token.issued"));
  await a.dr("primary/revoke-secondary", { id: "site-b" });
  assert.ok(events(a).has("replication.secondary-revoked"));
});

test("status has the lag of the last hour for who asks, and says what keeps it from being promoted", async (t) => {
  const { a, b } = await pair(t);
  const status = await b.server.call("GET", "/v1/sys/replication/dr/status?history=true");
  const history = at(status, "data", "lag_history") as Record<string, number[]>;
  assert.ok(history["times"]!.length > 0, status.text);
  assert.equal(history["times"]!.length, history["wal_lag"]!.length);
  assert.equal(history["times"]!.length, history["lag_ms"]!.length);
  assert.equal((await b.status())["lag_history"], undefined);
  const { promotable, promotable_reasons: reasons } = await b.status();
  assert.deepEqual([promotable, reasons], [false, ["primary-gone"]]);
  is(await a.dr("primary/demote"), 200);
  assert.equal((await b.status())["promotable"], true);
});

test("health of a secondary has skew, way and age as numbers", async (t) => {
  const { b } = await pair(t);
  await until(async () => {
    const health = at(await b.server.call("GET", "/v1/sys/health")) as JsonObject;
    return ["clock_skew_ms", "echo_duration_ms", "replication_primary_canary_age_ms"].every(
      (name) => typeof health[name] === "number" && Math.abs(health[name]) < 60_000,
    );
  });
});

test("a rehearsal says what would be lost and what is next, and is signed for", async (t) => {
  const { a, b } = await pair(t);
  const token = await b.operationToken(a.opened.shares);
  const dry = { dr_operation_token: token, dry_run: true };
  const early = await b.dr("secondary/promote", dry);
  is(early, 200);
  const [first, second, ...more] = at(early, "data", "next") as string[];
  assert.match(first ?? "", /^on the primary \(http\S+\): holdfast replication demote$/);
  assert.equal(second, "here: holdfast replication promote -dr-token FILE");
  assert.match(more.at(-1) ?? "", /where the primary is lost: .* promote -force -dr-token FILE$/);
  assert.equal(at(early, "data", "unheard_seconds"), undefined);
  is(await a.dr("primary/demote"), 200);
  const ready = await b.dr("secondary/promote", dry);
  assert.equal(at(ready, "data", "ready"), true);
  const ids = [early, ready].map((answer) => String(at(answer, "data", "evidence")));
  const states: unknown[] = [];
  for (const id of ids) {
    const read = await b.server.call("GET", `/v1/sys/evidence/${id}`, { token });
    is(read, 200);
    assert.equal(at(read, "data", "kind"), "replication.rehearsal");
    const open = openEnvelope(at(read, "data", "envelope") as JsonObject);
    assert.ok(open !== null && b.server.server.evidence.hasSigned(open));
    const changed = { ...open, payload: Buffer.concat([open.payload, Buffer.from(" ")]) };
    assert.ok(!b.server.server.evidence.hasSigned(changed));
    states.push(at(read, "data", "report", "result", "state"));
    const unproven = at(read, "data", "report", "not_proven") as string[];
    assert.ok(unproven.some((line) => line.includes("last heard of it")));
  }
  assert.deepEqual(states, ["only-by-force", "ready"]);
});

test("a ticket follows another primary once; where nothing was changed it is as good as before", async (t) => {
  const { a, b } = await pair(t);
  const made = await a.dr("primary/operator-ticket", { operations: ["update-primary", "recover"] });
  is(made, 200);
  const ticket = at(made, "data", "ticket");
  const update = (body: object) =>
    b.server.call("POST", "/v1/sys/replication/dr/secondary/update-primary", {
      body: { dr_operation_token: ticket, ...body },
    });
  is(await update({ token: "no token" }), 400);
  is(await update({}), 400);
  is(await update({ token: "" }), 200);
  assert.equal((await b.status())["secondary_id"], "");
  is(await update({ token: "" }), 403);
  is(await b.dr("secondary/recover", { dr_operation_token: ticket }, "none"), 403);
});

test("a secondary is revoked by the id of its cluster too, and by that of the set where it is the only one", async (t) => {
  const { a, b } = await pair(t);
  const revoke = (id: string) => a.dr("primary/revoke-secondary", { id });
  is(await revoke(await b.clusterId()), 204);
  assert.deepEqual((await a.status())["known_secondaries"], []);
  const set = JSON.stringify((await a.status())["cluster_id"]).slice(1, -1);
  for (const id of ["c", "d"]) is(await a.dr("primary/secondary-token", { id }), 200);
  const both = await revoke(set);
  is(both, 400);
  assert.equal(both.headers["x-service-error"], "replication_secondary_ambiguous");
  is(await revoke("c"), 204);
  is(await revoke(set), 204);
  assert.deepEqual((await a.status())["known_secondaries"], []);
});

test("replication of a primary begins anew when somebody says so, and of a cluster that has none not at all", async (t) => {
  const { a, b } = await pair(t);
  const recover = (cluster: Cluster) =>
    cluster.server.call("POST", "/v1/sys/replication/recover", { token: cluster.token, body: {} });
  is(await recover(a), 200);
  await a.put("y", { n: "1" });
  await inSync(a, b);
  is(await recover(await startCluster(t)), 400);
});

test("with accept_fence off a primary goes on beside another one, and its log says so", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, {
    settings: { replication: { accept_fence: false } },
  });
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await b.replication.promote({ force: true, address: "" });
  way.heal();
  await until(() => a.server.lines.some((line) => line.includes("accept_fence is off")));
  await a.put("y", { n: "1" });
  assert.equal((await a.status())["state"], "running");
  is(await a.server.call("POST", "/v1/sys/seal", { token: a.token }), 204);
  await a.server.unseal(a.opened.shares);
  await a.put("z", { n: "1" });
  assert.equal((await a.status())["state"], "running", "also when it is unsealed");
});

test("wal_retention_bytes bounds the log that is kept for one who does not come", async (t) => {
  const settings = { replication: { wal_retention_bytes: "16MiB" } };
  const a = await startPrimary(t, { settings });
  is(await a.dr("primary/secondary-token", { id: "away" }), 200);
  const { store } = a.server.server;
  const value = "x".repeat(900_000);
  for (let i = 0; i < 22; i++) await a.put(`large-${i}`, { value });
  await until(() => (store.tail?.first ?? 0n) > 3n);
});

test("a secondary that has not come since its primary began is told of, once it had time to", async (t) => {
  const clock = new PassingClock();
  const { primary: a, way } = await startPrimaryBehind(t, { world: { clock } });
  const { token } = a;
  const b = await joined(t, a);
  await inSync(a, b);
  is(await a.dr("primary/secondary-token", { id: "never-used" }), 200);
  way.cut();
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  const behind = () => a.replication.status.attention.behind.map(({ name }) => name);
  assert.deepEqual(behind(), [], "it may be on its way");
  clock.ahead += 3n * MINUTE;
  assert.deepEqual(behind(), ["site-b"]);
  way.heal();
  await b.replication.recover();
  await until(() => behind().length === 0);
  is(await a.server.call("GET", "/v1/sys/health", { token }), 200);
});
