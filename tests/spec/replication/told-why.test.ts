// What people are told where clusters do not get together: the reason that the other side gave, who leads, and what is wrong
// with what they have typed.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { HOUR } from "@holdfast/shared/text/duration";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  sealedToken,
  ShiftedClock,
  startCluster,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { freePort } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

function refusedAs(answer: Answer, status: number, code: string, text: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["x-service-error"], code, answer.text);
  assert.match(String(at(answer, "errors")), text);
  assert.doesNotMatch(answer.text, /E[A-Z]{5,}|ERR_/);
}

async function revoke(primary: Cluster): Promise<void> {
  const answer = await primary.dr("primary/revoke-secondary", { id: "site-b" });
  assert.equal(answer.status, 204, answer.text);
}

test("who joins with a token that was revoked hears that, and not that nobody is there", async (t) => {
  const a = await startPrimary(t);
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  await revoke(a);
  const joining = await b.dr("secondary/enable", { token });
  refusedAs(joining, 502, "replication_primary_refuses", /the token was revoked; make another/);
  const trial = await b.dr("secondary/enable", { token, dry_run: true });
  assert.match(String(at(trial, "data", "steps", 0, "cause")), /the token was revoked/);
  assert.equal((await b.status())["mode"], "disabled");
});

test("who joins with a token of another cluster's, or an old one, hears the reason of the primary", async (t) => {
  const clock = new ShiftedClock();
  const a = await startPrimary(t, { world: { clock } });
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  clock.ahead = 2n * HOUR;
  const late = await b.dr("secondary/enable", { token });
  refusedAs(late, 502, "replication_primary_refuses", /activation token ended before it was used/);
  assert.deepEqual((await a.status())["expired_tokens"], ["site-b"]);
  clock.ahead = 0n;
  assert.equal((await a.status())["expired_tokens"], undefined);
});

test("one that was away when it was revoked is told so in its status", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await revoke(a);
  way.heal();
  await b.replication.recover();
  await until(async () => /has revoked this secondary/.test(JSON.stringify(await b.status())));
  assert.deepEqual((await a.status())["secondaries"], []);
  const operator = await b.operationToken(a.opened.shares);
  const promotion = await b.dr("secondary/promote", {}, operator);
  assert.match(promotion.text, /does not take this cluster.*has revoked this secondary/);
});

test("an address where nobody is, is told in words", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  way.cut();
  const joining = await b.dr("secondary/enable", { token });
  refusedAs(joining, 502, "replication_primary_unreachable", /could not be reached/);
  const port = await freePort();
  const dead = await startPrimary(t, { address: `https://127.0.0.1:${port}` });
  const other = await b.dr("secondary/enable", { token: await sealedToken(dead, b) });
  refusedAs(other, 502, "replication_primary_unreachable", /connection refused/);
});

test("of two that join with one token at once one does, and the other hears that the role changes", async (t) => {
  const a = await startPrimary(t);
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  const answers = await Promise.all([1, 2, 3].map(() => b.dr("secondary/enable", { token })));
  const statuses = answers.map(({ status }) => status).toSorted((x, y) => x - y);
  assert.deepEqual(statuses, [200, 503, 503], answers.map(({ text }) => text).join(" "));
  await inSync(a, b);
});

const calledAt = (clusterAddr: string): ClusterOptions => ({
  config: (config) => ({ ...config, clusterAddr }),
});

test("a cluster is not told to follow itself", async (t) => {
  const { primary: a } = await startPrimaryBehind(t);
  const clusterPort = await freePort();
  const own = `https://127.0.0.1:${clusterPort}`;
  const settings = { outbound_allow: ["127.0.0.1"], api_addr: "https://b.example" };
  const b = await joined(t, a, "site-b", { clusterPort, settings, ...calledAt(own) });
  await inSync(a, b);
  const operator = await b.operationToken(a.opened.shares);
  const update = (body: object) => b.dr("secondary/update-primary", body, operator);
  const named = await update({ update_primary_addrs: [own] });
  refusedAs(named, 400, "replication_own_address", /^update_primary_addrs: .* cluster itself/);
  assert.equal((await update({ update_primary_addrs: [own], dry_run: true })).status, 400);
  assert.equal((await b.status())["state"], "stream-wals");
});

test("a wrapped token that nobody could unwrap is not made, and takes no name", async (t) => {
  const a = await startPrimary(t, { settings: { api_addr: "http://a.example:8200" } });
  const wrapped = await a.dr("primary/secondary-token", { id: "site-b" });
  refusedAs(wrapped, 400, "joining_api_address_plain", /give secondary_public_key/);
  // What is wrong with the name is said first: another address would not mend it.
  const unnamed = await a.dr("primary/secondary-token", { id: "no/id" });
  refusedAs(unnamed, 400, "joining_id_invalid", /./);
  assert.deepEqual((await a.status())["known_secondaries"], []);
  await sealedToken(a, await startCluster(t));
});

test("a token that was used is told as that, and nobody is sent to revoke its id", async (t) => {
  const a = await startPrimary(t);
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  assert.equal((await b.dr("secondary/enable", { token })).status, 200);
  await inSync(a, b);
  const operator = await b.operationToken(a.opened.shares);
  const key = await b.dr("secondary/generate-public-key", {}, operator);
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const made = await a.dr("primary/secondary-token", { id: "other", secondary_public_key });
  const other = { token: at(made, "data", "token") };
  assert.equal((await b.dr("secondary/update-primary", other, operator)).status, 200);
  const again = await b.dr("secondary/update-primary", other, operator);
  assert.ok(again.status >= 400, again.text);
  assert.match(again.text, /this token was used before, and counts once: make another one/);
  assert.doesNotMatch(again.text, /revoke/);
  await inSync(a, b);
});

test("one that follows nobody any more is in conflict with nobody, and says who leads where it is to be promoted", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const operator = await b.operationToken(a.opened.shares);
  const forgotten = await b.dr("secondary/update-primary", { token: "" }, operator);
  assert.equal(forgotten.status, 200, forgotten.text);
  assert.match(forgotten.text, /its certificate is given up too.*revoke it there first/);
  const { secondary_id, conflicting_primary } = await b.status();
  assert.deepEqual([secondary_id, conflicting_primary], ["", undefined]);
  const promotion = await b.dr("secondary/promote", {}, operator);
  assert.match(promotion.text, new RegExp(`primary-gone.*${await a.clusterId()}`));
});

test("a fenced primary names its secondary that was promoted, also after it was demoted", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await b.replication.promote({ force: true, address: "" });
  way.heal();
  await until(async () => (await a.status())["state"] === "fenced");
  const leader: JsonObject = {
    conflicting_primary: await b.clusterId(),
    conflicting_primary_name: "site-b",
  };
  const named = async () => {
    const { conflicting_primary, conflicting_primary_name } = await a.status();
    return { conflicting_primary, conflicting_primary_name };
  };
  assert.deepEqual(await named(), leader);
  await until(() => a.replication.retention === null); // it serves nobody any more
  assert.deepEqual((await a.status())["known_secondaries"], ["site-b"]);
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  assert.deepEqual((await a.status())["known_secondaries"], ["site-b"], "as before the start");
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  assert.deepEqual(await named(), leader);
});

test("a primary that others would be sent to at no single host is none, and names what is missing", async (t) => {
  const a = await startCluster(t, calledAt("https://0.0.0.0:8201"));
  const refused = await a.dr("primary/enable", {});
  refusedAs(
    refused,
    400,
    "replication_port_uncalled",
    /expected cluster_addr in the configuration/,
  );
  const named = await a.dr("primary/enable", { primary_cluster_addr: "https://a.example:8201" });
  assert.equal(named.status, 200, named.text);
});
