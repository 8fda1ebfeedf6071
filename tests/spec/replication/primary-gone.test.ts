// That a primary is gone is known, and never assumed: without force nobody is promoted beside one that lives.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { until } from "../../support/until.ts";

const FORCED = { force: true, address: "" };

/** Neither is it promoted nor does a rehearsal say so. Gives the reason. */
async function refused(cluster: Cluster, token: string): Promise<string> {
  const rehearsal = await cluster.dr("secondary/promote", { dry_run: true }, token);
  assert.equal(at(rehearsal, "data", "ready"), false, rehearsal.text);
  const answer = await cluster.dr("secondary/promote", {}, token);
  is(answer, 400, "replication_promotion_refused");
  assert.match(answer.text, /primary-gone/);
  const { mode, promotable_reasons } = await cluster.status();
  assert.deepEqual([mode, promotable_reasons], ["secondary", ["primary-gone"]]);
  return answer.text;
}

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

test("a fenced primary that was demoted still knows who leads, also after a start, and is promoted beside it by force alone", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await b.replication.promote(FORCED);
  way.heal();
  await until(async () => (await a.status())["state"] === "fenced");
  is(await a.dr("primary/demote"), 200);
  assert.equal((await a.status())["seal_source"], "own");
  const token = await a.operationToken(a.opened.shares);
  const leader = await b.clusterId();
  assert.ok((await refused(a, token)).includes(leader));
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  assert.ok((await refused(a, token)).includes(leader));
  const forced = await a.dr("secondary/promote", { force: true }, token);
  is(forced, 200);
  assert.match(forced.text, /promoted without the check/);
});

test("to forget a primary does not make it gone; one that was demoted before is", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  is(await b.dr("secondary/update-primary", { token: "" }, token), 200);
  assert.equal((await b.status())["seal_source"], "primary", "its shares are the primary's");
  assert.ok((await refused(b, token)).includes(await a.clusterId()));
  await a.put("later", { n: "1" });

  const c = await joined(t, a, "site-c");
  await inSync(a, c);
  is(await a.dr("primary/demote"), 200);
  const other = await c.operationToken(a.opened.shares);
  is(await c.dr("secondary/update-primary", { token: "" }, other), 200);
  is(await c.dr("secondary/promote", {}, other), 200);
});
