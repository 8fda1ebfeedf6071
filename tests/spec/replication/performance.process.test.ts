// Cases of docs/cases/replication.md, and one of docs/cases/token-api.md, with the kind performance, on processes with real TLS between
// them, through proxies: what a token that has ended costs, what is copied, and what becomes of who was away.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { startFakeCloudA } from "../../fakes/clouda/fake.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { ClusterProcess } from "../../support/replication/cluster-process.ts";
import { freePort, TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const PERFORMANCE = "/v1/sys/replication/performance";
const KIB = 1024;

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

function perf(
  cluster: ClusterProcess,
  path: string,
  body: object = {},
  token = cluster.token,
): Promise<Answer> {
  return cluster.call("POST", `${PERFORMANCE}/${path}`, { token, body });
}

async function status(cluster: ClusterProcess): Promise<JsonObject> {
  const answer = await cluster.call("GET", `${PERFORMANCE}/status`);
  is(answer, 200);
  return at(answer, "data") as JsonObject;
}

/** Sealed to a key of that cluster. */
async function tokenFor(
  primary: ClusterProcess,
  secondary: ClusterProcess,
  id: string,
  { ttl = "30m", as = secondary.token } = {},
): Promise<string> {
  const key = await perf(secondary, "secondary/generate-public-key", {}, as);
  is(key, 200);
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const made = await perf(primary, "primary/secondary-token", { id, ttl, secondary_public_key });
  is(made, 200);
  return String(at(made, "data", "token"));
}

/** From here on it has the shares and the token of the primary. */
async function joins(primary: ClusterProcess, secondary: ClusterProcess, id: string) {
  const token = await tokenFor(primary, secondary, id);
  is(await perf(secondary, "secondary/enable", { token }), 200);
  secondary.shares = primary.shares;
  secondary.token = primary.token;
}

async function equal(primary: ClusterProcess, secondary: ClusterProcess): Promise<void> {
  await until(async () => {
    const [here, there] = [await status(primary), await status(secondary)];
    return there["state"] === "stream-wals" && there["merkle_root"] === here["merkle_root"];
  });
  // Everything has come, and its rooms are open with it.
  await until(async () => {
    const reasons = (await status(secondary))["promotable_reasons"];
    return Array.isArray(reasons) && !["copied", "alone"].some((one) => reasons.includes(one));
  });
}

async function startPrimary(t: TestContext, more = ""): Promise<ClusterProcess> {
  const primary = await ClusterProcess.start(t, () => `region = "a"\n${more}`);
  const { token } = primary;
  const body = { type: "kv", options: { version: "2" } };
  is(await primary.call("POST", "/v1/sys/mounts/secret", { token, body }), 204);
  is(await perf(primary, "primary/enable"), 200);
  return primary;
}

/** Whether a key with this beginning lies in its storage, which is not running. */
function stores(cluster: ClusterProcess, prefix: string): boolean {
  const place = join(cluster.home, "data", "store");
  const names = readdirSync(place, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return files.some((file) => readFileSync(file).includes(prefix));
}

test("R-12, R-13, R-21, R-59, R-70: a region that joins by the cluster port alone has no leases of its primary; revoked while it was away it is refused, and serves what it has", async (t) => {
  const fake = await startFakeCloudA({ now: () => Date.now() });
  t.after(() => fake.close());
  const api = await TcpProxy.before(t, await freePort());
  const named = `api_addr = "http://127.0.0.1:${api.port}"\noutbound_allow = ["127.0.0.1"]`;
  const [a, b] = await Promise.all([
    startPrimary(t, named),
    ClusterProcess.start(t, () => `region = "b"\noutbound_allow = ["127.0.0.1"]`),
  ]);
  const { token } = a;
  const root = {
    access_key: fake.accessKeyId,
    secret_key: fake.secretAccessKey,
    iam_endpoint: fake.url,
    sts_endpoint: fake.url,
  };
  is(await a.call("POST", "/v1/clouda/config/root", { token, body: root }), 204);
  const policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Action: "s3:Get*", Resource: "*" }],
  });
  const role = { credential_type: "iam_user", policy_document: policy };
  is(await a.call("POST", "/v1/clouda/roles/reader", { token, body: role }), 204);
  const issued = await a.call("GET", "/v1/clouda/creds/reader", { token });
  is(issued, 200);
  is(await a.put("x", "1"), 200);

  const late = await tokenFor(a, b, "late", { ttl: "1s" });
  await until(async () => JSON.stringify((await status(a))["expired_tokens"]) === `["late"]`);
  const ended = await perf(b, "secondary/enable", { token: late });
  // By the clock here, or where that is within what clocks may differ, by the primary's.
  assert.ok([400, 502].includes(ended.status), ended.text);
  assert.match(ended.text, /activation token (?:has expired|ended before it was used)/);
  assert.deepEqual(await status(b), { mode: "disabled" });
  is(await b.call("GET", "/v1/sys/mounts", { token: b.token }), 200);

  await joins(a, b, "region-b");
  await equal(a, b);
  assert.equal(api.accepted, 0, "its API was not called");
  assert.ok(a.way.accepted > 0);
  const first = await b.call("GET", "/v1/secret/data/x", { token });
  is(first, 200);
  assert.equal(at(first, "data", "data", "value"), "1");

  const lease = { lease_id: at(issued, "lease_id") };
  const lookup = (cluster: ClusterProcess) =>
    cluster.call("POST", "/v1/sys/leases/lookup", { token, body: lease });
  is(await lookup(a), 200);
  is(await lookup(b), 400);

  const other = await tokenFor(a, b, "other", { as: token });
  is(await perf(a, "primary/revoke-secondary", { id: "other" }), 204);
  const moved = await perf(b, "secondary/update-primary", { token: other });
  is(moved, 502, "replication_primary_refuses");
  is(await a.put("x", "2"), 200);
  await equal(a, b);
  await until(async () => (await b.value("x")) === "2"); // roots are looked at once a second
  assert.equal((await status(b))["secondary_id"], "region-b");

  await b.kill();
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204);
  assert.equal(stores(b, "local/leases/records/"), false);
  await b.startAgain();
  await until(async () => /revoked/.test(JSON.stringify((await status(b))["last_sync_error"])));
  assert.equal((await status(b))["state"], "idle");
  assert.equal(await b.value("x"), "2");
  is(await b.put("x", "3"), 503, "primary_refuses");
  await a.kill();
  assert.equal(stores(a, "local/leases/records/"), true, "there one is found");
});

test("R-46, R-48, A-112: half a copy is not promoted; behind, by force alone; and who follows then keeps its local tokens, and no global one that the primary does not know", async (t) => {
  const [a, b] = await Promise.all([
    startPrimary(t),
    ClusterProcess.start(t, () => `region = "b"`),
  ]);
  const { token } = a;
  const large = "x".repeat(64 * KIB);
  for (let i = 0; i < 24; i++) is(await a.put(`x-${i}`, large), 200);
  a.way.limit(300 * KIB); // enough to be taken, and seconds for the data, which does not come then
  await joins(a, b, "region-b");
  a.way.hold("back");
  await until(async () => (await b.call("GET", "/v1/sys/health")).status === 473);
  const operator = await b.operationToken();
  for (const force of [false, true]) {
    const early = await perf(b, "secondary/promote", { force }, operator);
    is(early, 400, "replication_promotion_refused");
    assert.match(early.text, /check \\"(?:copied|keys)\\"/); // by then some of it may have come
  }
  assert.equal((await status(b))["mode"], "secondary");
  a.way.heal();
  await equal(a, b);

  a.way.cut();
  await until(async () => (await status(b))["state"] === "idle");
  const { last_remote_wal: had } = await status(b);
  const made = async (name: string, more: object) => {
    const body = { Name: name, Type: "management", ...more };
    const answer = await a.call("POST", "/v1/acl/token", { token, body });
    is(answer, 200);
    return String(at(answer, "SecretID"));
  };
  const lost = await made("lost", { Global: true });
  const own = await made("own", {});
  for (let i = 0; i < 8; i++) is(await a.put(`lost-${i}`, large), 200);
  // It hears the first answer of the primary, and of the log at most a part of a message.
  a.way.heal();
  a.way.hold("back", { after: 8 * KIB });
  const recovered = await b.call("POST", "/v1/sys/replication/recover", { token });
  is(recovered, 200);
  const { last_performance_wal: head } = await status(a);
  const missing = `entries ${Number(had) + 1} to ${Number(head)} of the primary`;
  const rehearsed = () => perf(b, "secondary/promote", { dry_run: true });
  await until(async () => (await rehearsed()).text.includes(missing));
  is(await perf(b, "secondary/promote"), 503, "replication_promotion_early");
  const forced = await perf(b, "secondary/promote", { force: true });
  is(forced, 200);
  assert.match(forced.text, /\\"complete\\"/);
  assert.ok(forced.text.includes(missing), forced.text);
  assert.equal(await b.value("lost-7"), null);

  a.way.heal();
  await until(async () => (await status(a))["state"] === "fenced");
  const self = (secret: string) => a.call("GET", "/v1/acl/token/self", { token: secret });
  is(await self(lost), 200);
  is(await perf(a, "primary/demote"), 200);
  const back = await tokenFor(b, a, "region-a", { as: token });
  is(await perf(a, "secondary/update-primary", { token: back }), 200);
  await equal(b, a);
  is(await self(lost), 403);
  is(await self(own), 200);
  assert.equal(await a.value("lost-7"), null);
  assert.equal(await a.value("x-23"), large);
});

test("a primary that was lost and comes back writes nothing that is shared from its first moment: another one leads", async (t) => {
  const [a, b] = await Promise.all([
    startPrimary(t),
    ClusterProcess.start(t, () => `region = "b"`),
  ]);
  await joins(a, b, "region-b");
  await equal(a, b);
  await a.kill();
  is(await perf(b, "secondary/promote", { force: true }), 200);
  await a.startAgain();
  const answer = await a.put("x", "old");
  is(answer, 503);
  is(await a.call("GET", "/v1/sys/mounts", { token: a.token }), 200);
  assert.equal((await status(a))["state"], "fenced");
});
