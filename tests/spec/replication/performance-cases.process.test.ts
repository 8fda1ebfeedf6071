// Cases of docs/cases/replication.md with the kind performance, on one set of clusters that are processes, with real TLS between them and
// proxies in the way: how a primary comes to be, who joins it and how, who is revoked, and how the set gets another primary. The clusters go through
// them in this order. Cases 12, 13, 21, 46, 48, 59 and 70 stand in performance.process.test.ts.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { isObject } from "@holdfast/shared/json/json";
import { suiteEnds } from "../../support/replication/case-suite.ts";
import { type Answer, at } from "../../support/http-client.ts";
import type { ClusterProcess } from "../../support/replication/cluster-process.ts";
import {
  done,
  newToken,
  selfOf,
  writePolicy,
} from "../../support/replication/regions/region-calls.ts";
import {
  is,
  perf,
  perfStatus,
  regionFollows,
  startRegionProcess,
  within,
} from "../../support/replication/regions/region-process.ts";
import { until } from "../../support/until.ts";

const ends = suiteEnds();
/** The first primary; who follows it; and one that is the primary of another set for a while. */
let a: ClusterProcess;
let b: ClusterProcess;
let c: ClusterProcess;
/** Of b, before it joins. */
let ownOfB = "";
/** A key of c, and a token of the first primary for it. */
let keyOfC: unknown;
let lateForC = "";

before(async () => {
  const may = 'outbound_allow = ["127.0.0.1"]';
  [a, b, c] = await Promise.all([
    startRegionProcess(ends, "a", 'api_addr = "https://primary.example:8200"'),
    startRegionProcess(ends, "b", may),
    startRegionProcess(ends, "c", may),
  ]);
  ownOfB = b.token;
});

function warnings(answer: Answer): string {
  return JSON.stringify(at(answer, "warnings"));
}

function mounts(cluster: ClusterProcess, token = cluster.token): Promise<Answer> {
  return cluster.call("GET", "/v1/sys/mounts", { token });
}

async function keyOf(secondary: ClusterProcess): Promise<unknown> {
  const key = await perf(secondary, "secondary/generate-public-key");
  is(key, 200);
  return at(key, "data", "secondary_public_key");
}

async function tokenOf(primary: ClusterProcess, key: unknown, id: string): Promise<string> {
  const made = await perf(primary, "primary/secondary-token", { id, secondary_public_key: key });
  is(made, 200);
  return String(at(made, "data", "token"));
}

/** Of a primary, sealed to a key that the other makes for it. */
async function tokenFor(
  primary: ClusterProcess,
  secondary: ClusterProcess,
  id: string,
): Promise<string> {
  return await tokenOf(primary, await keyOf(secondary), id);
}

/** It has what the primary has now. */
async function caughtUp(primary: ClusterProcess, secondary: ClusterProcess): Promise<void> {
  const { epoch } = await perfStatus(primary);
  await regionFollows(secondary, Number(epoch));
  const { last_performance_wal: last } = await perfStatus(primary);
  await until(async () => Number((await perfStatus(secondary))["last_remote_wal"]) >= Number(last));
}

async function isDisabled(cluster: ClusterProcess): Promise<void> {
  assert.deepEqual(await perfStatus(cluster), { mode: "disabled" });
}

test("R-6: an address that is none is refused, and the cluster stays what it was", async () => {
  for (const primary_cluster_addr of ["http://a:1", "https://a", "https://a:1/x"]) {
    const body = { primary_cluster_addr };
    is(await perf(a, "primary/enable", body), 400, "replication_address_unusable");
  }
  await isDisabled(a);
  const named = await perf(c, "primary/enable", { primary_cluster_addr: "perf.example:8201" });
  is(named, 200);
  assert.equal((await perfStatus(c))["primary_cluster_addr"], "https://perf.example:8201");
});

test("R-61: a primary that is disabled and enabled again begins another set", async () => {
  const { cluster_id: first } = await perfStatus(c);
  is(await perf(c, "primary/disable"), 200);
  await isDisabled(c);
  is(await perf(c, "primary/enable"), 200);
  assert.notEqual((await perfStatus(c))["cluster_id"], first);
});

test("R-4, R-5: a cluster becomes a primary with one warning, and is not enabled again", async () => {
  const enabled = await perf(a, "primary/enable");
  is(enabled, 200);
  assert.equal((at(enabled, "warnings") as string[]).length, 1);
  const status = await perfStatus(a);
  const { mode, state, epoch, known_secondaries: known, secondaries } = status;
  assert.deepEqual([mode, state, epoch, known, secondaries], ["primary", "running", 1, [], []]);
  is(await perf(a, "primary/enable"), 400, "replication_primary_already");
  for (const path of ["secondary/promote", "secondary/disable"]) {
    is(await perf(a, path), 400, "replication_not_secondary");
  }
  assert.equal((await perfStatus(a))["cluster_id"], status["cluster_id"]);
  const body = { type: "kv", options: { version: "2" } };
  is(await within(a, "POST", "sys/mounts/secret", "", body), 204);
});

test("R-7: a token for a secondary needs sudo", async () => {
  const policy = `path "sys/replication/performance/primary/*" { capabilities = ["update"] }`;
  await done(writePolicy(a, "some", policy));
  const { SecretID: token } = await newToken(a, { Policies: ["some"] });
  const ask = (path: string) =>
    a.call("POST", `/v1/sys/replication/performance/primary/${path}`, { token, body: { id: "x" } });
  is(await ask("secondary-token"), 403);
  is(await ask("revoke-secondary"), 204); // which does not
});

test("R-8, R-10: a token has an id that is one and is not taken, and a lifetime from a second to a day", async () => {
  const ask = (body: object) => perf(a, "primary/secondary-token", body);
  is(await ask({}), 400);
  for (const id of ["", "-b", "b c", "b".repeat(65)]) is(await ask({ id }), 400);
  for (const ttl of ["0", "25h"]) is(await ask({ id: "never", ttl }), 400);
  for (const [ttl, seconds] of [
    ["90", 90],
    [90, 90],
    ["2m", 120],
  ] as const) {
    const made = await ask({ id: `for-${typeof ttl}-${ttl}`, ttl });
    is(made, 200);
    assert.equal(at(made, "wrap_info", "ttl"), seconds);
  }
  is(await ask({ id: "for-number-90" }), 400);
  is(await perf(b, "primary/secondary-token", { id: "x" }), 400, "replication_not_primary");
});

test("R-9, R-11: a wrapped token is a JWT for half an hour, and is unwrapped once, with everything that a secondary needs", async () => {
  const made = await perf(a, "primary/secondary-token", { id: "wrapped" });
  is(made, 200);
  const token = String(at(made, "wrap_info", "token"));
  const claims: unknown = JSON.parse(
    Buffer.from(token.split(".")[1] ?? "", "base64url").toString(),
  );
  assert.ok(isObject(claims));
  assert.deepEqual(
    [Number(claims["exp"]) - Number(claims["iat"]), claims["type"], claims["addr"]],
    [1800, "wrapping", "https://primary.example:8200"],
  );
  assert.equal(at(made, "wrap_info", "ttl"), 1800);
  const UNWRAP = "/v1/sys/wrapping/unwrap";
  const { jti } = claims;
  assert.ok(typeof jti === "string");
  const tried = await a.call("POST", UNWRAP, { token: jti });
  assert.ok(tried.status === 400 || tried.status === 403, tried.text);
  const opened = await a.call("POST", UNWRAP, { token });
  is(opened, 200);
  const data = at(opened, "data");
  assert.ok(isObject(data));
  assert.deepEqual([data["mode"], data["id"]], ["performance", "wrapped"]);
  assert.equal(data["cluster_id"], (await perfStatus(a))["cluster_id"]);
  for (const name of ["primary_cluster_addr", "ca_cert", "client_cert"]) {
    assert.equal(typeof data[name], "string", name);
  }
  is(await a.call("POST", UNWRAP, { token }), 400);
});

test("R-19, R-22, R-24: a token that nobody has used is known until it is revoked; then its id is free, and revoking it again is done", async () => {
  const before = (await perfStatus(a))["known_secondaries"] as readonly string[];
  assert.ok(before.includes("wrapped"));
  for (const id of before) is(await perf(a, "primary/revoke-secondary", { id }), 204);
  assert.deepEqual((await perfStatus(a))["known_secondaries"], []);
  is(await perf(a, "primary/revoke-secondary", { id: "wrapped" }), 204);
  is(await perf(a, "primary/revoke-secondary", { id: "b." }), 400, "joining_id_invalid");
  is(await perf(a, "primary/secondary-token", { id: "wrapped" }), 200);
});

test("R-17: a cluster that is something in either kind does not join", async () => {
  const token = await tokenFor(a, b, "taken");
  is(await b.dr("primary/enable"), 200);
  is(await perf(b, "secondary/enable", { token }), 400, "replication_role_taken");
  is(await b.dr("primary/disable"), 200);
  is(await perf(c, "secondary/enable", { token }), 400, "replication_role_taken");
});

test("R-14, R-15, R-16: with a primary out of reach all is as it was, and the same token works later; one for an earlier key does not", async () => {
  const early = await tokenFor(a, b, "early");
  const token = await tokenFor(a, b, "region-b");
  is(await perf(b, "secondary/enable", { token: early }), 400);
  a.way.cut();
  is(await perf(b, "secondary/enable", { token }), 502);
  await isDisabled(b);
  is(await mounts(b), 200);
  a.way.heal();
  await done(a.put("x", "1"));
  const enabled = await perf(b, "secondary/enable", { token });
  is(enabled, 200);
  assert.match(warnings(enabled), /all data of before is gone/);
  b.shares = a.shares;
  b.token = a.token;
  await caughtUp(a, b);
});

test("R-18, R-5: what a cluster held before it joined is gone, it is not sealed, and it is no primary", async () => {
  is(await mounts(b, ownOfB), 403);
  assert.equal(await b.value("x"), "1");
  is(await b.call("GET", "/v1/sys/health"), 200);
  const enable = await perf(b, "primary/enable");
  is(enable, 400, "replication_promote_instead");
  for (const path of ["primary/demote", "primary/disable"]) {
    is(await perf(b, path), 400, "replication_not_primary");
  }
  is(await perf(b, "primary/secondary-token", { id: "x" }), 400, "replication_not_primary");
});

test("R-20, R-24: who is revoked while it is connected is cut off, hears why and writes nothing; with a token for the same id it comes again, and keeps its data", async () => {
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204);
  await until(async () => {
    const { state, last_sync_error: why } = await perfStatus(b);
    return state === "idle" && /revoked/.test(JSON.stringify(why));
  });
  is(await b.put("refused", "1"), 503, "primary_refuses");
  assert.equal(await b.value("x"), "1");
  const { SecretID: own } = await newToken(b);
  const token = await tokenFor(a, b, "region-b");
  is(await perf(b, "secondary/update-primary", { token }), 200);
  await done(a.put("x", "2"));
  await caughtUp(a, b);
  assert.equal(await b.value("x"), "2");
  is(await selfOf(b, own), 200);
});

test("R-57: of several addresses the first is taken that proves to be the primary, and where none does nothing changes", async () => {
  const dead = "https://127.0.0.1:1";
  const foreign = `https://127.0.0.1:${c.way.port}`; // of another set
  const right = `https://127.0.0.1:${a.way.port}`;
  const move = (...update_primary_addrs: string[]) =>
    perf(b, "secondary/update-primary", { update_primary_addrs });
  const moved = await move(dead, foreign, right);
  is(moved, 200);
  assert.ok(warnings(moved).includes(right));
  await caughtUp(a, b);
  is(await move(dead, foreign), 502);
  await done(a.put("x", "3"));
  await caughtUp(a, b);
  assert.equal(await b.value("x"), "3");
});

test("R-55: update-primary takes a token or addresses, and with an empty token nobody is followed or dialled", async () => {
  const both = { token: "x", update_primary_addrs: ["https://127.0.0.1:1"] };
  is(await perf(b, "secondary/update-primary", both), 400, "replication_primary_named_twice");
  is(await perf(b, "secondary/update-primary", {}), 400, "replication_primary_unnamed");
  is(await perf(b, "secondary/update-primary", { token: "" }), 200);
  const dialled = a.way.accepted;
  const { state, connection_state: link, secondary_id: id } = await perfStatus(b);
  assert.deepEqual([state, link, id], ["idle", undefined, ""]);
  is(await b.put("refused", "1"), 503, "no_primary");
  assert.equal(await b.value("x"), "3");
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204); // it has given its place up
  const token = await tokenFor(a, b, "region-b");
  assert.equal(a.way.accepted, dialled);
  is(await perf(b, "secondary/update-primary", { token }), 200);
  await caughtUp(a, b);
});

test("a second region joins", async () => {
  is(await perf(c, "primary/disable"), 200);
  is(await perf(c, "secondary/enable", { token: await tokenFor(a, c, "region-c") }), 200);
  c.shares = a.shares;
  c.token = a.token;
  await caughtUp(a, c);
  keyOfC = await keyOf(c);
  lateForC = await tokenOf(a, keyOfC, "late");
});

test("R-47: a secondary whose primary lives and is connected is not promoted", async () => {
  let beside = await perf(b, "secondary/promote");
  // What a primary has for itself alone is told a moment later, and until then something might be missing.
  await until(async () => (beside = await perf(b, "secondary/promote")).status !== 503);
  is(beside, 400, "replication_promotion_refused");
  assert.match(beside.text, /primary-gone/);
  assert.equal((await perfStatus(b))["mode"], "secondary");
});

test("R-47, R-49, R-51: a demotion takes no write after its last one and loses none before it; after it the secondary is promoted, and its epoch is the next", async () => {
  const taken: string[] = [];
  let isOver = false;
  const writer = async (of: number) => {
    for (let i = 0; !isOver; i++) {
      const name = `w/${of}-${i}`;
      const answer = await a.put(name, "1");
      if (answer.status === 200) taken.push(name);
      else is(answer, 503);
    }
  };
  const writers = [writer(1), writer(2)];
  await until(() => taken.length > 20);
  const demoted = await perf(a, "primary/demote");
  is(demoted, 200);
  isOver = true;
  await Promise.all(writers);
  is(await a.put("refused", "1"), 503, "no_primary");
  is(
    await perf(a, "secondary/update-primary", { update_primary_addrs: ["https://127.0.0.1:1"] }),
    400,
  ); // it has none that could have moved
  is(await perf(b, "secondary/promote"), 200);
  const led = await perfStatus(b);
  assert.deepEqual(
    [led["mode"], led["state"], led["epoch"], led["known_secondaries"]],
    ["primary", "running", 2, []],
  );
  assert.equal(led["ssct_generation_counter"], 1);
  const lost = [];
  for (const name of taken) if ((await b.value(name)) === null) lost.push(name);
  assert.deepEqual(lost, []);
});

test("R-53, R-58: who followed the old primary, and that one itself, follow the new one without giving anything up; a token of one that was superseded is refused", async () => {
  const again = await tokenOf(b, keyOfC, "region-c");
  is(await perf(c, "secondary/update-primary", { token: again }), 200);
  await regionFollows(c, 2);
  const late = await perf(c, "secondary/update-primary", { token: lateForC });
  is(late, 400, "replication_epoch_superseded");
  is(await perf(a, "secondary/update-primary", { token: await tokenFor(b, a, "region-a") }), 200);
  await done(b.put("after", "1"));
  for (const one of [a, c]) {
    await caughtUp(b, one);
    assert.equal(await one.value("after"), "1");
    assert.equal((await perfStatus(one))["divergent_entries"], 0);
  }
});

test("R-60, R-61: a secondary that is disabled is a cluster of its own with the data that it has, and begins another set when it is enabled", async () => {
  is(await c.call("POST", "/v1/sys/replication/performance/secondary/disable"), 403);
  is(await perf(c, "secondary/disable"), 200);
  await isDisabled(c);
  assert.equal(await c.value("after"), "1");
  is(await c.put("own", "1"), 200);
  assert.equal(await b.value("own"), null);
  is(await perf(c, "primary/enable"), 200);
  assert.notEqual((await perfStatus(c))["cluster_id"], (await perfStatus(b))["cluster_id"]);
});
