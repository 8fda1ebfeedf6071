// A primary that was away, and comes back as an older copy of what it was: somebody else leads, and has perhaps not called it yet.

import assert from "node:assert/strict";
import test from "node:test";
import { forgetFormer } from "../../../src/replication/links/upstream.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { put, replicated } from "../../support/replication/kept-clusters.ts";
import { FORCED, viewOf } from "../../support/replication/siblings.ts";
import { withSiblings } from "../../support/replication/speaking.ts";
import { until } from "../../support/until.ts";

test("T-K08: a primary that is started from an older copy of its disk hears that another leads before it takes a write", async (t) => {
  const { a, b } = await replicated(t);
  const back = a.saved();
  await back();
  await b.now.replication.promote(FORCED);
  await viewOf(b.now).write((tx) => forgetFormer(tx)); // it does not call it
  const leader = await b.now.clusterId();
  const { index } = b.now;
  assert.ok(await a.begin());
  assert.equal(isFenced(a.now.replication.role), true);
  assert.equal(await put(a.now, a.token, "late"), 503);
  assert.equal((await a.now.status())["conflicting_primary"], leader);
  assert.ok(a.now.server.lines.some((line) => line.includes("replication.fenced")));
  assert.equal(b.now.index, index);
});

test("one whose secondaries do not answer, or follow it still, comes up and writes", async (t) => {
  const { a, b } = await replicated(t);
  await a.fail();
  assert.ok(await a.begin());
  assert.equal(await put(a.now, a.token, "followed"), 200);
  await Promise.all([a.fail(), b.fail()]);
  assert.ok(await a.begin());
  assert.equal(await put(a.now, a.token, "alone"), 200);
});

test("what a secondary has heard of one that was promoted by mistake does not stop the primary that is unsealed while that one is away", async (t) => {
  const { a, others, way } = await withSiblings(t, ["site-b", "site-c"]);
  const [b, c] = others as [Cluster, Cluster];
  const cluster = await b.clusterId();
  way.cut();
  for (const one of [b, c]) await until(async () => (await one.status())["state"] === "idle");
  await b.replication.promote(FORCED);
  await until(async () => (await c.status())["conflicting_primary"] === cluster);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  way.heal();
  await b.server.stop();
  const sealed = await a.server.call("POST", "/v1/sys/seal", { token: a.token });
  assert.equal(sealed.status, 204);
  await a.server.unseal(a.opened.shares);
  await until(async () => (await put(a, a.token, "leads")) === 200);
  assert.equal(isFenced(a.replication.role), false);
  assert.ok(a.server.lines.some((line) => line.includes("has heard that another cluster leads")));
});
