// Cases of docs/cases/replication.md: how a secondary comes to another primary, or to the same at another place.

import assert from "node:assert/strict";
import test from "node:test";
import { bundleOf } from "../../../src/replication/joining/key-bundle.ts";
import type { Reached } from "../../../src/replication/links/join.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { freePort, TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const NOW = { force: false, address: "" };
const FORCED = { force: true, address: "" };
/** Addresses of this machine are called where they are listed. */
const LISTED = { settings: { outbound_allow: ["127.0.0.1"] } };

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

const operators = new WeakMap<Cluster, Promise<string>>();

/** As an operator of the secondary; its shares are those of the first primary. */
async function operate(
  secondary: Cluster,
  first: Cluster,
  path: string,
  body: object = {},
): Promise<Answer> {
  const known = operators.get(secondary) ?? secondary.operationToken(first.opened.shares);
  operators.set(secondary, known);
  return await secondary.dr(`secondary/${path}`, { ...body, dr_operation_token: await known });
}

function update(secondary: Cluster, first: Cluster, body: object): Promise<Answer> {
  return operate(secondary, first, "update-primary", body);
}

async function keyOf(secondary: Cluster, first: Cluster): Promise<string> {
  const made = await operate(secondary, first, "generate-public-key");
  is(made, 200);
  return String(at(made, "data", "secondary_public_key"));
}

/** Of a primary, sealed to a key of that secondary. Everywhere the first primary's root token works. */
async function tokenFor(primary: Cluster, id: string, key: string, root: string): Promise<string> {
  const body = { id, secondary_public_key: key };
  const made = await primary.dr("primary/secondary-token", body, root);
  is(made, 200);
  return String(at(made, "data", "token"));
}

async function streams(cluster: Cluster): Promise<boolean> {
  return (await cluster.status())["state"] === "stream-wals";
}

test("R-53: after a planned failover the old primary follows the new one by its log, and nothing is copied", async (t) => {
  const a = await startPrimary(t);
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  is(await a.dr("primary/demote"), 200);
  await b.replication.promote(NOW);
  const { first } = a.server.server.store.tail!;
  const { index } = a;
  const token = await tokenFor(b, "site-a", await keyOf(a, a), a.token);
  is(await update(a, a, { token }), 200);
  const body = { data: { n: "2" } };
  is(await b.server.call("POST", "/v1/secret/data/x", { token: a.token, body }), 200);
  await inSync(b, a);
  assert.equal(a.server.server.store.tail!.first, first); // rows that are taken over would begin another
  assert.ok(a.index > index);
  const { divergent_entries, cluster_id, secondary_id } = await a.status();
  assert.deepEqual(
    { divergent_entries, cluster_id, secondary_id },
    { divergent_entries: 0, cluster_id: (await b.status())["cluster_id"], secondary_id: "site-a" },
  );
});

test("R-54: what only the old primary has written is given up when a token says so, counted and kept", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => !(await streams(b)));
  const fork = b.index;
  for (let i = 0; i < 10; i++) await a.put(`apart-${i}`, { n: "1" });
  const lost = Number(a.index - fork);
  assert.ok(lost >= 10);
  await b.replication.promote(FORCED);
  const body = { data: { n: "2" } };
  is(await b.server.call("POST", "/v1/secret/data/x", { token: a.token, body }), 200);
  way.heal();
  await until(async () => (await a.status())["state"] === "fenced");
  is(await a.dr("primary/demote"), 200);
  const token = await tokenFor(b, "site-a", await keyOf(a, a), a.token);
  is(await update(a, a, { token }), 200);
  await inSync(b, a);
  assert.equal((await a.status())["divergent_entries"], lost);
  const [tail] = a.replication.divergent.tails();
  assert.equal(tail?.fork, fork);
  const entries = [...a.replication.divergent.entries(tail.id, { after: 0n, max: 100 })];
  assert.equal(entries.length, lost);
  assert.ok(entries.every(({ keys }) => keys.length > 0));
});

test("R-55: update-primary needs a token or addresses and not both; an empty token leaves it without a primary", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const update_primary_addrs = ["https://127.0.0.1:1"];
  for (const token of ["x", ""]) {
    const twice = await update(b, a, { token, update_primary_addrs });
    is(twice, 400, "replication_primary_named_twice");
  }
  is(await update(b, a, {}), 400, "replication_primary_unnamed");
  assert.equal(await streams(b), true);
  is(await update(b, a, { token: "" }), 200);
  const {
    state,
    primaries,
    known_primary_cluster_addrs,
    primary_cluster_addr,
    secondary_id,
    ...more
  } = await b.status();
  assert.deepEqual(
    { state, primaries, known_primary_cluster_addrs, primary_cluster_addr, secondary_id },
    {
      state: "idle",
      primaries: [],
      known_primary_cluster_addrs: null,
      primary_cluster_addr: "",
      secondary_id: "",
    },
  );
  assert.equal("connection_state" in more, false);
  assert.equal(b.index, a.index);
});

test("R-56: one that was just demoted knows no primary that could have moved", async (t) => {
  const a = await startPrimary(t);
  is(await a.dr("primary/demote"), 200);
  const moved = await update(a, a, { update_primary_addrs: ["https://127.0.0.1:1"] });
  is(moved, 400, "replication_primary_unknown");
  assert.equal((await a.status())["state"], "idle");
});

test("R-57: of several addresses the first is taken where its own primary answers", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a, "site-b", LISTED);
  await inSync(a, b);
  const other = await freePort();
  await startPrimary(t, { clusterPort: other });
  const [dead, dead2] = [await freePort(), await freePort()];
  const addresses = [dead, dead2, other, way.port].map((port) => `https://127.0.0.1:${port}`);
  is(await update(b, a, { update_primary_addrs: addresses }), 200);
  assert.equal((await b.status())["primary_cluster_addr"], addresses[3]);
  await a.put("x", { n: "1" });
  await inSync(a, b);
  const none = await update(b, a, { update_primary_addrs: addresses.slice(0, 3) });
  is(none, 502, "replication_primary_unreachable");
  assert.equal((await b.status())["primary_cluster_addr"], addresses[3]);
  assert.equal(await streams(b), true);
});

test("T-K10: an address at which no cluster is called is not called, though the primary itself is there", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a); // addresses of this machine are not listed
  await inSync(a, b);
  const { primary_cluster_addr: before } = await b.status();
  const other = await freePort();
  const second = await TcpProxy.before(t, other);
  const named = [`https://127.0.0.1:${way.port}`, `https://localhost:${second.port}`];
  for (const address of named) {
    const refused = await update(b, a, { update_primary_addrs: [address] });
    is(refused, 400, "joining_address_forbidden");
    assert.match(
      refused.text,
      /a loopback address, which outbound_allow of the server's configuration does not list/,
    );
  }
  assert.equal(second.accepted, 0, "nobody has come there");
  assert.equal((await b.status())["primary_cluster_addr"], before);
  assert.equal(await streams(b), true);
});

test("R-58: a token of a primary that was superseded is refused", async (t) => {
  const a = await startPrimary(t);
  const [b, c] = [await joined(t, a), await joined(t, a, "site-c")];
  await inSync(a, b);
  await inSync(a, c);
  const key = await keyOf(c, a);
  const old = await tokenFor(a, "again", key, a.token);
  is(await a.dr("primary/demote"), 200);
  await b.replication.promote(NOW);
  is(await update(c, a, { token: await tokenFor(b, "site-c", key, a.token) }), 200);
  await inSync(b, c);
  is(await update(c, a, { token: old }), 400, "replication_epoch_superseded");
  assert.equal(await streams(c), true);
});

test("R-59: a primary that does not take it changes nothing: it follows the one that it has", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const key = await keyOf(b, a);
  const token = await tokenFor(a, "other", key, a.token);
  is(await a.dr("primary/revoke-secondary", { id: "other" }), 204);
  is(await update(b, a, { token }), 502, "replication_primary_refuses");
  await a.put("x", { n: "1" });
  await inSync(a, b);
  assert.equal((await b.status())["secondary_id"], "site-b");
  const stranger = await startPrimary(t);
  const wrong = await tokenFor(stranger, "b", key, stranger.token);
  is(await update(b, a, { token: wrong }), 400, "replication_other_set");
  await a.put("x", { n: "2" });
  await inSync(a, b);
});

test("R-63: a fence is taken once, an earlier one not after a later, and none of one who was revoked", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  await b.replication.promote(FORCED);
  const refused = "the primary of before refuses this cluster";
  await until(() => b.server.lines.some((line) => line.includes(refused)));
  assert.equal((await a.status())["state"], "running");
  await a.put("x", { n: "1" });
  const epoch = (number: number) => ({ number, cluster: `c${number}`, first: "100" });
  const by = { name: "", address: "" };
  await a.replication.fence(epoch(3), by);
  for (const again of [3, 2]) {
    await assert.rejects(a.replication.fence(epoch(again), by), {
      code: "replication-epoch-superseded",
    });
  }
  const { state, conflicting_primary } = await a.status();
  assert.deepEqual([state, conflicting_primary], ["fenced", "c3"]);
});

test("who is told that a fence was taken finds it kept, whatever happens to that primary next", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  await b.replication.promote(FORCED);
  await until(() => b.server.lines.some((line) => line.includes("has heard that this cluster")));
  const { role } = a.replication;
  assert.ok(role.mode === "primary" && role.fenced !== null);
  assert.ok(a.server.server.store.following, "and nothing is written any more");
  await until(async () => (await a.status())["state"] === "fenced");
});

test("a secondary that was promoted while it was on its way to another primary keeps its keys", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const before = bundleOf(a.server.server);
  await b.replication.promote(FORCED);
  const { keysVersion } = b.server.server.barrier;
  const epoch = { number: 9, cluster: "c9", first: "1" };
  const { role } = b.replication;
  assert.ok(role.mode === "primary");
  const joining = { set: role.set, id: "b", address: "https://127.0.0.1:1", epoch };
  const upstream = null as unknown as Reached["upstream"]; // nobody looks at it
  await assert.rejects(
    b.replication.updatePrimary(
      joining,
      { bundle: before, upstream },
      { force: false, also: () => {} },
    ),
    {
      code: "replication-not-secondary",
    },
  );
  assert.deepEqual(b.server.server.barrier.keysVersion, keysVersion);
});
