// Secondaries of one primary among each other: one that takes its place tells the others by itself, also where the primary never comes
// back; what they have heard they keep, and tell.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { exchangeEpochs } from "../../../src/replication/links/fencing.ts";
import { storedSiblings, storedUpstream } from "../../../src/replication/links/upstream.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import type { Answer } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
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
  way.cut();
  for (const one of [b, c]) await until(async () => (await one.status())["state"] === "idle");
  return { a, b, c, way };
}

test("a secondary hears from its sibling that this one leads, takes nothing from the old primary when that is back, and tells it", async (t) => {
  const { a, b, c, way } = await parted(t);
  const { token } = a;
  const operation = await c.operationToken(a.opened.shares);
  await b.replication.promote(FORCED);
  const leader = await b.clusterId();
  await until(async () => (await c.status())["conflicting_primary"] === leader);
  assert.equal((await c.status())["epoch"], 2);
  const early = await c.dr("secondary/promote", {}, operation);
  assert.equal(early.status, 400, "silence of the old primary does not make it another one");
  assert.ok(early.text.includes(leader), early.text);
  // It has lost its power before it could tell the old one, which comes back and writes.
  await b.server.crash();
  const { index } = c;
  assert.equal((await put(a, token, "apart")).status, 200);
  way.heal();
  await until(() => isFenced(a.replication.role));
  assert.equal((await a.status())["conflicting_primary"], leader);
  assert.equal(c.index, index, "nothing was taken");
  assert.equal((await c.status())["conflicting_primary"], leader);
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
  const { primary: a } = await startPrimaryBehind(t, WORLD);
  const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
  await inSync(a, b);
  await inSync(a, c);
  await until(() => storedSiblings(viewOf(b)).some(({ addresses }) => addresses.length > 0));
  await until(() => storedSiblings(viewOf(c)).length === 1);
  const upstream = storedUpstream(viewOf(b));
  const [sibling] = storedSiblings(viewOf(b));
  assert.ok(upstream !== null && sibling !== undefined);
  const { role } = c.replication;
  assert.ok(role.mode === "secondary");
  const later = { number: 99, cluster: await b.clusterId(), first: "1" };
  const telling = async (from: Cluster) =>
    await exchangeEpochs(sibling.addresses, { ...upstream.member, beside: true }, later, {
      ...HURRIED,
      net: new SystemNet(),
      barrier: from.server.server.barrier,
      clusterId: () => later.cluster,
      version: "0.1.0",
    });
  const stranger = await startPrimaryBehind(t, WORLD);
  assert.equal(await telling(stranger.primary), null, "its keys are others");
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-b" })).status, 204);
  await until(() => storedSiblings(viewOf(c)).length === 0);
  assert.equal(await telling(b), null, "its certificate is none any more");
  assert.deepEqual(c.replication.role, {
    ...role,
    known: (c.replication.role as typeof role).known,
  });
  await a.put("later", { n: "1" });
  await inSync(a, c);
});
