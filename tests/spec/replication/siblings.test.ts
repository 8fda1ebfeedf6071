// Secondaries of one primary among each other: one that takes its place tells the others by itself, also where the primary never comes
// back; what they have heard they keep, and tell.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { exchangeEpochs } from "../../../src/replication/links/fencing.ts";
import { storedFormer } from "../../../src/replication/links/upstream.ts";
import { storedSiblings, storedUpstream } from "../../../src/replication/links/upstream.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { type Epoch, isFenced } from "../../../src/replication/roles/role.ts";
import type { Answer } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";

const FORCED = { force: true, address: "" };
const WORLD = { world: HURRIED };

function put(cluster: Cluster, token: string, path: string): Promise<Answer> {
  const body = { data: { n: "1" } };
  return cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
}

const viewOf = ({ server }: Cluster) => server.server.barrier.view("core/replication/dr/");

/** A primary with two secondaries that know of each other; its way is cut then. */
async function parted(t: TestContext) {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
  await a.put("x", { n: "1" });
  for (const one of [b, c]) {
    await inSync(a, one);
    const isKnown = () => storedSiblings(viewOf(one)).some(({ addresses }) => addresses.length > 0);
    await until(isKnown);
  }
  const made = await a.dr("primary/operator-ticket", { operations: ["promote", "read"] });
  const ticket = String(at(made, "data", "ticket"));
  way.cut();
  for (const one of [b, c]) await until(async () => (await one.status())["state"] === "idle");
  return { a, b, c, way, ticket };
}

test("a secondary hears from its sibling that this one leads, and takes nothing from the old primary when that is back", async (t) => {
  const { a, b, c, way, ticket } = await parted(t);
  const { token } = a;
  const operation = await c.operationToken(a.opened.shares);
  assert.equal((await b.dr("secondary/promote", { force: true }, ticket)).status, 200);
  const leader = await b.clusterId();
  const former = storedFormer(viewOf(b))?.addresses ?? [];
  assert.deepEqual([...new Set(former)], former, "each is called once");
  await until(async () => (await c.status())["conflicting_primary"] === leader);
  assert.equal((await c.status())["epoch"], 2);
  const early = await c.dr("secondary/promote", {}, operation);
  assert.equal(early.status, 400, "silence of the old primary does not make it another one");
  assert.ok(early.text.includes(leader), early.text);
  const again = await c.dr("secondary/promote", { force: true }, ticket);
  assert.equal(again.status, 403, "the promotion that the ticket was for has been");
  const { index } = c;
  assert.equal((await put(a, token, "apart")).status, 200);
  way.heal();
  await until(() => isFenced(a.replication.role));
  assert.equal((await a.status())["conflicting_primary"], leader);
  assert.equal(c.index, index, "nothing was taken");
  assert.equal((await c.status())["conflicting_primary"], leader);
});

interface Saying {
  /** Whose keys prove it; default: those of who says it. */
  readonly keysOf?: Cluster;
  /** Default: the sibling of who says it, where siblings tell each other. */
  readonly to?: readonly string[];
}

/** What whoever has the certificate of `by` and says to be `from` hears of who leads. */
async function saidBy(
  by: Cluster,
  later: Epoch,
  from: string,
  { keysOf = by, to }: Saying = {},
): Promise<Epoch | null> {
  const upstream = storedUpstream(viewOf(by));
  const [sibling] = storedSiblings(viewOf(by));
  assert.ok(upstream !== null && sibling !== undefined);
  const member = to === undefined ? { ...upstream.member, beside: true as const } : upstream.member;
  return await exchangeEpochs(to ?? sibling.addresses, member, later, {
    ...HURRIED,
    net: new SystemNet(),
    barrier: keysOf.server.server.barrier,
    clusterId: () => from,
    version: "0.1.0",
  });
}

async function threeInSync(t: TestContext) {
  const { primary: a } = await startPrimaryBehind(t, WORLD);
  const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
  await inSync(a, b);
  await inSync(a, c);
  await until(() => storedSiblings(viewOf(b)).some(({ addresses }) => addresses.length > 0));
  await until(() => storedSiblings(viewOf(c)).length === 1);
  return { a, b, c };
}

test("one that follows stops at once when its sibling proves to lead, and does not speak for it: the primary believes who leads alone", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const cluster = await b.clusterId();
  const later = { number: 2, cluster, first: String(b.index + 1n) };
  assert.deepEqual(await saidBy(b, later, cluster), later);
  assert.equal((await c.status())["conflicting_primary"], cluster);
  const { index } = c;
  for (const n of ["1", "2", "3"]) await a.put("later", { n });
  await inSync(a, b);
  assert.equal(c.index, index, "nothing more was taken");
  const { role } = a.replication;
  const followed = c.replication.role;
  assert.ok(role.mode === "primary" && followed.mode === "secondary");
  const to = [followed.address];
  assert.deepEqual(await saidBy(c, later, await c.clusterId(), { to }), role.epoch);
  assert.equal(isFenced(a.replication.role), false, "nobody but the one that leads can say so");
  assert.deepEqual(await saidBy(b, later, cluster, { to }), later);
  assert.equal(isFenced(a.replication.role), true);
});

test("what one says of another, of an epoch that cannot have come, or as no cluster is not believed", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const cluster = await b.clusterId();
  const epoch = { number: 2, cluster, first: String(b.index + 1n) };
  const role = c.replication.role;
  assert.ok(role.mode === "secondary");
  assert.deepEqual(await saidBy(b, epoch, await a.clusterId()), role.epoch);
  assert.deepEqual(await saidBy(b, { ...epoch, number: 4_294_967_295 }, cluster), role.epoch);
  assert.equal(await saidBy(b, { ...epoch, cluster: "nobody" }, "nobody"), null);
  await a.put("later", { n: "1" });
  await inSync(a, c);
});

test("of two that are promoted while the old primary never comes back one gives way", async (t) => {
  const { a, b, c } = await parted(t);
  const { token } = a;
  await Promise.all([b, c].map(({ replication }) => replication.promote(FORCED)));
  const led = () => [b, c].filter(({ replication }) => !isFenced(replication.role));
  await until(() => led().length === 1);
  const [winner] = led();
  assert.ok(winner !== undefined);
  const loser = winner === b ? c : b;
  assert.equal((await loser.status())["conflicting_primary"], await winner.clusterId());
  assert.equal((await put(winner, token, "y")).status, 200);
  assert.equal((await put(loser, token, "y")).status, 503);
  assert.equal((await loser.dr("primary/demote", {}, token)).status, 200);
  await rejoined(winner, loser, "back", a.opened.shares, token);
  await inSync(winner, loser);
});

test("one that the primary has revoked tells the others nothing, and neither does one without the keys", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const { role } = c.replication;
  assert.ok(role.mode === "secondary");
  const cluster = await b.clusterId();
  const later = { number: 99, cluster, first: "1" };
  const { primary: keysOf } = await startPrimaryBehind(t, WORLD);
  assert.equal(await saidBy(b, later, cluster, { keysOf }), null, "its keys are others");
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-b" })).status, 204);
  await until(() => storedSiblings(viewOf(c)).length === 0);
  assert.equal(await saidBy(b, later, cluster), null, "its certificate is none any more");
  assert.deepEqual(c.replication.role, {
    ...role,
    known: (c.replication.role as typeof role).known,
  });
  await a.put("later", { n: "1" });
  await inSync(a, c);
});

test("one that was demoted hears who was promoted in its place, and is not promoted beside it without force", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const { token } = a;
  assert.equal((await a.dr("primary/demote", {}, token)).status, 200);
  const before = await a.status();
  assert.equal(before["conflicting_primary"], undefined, "nobody leads yet");
  await b.replication.promote({ force: false, address: "" });
  const leader = await b.clusterId();
  for (const one of [a, c]) {
    await until(async () => (await one.status())["conflicting_primary"] === leader);
  }
  const operation = await a.operationToken(a.opened.shares);
  const refused = await a.dr("secondary/promote", {}, operation);
  assert.equal(refused.status, 400);
  assert.ok(refused.text.includes(leader), refused.text);
  await rejoined(b, a, "back", a.opened.shares, token);
  await inSync(b, a);
  assert.equal((await a.status())["conflicting_primary"], undefined);
});
