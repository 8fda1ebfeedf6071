// A member that is taken for the one that leads, and is not: what it can do to those that believe it, and what is left of it.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { isRevoked } from "../../../src/replication/joining/primary-rows.ts";
import { storedSiblings, storedUpstream } from "../../../src/replication/links/upstream.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { type Cluster, inSync, joined } from "../../support/replication/clusters.ts";
import {
  answerTo,
  believed,
  FORCED,
  knownTo,
  threeInSync,
  viewOf,
  WORLD,
} from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

test("whom a false leader has revoked is heard again when that one is refuted", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const d = await joined(t, a, "site-d", WORLD);
  await inSync(a, d);
  for (const one of [b, c, d]) await until(() => knownTo(one) === 2);
  const cluster = await c.clusterId();
  const { serial } = storedUpstream(viewOf(d), "dr")!.member;
  const siteB = (one: typeof c) => storedSiblings(viewOf(one)).find(({ id }) => id === "site-b")!;
  const { role } = d.replication;
  assert.ok(role.mode === "secondary");
  const asksB = async () =>
    await answerTo(d, role.epoch, await d.clusterId(), { sibling: siteB(d) });
  way.cut();
  const claimed = { number: 2, cluster, first: "1" };
  const saying = { sibling: siteB(c), words: { revoked: [serial] } };
  await believed(c, claimed, cluster, saying);
  assert.equal(await asksB(), null, "it is believed");
  way.heal();
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-c" })).status, 204);
  await inSync(a, b);
  await until(() => storedSiblings(viewOf(b)).some(({ id }) => id === "site-d"));
  await until(async () => (await asksB()) !== null);
  assert.equal(await answerTo(c, claimed, cluster, { sibling: saying.sibling }), null);
});

/** The primary leads on beside the one that took its place, and has revoked it; both reach the third one again. */
async function takenBack(t: TestContext, { isDisowned }: { readonly isDisowned: boolean }) {
  const { a, b, c, way } = await threeInSync(t);
  way.cut();
  await b.replication.promote(FORCED);
  const leader = await b.clusterId();
  await until(async () => (await c.status())["conflicting_primary"] === leader);
  const siteC = async () => (await awaited(b)).find((one) => one["node_id"] === "site-c");
  await until(async () => (await siteC())?.["informed"] === true);
  const former = await a.clusterId();
  if (isDisowned) {
    const gone = await b.dr("primary/revoke-secondary", { id: former }, a.token);
    assert.equal(gone.status, 204, gone.text);
    await until(() => isRevoked(viewOf(c), former));
  }
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-b" })).status, 204);
  way.heal();
  return { a, b, c, leader, former, siteC };
}

async function awaited(cluster: Cluster): Promise<JsonObject[]> {
  return ((await cluster.status())["awaited_members"] ?? []) as JsonObject[];
}

const hasLine = ({ server }: Cluster, event: string) =>
  server.lines.some((line) => line.includes(event));

test("a primary that leads on takes a secondary back by revoking the one in its place, and that one notices", async (t) => {
  const { a, b, c, former, siteC } = await takenBack(t, { isDisowned: false });
  await inSync(a, c);
  assert.equal((await c.status())["conflicting_primary"], undefined);
  await b.replication.recover(); // it asks those that had heard of it again
  await until(async () => (await siteC())?.["informed"] === false);
  assert.equal((await siteC())?.["refuses"], true);
  await until(() => hasLine(b, "replication.member-lost"));
  await until(() => hasLine(b, "replication.former-refuses"));
  const [primary] = await awaited(b);
  assert.deepEqual(
    [primary?.["cluster_id"], primary?.["informed"], primary?.["refuses"]],
    [former, false, true],
  );
  const answer = await b.server.call("GET", "/v1/sys/attention", { token: a.token });
  assert.match(answer.text, /has not come over[^"]*, and refuses this cluster/);
});

test("a primary that was revoked by the one in its place takes no secondary back by its own word", async (t) => {
  const { b, c, leader, former } = await takenBack(t, { isDisowned: true });
  await c.replication.recover(); // it calls its primary, is refused, and asks who leads
  await until(() => hasLine(c, "replication.former-not-believed"));
  assert.equal((await c.status())["conflicting_primary"], leader);
  assert.equal(isRevoked(viewOf(c), former), true);
  assert.equal(isFenced(b.replication.role), false);
});
