// A cluster that has led in the place of its primary and was demoted: the others that have followed that primary reach it still, and
// it them.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { inSync, rejoined } from "../../support/replication/clusters.ts";
import { demotedAway, FORCED, PLAIN, threeInSync } from "../../support/replication/siblings.ts";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";

/** B has led while C was away, and was demoted; A is gone. */
async function ledAndDemoted(t: TestContext) {
  const all = await threeInSync(t);
  const { a, b, c, way } = all;
  await c.replication.rest();
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  await b.replication.promote(PLAIN);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  await c.replication.lead();
  return all;
}

test("one that was away hears of a promotion from who was demoted since, and is not promoted beside it", async (t) => {
  const { b, c } = await ledAndDemoted(t);
  const leader = await b.clusterId();
  const isGone = async () => {
    const { checks } = await c.replication.rehearse("");
    return checks.some(({ name, ok }) => name === "primary-gone" && ok);
  };
  await until(isGone);
  await assert.rejects(
    c.replication.promote(PLAIN),
    new RegExp(`check "siblings": site-b \\(cluster ${leader}\\) leads the set in epoch 2`),
  );
  await b.replication.promote(PLAIN);
  await until(async () => (await c.status())["epoch"] === 3);
  assert.equal((await c.status())["conflicting_primary"], leader);
});

test("one that was demoted and is promoted again beside another finds it: one of the two is fenced, and names the other", async (t) => {
  const { b, c } = await ledAndDemoted(t);
  await c.replication.promote(FORCED);
  await b.replication.promote(FORCED);
  const led = () => [b, c].filter(({ replication }) => !isFenced(replication.role));
  await until(() => led().length === 1);
  assert.deepEqual(led(), [b], "its epoch is the later one");
  assert.equal((await c.status())["conflicting_primary"], await b.clusterId());
});

test("one that was demoted calls those that have followed the same primary before it is promoted again, and is refused where one leads", async (t) => {
  const { a, b, c } = await demotedAway(t);
  await b.replication.promote(PLAIN);
  await until(async () => (await c.status())["epoch"] === 2);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.rest();
  await c.replication.promote(FORCED);
  await b.replication.lead();
  await assert.rejects(
    b.replication.promote(PLAIN),
    new RegExp(`site-c \\(cluster ${await c.clusterId()}\\) leads the set in epoch 3`),
  );
});

test("one that knows of who was promoted in the place of a demoted primary does not take the last entry of that one for the last of all, also after a start", async (t) => {
  const { a, b, c } = await demotedAway(t);
  await b.replication.promote(PLAIN);
  await until(async () => (await c.status())["epoch"] === 2);
  await c.server.server.keeper.seal(); // waits for what it does with that
  await c.server.unseal(a.opened.shares);
  const { role } = c.replication;
  assert.ok(role.mode === "secondary" && role.superseded === true);
  assert.equal(role.final, null);
  const { unheard } = await c.replication.rehearse("");
  assert.notEqual(unheard, null, "what the other writes is not known here");
});

test("a primary that was demoted calls its own secondaries before it is promoted again, and is refused where one of them leads", async (t) => {
  const { a, b, c } = await demotedAway(t);
  await b.replication.promote(PLAIN); // A does not hear of it
  const leads = new RegExp(`site-b \\(cluster ${await b.clusterId()}\\) leads the set in epoch 2`);
  const { checks } = await a.replication.rehearse("");
  assert.match(checks.find(({ name }) => name === "siblings")?.text ?? "", leads);
  await assert.rejects(a.replication.promote(PLAIN), leads);
  // Also where only another one can tell, and after a start.
  await until(async () => (await c.status())["epoch"] === 2);
  await b.replication.rest();
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  await assert.rejects(a.replication.promote(PLAIN), leads);
});

test("one that has led, and has secondaries of its own since, calls them too", async (t) => {
  const { a, b, c } = await demotedAway(t);
  await b.replication.promote(PLAIN);
  await rejoined(b, c, "c2", a.opened.shares, a.token);
  await inSync(b, c);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.rest();
  await c.replication.promote(PLAIN);
  await b.replication.lead();
  await assert.rejects(
    b.replication.promote(PLAIN),
    new RegExp(`c2 \\(cluster ${await c.clusterId()}\\) leads the set in epoch 3`),
  );
});

test("who goes back to the primary after a promotion by mistake takes the tickets of that one", async (t) => {
  const { a, c, way } = await threeInSync(t);
  way.cut();
  await c.replication.promote(FORCED);
  assert.equal((await c.dr("primary/demote", {}, a.token)).status, 200);
  way.heal();
  const operation = await c.operationToken(a.opened.shares);
  const key = await c.dr("secondary/generate-public-key", {}, operation);
  const created = await a.dr("primary/secondary-token", {
    id: "site-c-again",
    secondary_public_key: at(key, "data", "secondary_public_key"),
  });
  const token = at(created, "data", "token");
  const ticketOf = async () => {
    const issued = await a.dr("primary/operator-ticket", { operations: ["recover"] });
    return String(at(issued, "data", "ticket"));
  };
  const early = await c.dr("secondary/recover", {}, await ticketOf());
  assert.equal(early.status, 403, "it is of before the epoch that is known here");
  const moved = await c.dr("secondary/update-primary", { token, force: true }, operation);
  assert.equal(moved.status, 200, moved.text);
  const taken = await c.dr("secondary/recover", {}, await ticketOf());
  assert.equal(taken.status, 200, taken.text);
});
