// Cases of docs/cases/replication.md: status, how a cluster becomes a primary, and the tokens that it makes.

import assert from "node:assert/strict";
import test from "node:test";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { statusView } from "../../../src/cli/replication/status-view.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  startCluster,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { until } from "../../support/until.ts";

const STATUS = "/v1/sys/replication";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

async function status(cluster: Cluster, path: string, namespace?: string): Promise<Answer> {
  return await cluster.server.call("GET", `${STATUS}/${path}`, { namespace });
}

test("R-1: where nothing replicates, status says so to anybody and nothing else", async (t) => {
  const cluster = await startCluster(t);
  const all = await status(cluster, "status");
  is(all, 200);
  assert.deepEqual(at(all, "data"), {
    dr: { mode: "disabled" },
    performance: { mode: "disabled" },
  });
  for (const kind of ["dr", "performance"]) {
    const one = await status(cluster, `${kind}/status`);
    is(one, 200);
    assert.deepEqual(at(one, "data"), { mode: "disabled" });
  }
});

test("R-2: in a child namespace the status of both kinds is refused, and that of each is answered", async (t) => {
  const cluster = await startCluster(t);
  const { token } = cluster;
  const child = await cluster.server.call("POST", "/v1/sys/namespaces/ns1", { token, body: {} });
  assert.ok(child.status < 300, child.text);
  is(await cluster.server.call("GET", `${STATUS}/status`, { token, namespace: "ns1/" }), 403);
  for (const namespace of ["ns1/", "nowhere/"]) {
    is(await status(cluster, "dr/status", namespace), 200);
    is(await status(cluster, "performance/status", namespace), 200);
  }
});

test("R-3: types of status: times and skews of peers and of checks are texts, indexes are numbers", async (t) => {
  const primary = await startPrimary(t);
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  await until(async () => {
    const { secondaries } = await primary.status();
    return Array.isArray(secondaries) && secondaries.length === 1;
  });
  const here = await primary.status();
  const there = await secondary.status();
  for (const one of [here, there]) {
    types(one, "string", "cluster_id", "state", "merkle_root", "primary_cluster_addr");
    types(one, "string", "last_corruption_check_epoch", "last_reindex_epoch");
    types(one, "number", "ssct_generation_counter", "epoch");
    types(one, "boolean", "corrupted_merkle_tree");
    assert.equal(one["last_reindex_epoch"], "0");
  }
  assert.match(JSON.stringify(here["merkle_root"]), /^"[0-9a-f]{64}"$/);
  types(here, "number", "last_wal", "last_dr_wal");
  types(there, "number", "last_remote_wal", "divergent_entries");
  types(there, "string", "secondary_id", "connection_state", "last_start", "last_sync_error");
  assert.deepEqual(here["known_secondaries"], ["site-b"]);
  assert.ok(Array.isArray(there["known_primary_cluster_addrs"]));
  const peers = [first(here["secondaries"]), first(there["primaries"])];
  for (const peer of peers) {
    types(peer, "string", "last_heartbeat_duration_ms", "clock_skew_ms", "last_heartbeat");
    types(peer, "string", "replication_primary_canary_age_ms", "api_address", "cluster_address");
    assert.equal(peer["connection_status"], "connected");
  }
  types(peers[0]!, "number", "last_remote_wal", "wal_lag");
});

function types(object: JsonObject, type: string, ...names: string[]): void {
  for (const name of names) assert.equal(typeof object[name], type, name);
}

function first(list: unknown): JsonObject {
  const one: unknown = Array.isArray(list) ? list[0] : null;
  assert.ok(isObject(one));
  return one;
}

test("R-4: a cluster becomes a primary with a warning, runs, and begins epoch 1", async (t) => {
  const cluster = await startCluster(t);
  const enabled = await cluster.dr("primary/enable");
  is(enabled, 200);
  assert.equal(at(enabled, "data"), null);
  assert.equal((at(enabled, "warnings") as string[]).length, 1);
  const { mode, state, epoch, known_secondaries, secondaries } = await cluster.status();
  assert.deepEqual(
    { mode, state, epoch, known_secondaries, secondaries },
    { mode: "primary", state: "running", epoch: 1, known_secondaries: [], secondaries: [] },
  );
});

test("R-5: a primary is not enabled again, and a secondary not at all", async (t) => {
  const primary = await startPrimary(t);
  const before = await primary.status();
  is(await primary.dr("primary/enable"), 400, "replication_primary_already");
  assert.equal((await primary.status())["cluster_id"], before["cluster_id"]);
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  const promote = await secondary.dr("primary/enable", {}, primary.token);
  is(promote, 400, "replication_promote_instead");
  assert.match(promote.text, /promote it instead/);
  for (const path of [
    "primary/demote",
    "primary/disable",
    "primary/secondary-token",
    "primary/revoke-secondary",
    "primary/operator-ticket",
    "secondary/enable",
  ]) {
    is(await secondary.dr(path, {}, primary.token), 400, "replication_secondary_already");
  }
  await assert.rejects(secondary.replication.enablePrimary(""), /promote/);
  assert.equal((await secondary.status())["mode"], "secondary");
});

test("R-6: an address that is none is refused, and the cluster stays what it was; host and port alone are one", async (t) => {
  const cluster = await startCluster(t);
  const wrong = [
    "http://a:1",
    "https://a",
    "a",
    "https://a:0",
    "https://a:70000",
    "https://u@a:1",
    "https://a:1/x",
  ];
  for (const primary_cluster_addr of wrong) {
    const refused = await cluster.dr("primary/enable", { primary_cluster_addr });
    is(refused, 400, "replication_address_unusable");
    assert.deepEqual(await cluster.status(), { mode: "disabled" });
  }
  for (const host of ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::ffff:169.254.169.254]"]) {
    const refused = await cluster.dr("primary/enable", { primary_cluster_addr: `${host}:80` });
    is(refused, 400, "replication_address_uncalled");
    assert.deepEqual(await cluster.status(), { mode: "disabled" });
  }
  is(await cluster.dr("primary/enable", { primary_cluster_addr: "dr.example:8201" }), 200);
  assert.equal((await cluster.status())["primary_cluster_addr"], "https://dr.example:8201");
});

test("status says to management tokens where secondaries are told to come: as somebody has named it, else cluster_addr, else the listener", async (t) => {
  const configured: ClusterOptions = {
    config: (config) => ({ ...config, clusterAddr: "https://lb.example:8201" }),
  };
  const named = await startPrimary(t, { ...configured, address: "dr.example:8201" });
  const usual = await startPrimary(t, configured);
  const bare = await startPrimary(t);
  const addressOf = async (one: Cluster) => {
    const open = await one.status();
    assert.equal(open["cluster_addr"], undefined, "nobody learns it without a token");
    const { token } = one;
    const answer = await one.server.call("GET", "/v1/sys/replication/dr/status", { token });
    const whole = at(answer, "data") as JsonObject;
    const { cluster_addr: address } = whole;
    assert.ok(typeof address === "string");
    const seen = JSON.stringify(statusView(whole, 0n).view);
    assert.ok(seen.includes(`["Cluster Address","${address}"]`), seen);
    return { named: whole["primary_cluster_addr"], address };
  };
  const dr = "https://dr.example:8201";
  assert.deepEqual(await addressOf(named), { named: dr, address: dr });
  assert.deepEqual(await addressOf(usual), { named: "", address: "https://lb.example:8201" });
  assert.match((await addressOf(bare)).address, /^https:\/\/127\.0\.0\.1:\d+$/);
});

test("R-7: a token for a secondary needs sudo", async (t) => {
  const primary = await startPrimary(t);
  const { server, token } = primary;
  const rules = `path "sys/replication/dr/primary/*" { capabilities = ["update"] }`;
  const policy = await server.call("POST", "/v1/sys/policies/acl/some", {
    token,
    body: { policy: rules },
  });
  assert.ok(policy.status < 300, policy.text);
  const made = await server.call("POST", "/v1/auth/token/create", {
    token,
    body: { policies: ["some"] },
  });
  const some = String(at(made, "auth", "client_token"));
  is(await primary.dr("primary/secondary-token", { id: "b" }, some), 403);
  is(
    await server.call("POST", "/v1/sys/replication/dr/primary/secondary-token", {
      body: { id: "b" },
    }),
    403,
  );
  assert.deepEqual((await primary.status())["known_secondaries"], []);
  is(await primary.dr("primary/revoke-secondary", { id: "b" }, some), 204); // which does not
});

test("R-8: without an id, with a wrong one, and with one that is taken there is no token", async (t) => {
  const primary = await startPrimary(t);
  is(await primary.dr("primary/secondary-token"), 400);
  for (const id of ["", "-b", "b-", "b c", "b/c", "b".repeat(65), "ä"]) {
    is(await primary.dr("primary/secondary-token", { id }), 400);
  }
  is(await primary.dr("primary/secondary-token", { id: "b" }), 200);
  is(await primary.dr("primary/secondary-token", { id: "b" }), 400);
  const other = await startCluster(t);
  is(await other.dr("primary/secondary-token", { id: "b" }), 400, "replication_not_primary");
});

test("R-10: the lifetime of a token is a second to a day, as a number, as text of one, or with a unit", async (t) => {
  const primary = await startPrimary(t);
  for (const ttl of ["0", "25h", 0, 86_401]) {
    is(await primary.dr("primary/secondary-token", { id: "never", ttl }), 400);
  }
  for (const [id, ttl, seconds] of [
    ["a", "90", 90],
    ["b", 90, 90],
    ["c", "2m", 120],
    ["d", "24h", 86_400],
  ] as const) {
    const made = await primary.dr("primary/secondary-token", { id, ttl });
    is(made, 200);
    assert.equal(at(made, "wrap_info", "ttl"), seconds);
  }
  assert.deepEqual((await primary.status())["known_secondaries"], ["a", "b", "c", "d"]);
});

test("R-19: a token that nobody has used stands among the known ones until it is revoked", async (t) => {
  const primary = await startPrimary(t);
  is(await primary.dr("primary/secondary-token", { id: "b" }), 200);
  const { known_secondaries, secondaries } = await primary.status();
  assert.deepEqual([known_secondaries, secondaries], [["b"], []]);
  is(await primary.dr("primary/revoke-secondary", { id: "b" }), 204);
  assert.deepEqual((await primary.status())["known_secondaries"], []);
});

test("R-22: revoking what nobody knows is done; what can be nobody's id is refused", async (t) => {
  const primary = await startPrimary(t);
  const answer = await primary.dr("primary/revoke-secondary", { id: "b" });
  is(answer, 204);
  assert.equal(answer.text, "");
  for (const id of ["", "not/an/id", "-b", "b."]) {
    is(await primary.dr("primary/revoke-secondary", { id }), 400, "joining_id_invalid");
  }
});

test("R-61: a primary that is disabled and enabled again begins another set", async (t) => {
  const primary = await startPrimary(t);
  const { cluster_id: before } = await primary.status();
  is(await primary.dr("primary/disable"), 200);
  assert.deepEqual(await primary.status(), { mode: "disabled" });
  await primary.put("x", { a: "1" }); // it works on
  is(await primary.dr("primary/enable"), 200);
  const { cluster_id: after } = await primary.status();
  assert.notEqual(after, before);
});

test("R-1: status_access narrows what is told to who shows no token", async (t) => {
  const answersWith = async (status_access: string) => {
    const primary = await startPrimary(t, { settings: { replication: { status_access } } });
    const { token } = primary;
    const alone = await status(primary, "dr/status");
    const both = await status(primary, "status");
    const whole = await primary.server.call("GET", `${STATUS}/status`, { token });
    is(whole, 200);
    assert.equal(typeof at(whole, "data", "dr", "cluster_id"), "string");
    const withToken = await primary.server.call("GET", `${STATUS}/dr/status`, { token });
    is(withToken, 200);
    assert.deepEqual(at(withToken, "data"), at(whole, "data", "dr"));
    is(await primary.server.call("GET", `${STATUS}/performance/status`, { token }), 200);
    const below = { token, namespace: "nowhere/" };
    const there = await primary.server.call("GET", `${STATUS}/dr/status`, below);
    assert.equal(there.status, alone.status, "a token says nothing of which namespaces there are");
    return { alone, both };
  };
  const minimal = await answersWith("minimal");
  const little = { mode: "primary", state: "running" };
  assert.deepEqual(at(minimal.alone, "data"), little);
  assert.deepEqual(at(minimal.both, "data", "dr"), little);
  const authenticated = await answersWith("authenticated");
  is(authenticated.alone, 403, "replication_status_needs_token");
  is(authenticated.both, 403, "replication_status_needs_token");
});

test("R-1: on a secondary an operation token opens what status_access withholds, by each of the endpoints", async (t) => {
  const primary = await startPrimary(t);
  const settings = { replication: { status_access: "authenticated" } };
  const secondary = await joined(t, primary, "site-b", { settings });
  await until(async () => at(await status(secondary, "dr/status"), "data", "state") !== "idle");
  const token = await secondary.operationToken(primary.opened.shares);
  for (const path of ["status", "dr/status"]) {
    const open = await status(secondary, path);
    is(open, 200);
    assert.doesNotMatch(open.text, /cluster_id/);
    const whole = await secondary.server.call("GET", `${STATUS}/${path}`, { token });
    is(whole, 200);
    assert.match(whole.text, /"local_cluster_id"/);
  }
});
