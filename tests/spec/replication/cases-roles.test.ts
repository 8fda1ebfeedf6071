// Cases of docs/cases/replication.md: how the role of a cluster changes, what that costs, and what it never costs.

import assert from "node:assert/strict";
import test from "node:test";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { until } from "../../support/until.ts";

const NOW = { force: false, address: "" };
const FORCED = { force: true, address: "" };

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

/** With the token of the first primary of all. */
function write(cluster: Cluster, token: string, path: string): Promise<Answer> {
  const body = { data: { a: "1" } };
  return cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
}

function read(cluster: Cluster, token: string, path: string): Promise<Answer> {
  return cluster.server.call("GET", `/v1/secret/data/${path}`, { token });
}

test("R-47: a secondary is not promoted while its primary lives, and is once it was demoted", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const body = { dr_operation_token: await b.operationToken(a.opened.shares) };
  const refused = await b.dr("secondary/promote", body);
  is(refused, 400, "replication_promotion_refused");
  assert.match(refused.text, /primary-gone/);
  assert.equal((await b.status())["mode"], "secondary");
  is(await a.dr("primary/demote"), 200);
  const { role } = b.replication;
  assert.ok(role.mode === "secondary" && role.final === String(a.index)); // stored by then
  is(await b.dr("secondary/promote", body), 200);
  assert.equal((await b.status())["mode"], "primary");
});

test("R-49: after a promotion the cluster is a primary without secondaries, an epoch further", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const before = await b.status();
  is(await a.dr("primary/demote"), 200);
  await b.replication.promote(NOW);
  const { mode, state, known_secondaries, epoch, ssct_generation_counter, cluster_id } =
    await b.status();
  assert.deepEqual(
    { mode, state, known_secondaries, epoch, ssct_generation_counter, cluster_id },
    {
      mode: "primary",
      state: "running",
      known_secondaries: [],
      epoch: Number(before["epoch"]) + 1,
      ssct_generation_counter: Number(before["ssct_generation_counter"]) + 1,
      cluster_id: before["cluster_id"],
    },
  );
});

test("R-50: tokens and leases of the old primary are usable and renewable on the new one", async (t) => {
  const a = await startPrimary(t);
  const body = { policies: ["default"], ttl: "1h", renewable: true };
  const made = await a.server.call("POST", "/v1/auth/token/create", { token: a.token, body });
  const token = String(at(made, "auth", "client_token"));
  const b = await joined(t, a);
  await inSync(a, b);
  is(await a.dr("primary/demote"), 200);
  await b.replication.promote(NOW);
  is(await b.server.call("GET", "/v1/auth/token/lookup-self", { token }), 200);
  is(await b.server.call("POST", "/v1/auth/token/renew-self", { token, body: {} }), 200);
  is(await b.server.call("GET", "/v1/sys/mounts", { token: a.token }), 200);
});

test("R-51, R-52: writes around a demotion are either refused or on the other side afterwards", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  is(await a.dr("primary/secondary-token", { id: "unused" }), 200);
  const writes = new Map<string, Promise<Answer>>();
  let isOver = false;
  const writing = (async () => {
    for (let i = 0; !isOver; i++) {
      const path = `x-${i}`;
      const answer = write(a, a.token, path);
      writes.set(path, answer);
      if (i % 8 === 0) await answer;
    }
  })();
  await until(() => writes.size > 40);
  const demoted = await a.dr("primary/demote");
  isOver = true;
  await writing;
  is(demoted, 200);
  assert.match(demoted.text, /(?<!NOT )everything is on: site-b/);
  assert.doesNotMatch(demoted.text, /unused/); // who never came is not waited for
  await b.replication.promote(NOW);
  let taken = 0;
  for (const [path, answering] of writes) {
    const { status, text } = await answering;
    assert.ok(status === 200 || status === 503, text);
    if (status !== 200) continue;
    taken++;
    is(await read(b, a.token, path), 200);
  }
  assert.ok(taken >= 40);
});

test("R-60: a secondary that is disabled is a cluster of its own, with the data that it has", async (t) => {
  const a = await startPrimary(t);
  await a.put("x", { a: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  is(await b.dr("secondary/disable", {}, a.token), 403);
  assert.equal((await b.status())["mode"], "secondary");
  const body = { dr_operation_token: await b.operationToken(a.opened.shares) };
  const disabled = await b.dr("secondary/disable", body);
  is(disabled, 200);
  assert.match(disabled.text, /joining a primary again/);
  assert.deepEqual(await b.status(), { mode: "disabled" });
  is(await read(b, a.token, "x"), 200);
  is(await write(b, a.token, "y"), 200);
  is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
});

test("R-62: a primary that was cut off while another was promoted is fenced when it is reached again", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  await a.put("x", { a: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await b.replication.promote(FORCED);
  is(await write(a, a.token, "apart"), 200); // nobody can tell it yet
  is(await write(b, a.token, "y"), 200);
  way.heal();
  await until(() => isFenced(a.replication.role));
  // at once, and not only when its secondaries have heard of it
  await assert.rejects(a.replication.primary(), { code: "replication-fenced" });
  assert.equal((await a.status())["state"], "fenced");
  const line = a.server.lines.find((each) => each.includes("replication.fenced")) ?? "";
  assert.match(line, /WARN/);
  assert.match(line, /name=site-b\b.*from=127\.0\.0\.1/);
  await until(() => a.replication.retention === null && !a.replication.changing);
  const refused = [
    await write(a, a.token, "z"),
    await a.dr("primary/operator-ticket", { operations: ["promote"] }),
    await a.dr("primary/secondary-token", { id: "site-c" }),
    await a.server.call("POST", "/v1/sys/replication/recover", { token: a.token }),
  ];
  for (const answer of refused) {
    is(answer, 503, "replication_fenced");
    assert.match(answer.text, /another one of its set leads/);
  }
  const revocation = await a.dr("primary/revoke-secondary", { id: "site-b" });
  is(revocation, 503, "replication_fenced_revocation");
  assert.match(revocation.text, /at the cluster that leads .*by the same id/);
  is(await read(a, a.token, "x"), 200);
  const health = await a.server.call("GET", "/v1/sys/health?perfstandbyok=true&standbyok=true");
  is(health, 473);
  assert.equal(at(health, "replication_dr_fenced"), true);
  is(await b.server.call("GET", "/v1/sys/health"), 200);
  is(await write(b, a.token, "z"), 200);
  assert.equal((await b.status())["state"], "running");
});

test("a cluster that was promoted, disabled and enabled anew leads its new set: the primary of before is none of it", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  await b.replication.promote({ force: true, address: "" });
  await until(async () => (await a.status())["state"] === "fenced");
  const heard = () => b.server.lines.some((line) => line.includes("primary of before has heard"));
  await until(heard);
  assert.equal((await b.dr("primary/disable", {}, a.token)).status, 200);
  assert.equal((await b.dr("primary/enable", {}, a.token)).status, 200);
  const core = b.server.server.barrier.view("core/replication/dr/");
  assert.deepEqual(core.keys("former", { limit: 2 }), []);
  assert.equal((await b.status())["state"], "running");
});
