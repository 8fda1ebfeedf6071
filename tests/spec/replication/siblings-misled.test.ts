// A member that is taken for the one that leads, and is not: what it can do to those that believe it, and what is left of it.

import assert from "node:assert/strict";
import test from "node:test";
import { storedSiblings, storedUpstream } from "../../../src/replication/links/upstream.ts";
import { inSync, joined } from "../../support/replication/clusters.ts";
import {
  answerTo,
  believed,
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
