// Secondaries of one primary among each other: one that takes its place tells the others by itself, also where the primary never comes
// back; what they have heard they keep, and tell.

import assert from "node:assert/strict";
import test from "node:test";
import {
  putSiblings,
  storedFormer,
  storedSiblings,
  storedUpstream,
} from "../../../src/replication/links/upstream.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import type { Answer } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { PATIENT } from "../../support/replication/hurried-world.ts";
import {
  believed,
  demotedAway,
  FORCED,
  knownTo,
  losesAddresses,
  parted,
  PLAIN,
  saidBy,
  threeInSync,
  viewOf,
  WORLD,
} from "../../support/replication/siblings.ts";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";

function put(cluster: Cluster, token: string, path: string): Promise<Answer> {
  const body = { data: { n: "1" } };
  return cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
}

test("a secondary hears from its sibling that this one leads, and takes nothing from the old primary when that is back", async (t) => {
  const { a, b, c, way, ticket } = await parted(t);
  const { token } = a;
  const operation = await c.operationToken(a.opened.shares);
  assert.equal((await b.dr("secondary/promote", { force: true }, ticket)).status, 200);
  const leader = await b.clusterId();
  const former = storedFormer(viewOf(b), "dr")?.addresses ?? [];
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

test("the word of a sibling stops nobody whose primary answers and leads", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const cluster = await b.clusterId();
  const { role } = a.replication;
  assert.ok(role.mode === "primary");
  const later = { number: 2, cluster, first: String(b.index + 1n) };
  assert.deepEqual(await saidBy(b, later, cluster), role.epoch);
  await a.put("later", { n: "1" });
  await inSync(a, c);
  assert.equal((await c.status())["conflicting_primary"], undefined);
});

test("one that follows stops when its sibling proves to lead and the primary is silent, and does not speak for it: the primary believes who leads alone", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const cluster = await b.clusterId();
  const later = { number: 2, cluster, first: String(b.index + 1n) };
  way.cut();
  await believed(b, later, cluster);
  way.heal();
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
  const { warnings } = await b.replication.promote(PLAIN);
  assert.doesNotMatch(warnings.join("\n"), /did not answer/);
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

test("one that has not heard of a promotion calls its siblings before it is promoted itself, and is refused", async (t) => {
  const { b, c } = await demotedAway(t);
  await losesAddresses(c); // so that nobody hears of it
  const { warnings } = await c.replication.promote(PLAIN);
  assert.match(warnings.join("\n"), /whose address is not known, did not answer/);
  const leader = await c.clusterId();
  const { checks } = await b.replication.rehearse("");
  assert.match(checks.find(({ name }) => name === "siblings")?.text ?? "", new RegExp(leader));
  await assert.rejects(
    b.replication.promote(PLAIN),
    new RegExp(`check "siblings": site-c \\(cluster ${leader}\\) leads the set in epoch 2`),
  );
  assert.equal(b.replication.mode, "secondary");
  const forced = await b.replication.promote(FORCED);
  assert.match(forced.warnings.join("\n"), /promoted without the check "siblings"/);
});

test("a sibling names others that are not known here: they are called too", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const d = await joined(t, a, "site-d", WORLD);
  await inSync(a, d);
  for (const one of [b, c, d]) await until(() => knownTo(one) === 2);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  await losesAddresses(c);
  const { serial } = storedUpstream(viewOf(c), "dr")!.member;
  const others = storedSiblings(viewOf(b)).filter(({ serials }) => !serials.includes(serial));
  await viewOf(b).write((tx) => putSiblings(tx, others));
  await c.replication.promote(PLAIN);
  await assert.rejects(b.replication.promote(PLAIN), new RegExp(await c.clusterId()));
});

test("one ticket that is used on two siblings at the same moment makes one primary", async (t) => {
  const { a, b, c, way } = await threeInSync(t, { world: PATIENT });
  const created = await a.dr("primary/operator-ticket", { operations: ["promote"] });
  const ticket = String(at(created, "data", "ticket"));
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  const answers = await Promise.all([b, c].map((one) => one.dr("secondary/promote", {}, ticket)));
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((x, y) => x - y),
    [200, 400],
  );
  const refused = answers.find(({ status }) => status === 400);
  assert.match(refused?.text ?? "", /check \\"(siblings|primary-gone)\\"/);
  const [winner, loser] = answers[0]?.status === 200 ? [b, c] : [c, b];
  assert.deepEqual([winner.replication.mode, loser.replication.mode], ["primary", "secondary"]);
  const leader = await winner.clusterId();
  await until(async () => (await loser.status())["conflicting_primary"] === leader);
});

test("one that was demoted and one of its secondaries are promoted at the same moment: one is", async (t) => {
  const { a, b } = await threeInSync(t, { world: PATIENT }); // who is not heard in time is taken for lost, and both are
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  const tried = await Promise.allSettled([a, b].map((one) => one.replication.promote(PLAIN)));
  assert.deepEqual(tried.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
});

test("a sibling that is lost keeps nobody from being promoted, and is named", async (t) => {
  const { b, c } = await demotedAway(t);
  const [sibling] = storedSiblings(viewOf(b));
  await c.replication.rest(); // its port answers no more
  const { ready, warnings } = await b.replication.rehearse("");
  assert.equal(ready, true);
  const lost = new RegExp(`at ${sibling?.addresses[0]}, did not answer`);
  assert.match(warnings.join("\n"), lost);
  assert.match((await b.replication.promote(PLAIN)).warnings.join("\n"), lost);
});

test("a primary that was demoted and does not answer is named where one is promoted in its place", async (t) => {
  const { b, way } = await demotedAway(t);
  const { ready, warnings } = await b.replication.rehearse("");
  assert.equal(ready, true, "it may be gone for good");
  const lost = new RegExp(`that was demoted, at https://127.0.0.1:${way.port}, did not answer`);
  assert.match(warnings.join("\n"), lost);
  const promoted = await b.replication.promote(PLAIN);
  assert.match(promoted.warnings.join("\n"), lost);
});

test("another member that answers in the place of a sibling is not heard", async (t) => {
  const { b, c, way } = await threeInSync(t);
  way.cut();
  const [sibling] = storedSiblings(viewOf(b));
  assert.ok(sibling !== undefined);
  await viewOf(b).write((tx) => putSiblings(tx, [{ ...sibling, serials: ["beef"] }]));
  const cluster = await b.clusterId();
  const later = { number: 2, cluster, first: String(b.index + 1n) };
  assert.equal(await saidBy(b, later, cluster), null);
  assert.equal((await c.status())["conflicting_primary"], undefined);
});

test("an epoch that nobody leads in is given up by an operator's hand, with a token of the primary that leads", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const cluster = await b.clusterId();
  way.cut();
  const claimed = { number: 900, cluster, first: "1" };
  await believed(b, claimed, cluster);
  way.heal();
  const operation = await c.operationToken(a.opened.shares);
  const key = await c.dr("secondary/generate-public-key", {}, operation);
  const created = await a.dr("primary/secondary-token", {
    id: "site-c-again",
    secondary_public_key: at(key, "data", "secondary_public_key"),
  });
  const token = at(created, "data", "token");
  const refused = await c.dr("secondary/update-primary", { token }, operation);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /one of epoch 900 is known here/);
  for (const other of [{ token: "" }, { update_primary_addrs: ["https://127.0.0.1:1"] }]) {
    for (const dry_run of [true, false]) {
      const body = { ...other, dry_run, force: true };
      const forced = await c.dr("secondary/update-primary", body, operation);
      assert.equal(forced.status, 400);
      assert.match(forced.text, /force goes with a token/);
    }
  }
  const trial = { token, dry_run: true, force: true };
  const tried = await c.dr("secondary/update-primary", trial, operation);
  assert.equal(at(tried, "data", "ready"), true, tried.text);
  const moved = await c.dr("secondary/update-primary", { token, force: true }, operation);
  assert.equal(moved.status, 200, moved.text);
  assert.match(
    moved.text,
    new RegExp(`epoch 900 of site-b \\(cluster ${cluster}\\) is given up here`),
  );
  assert.ok(c.server.lines.some((line) => line.includes("replication.epoch-given-up")));
  await a.put("later", { n: "1" });
  await inSync(a, c);
  assert.equal((await c.status())["conflicting_primary"], undefined);
  assert.equal((await c.status())["epoch"], 1);
});

test("one that was cut off, and has believed a cluster that its primary has revoked, follows that primary again by itself", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const { role: before } = c.replication;
  const cluster = await b.clusterId();
  way.cut();
  const claimed = { number: 900, cluster, first: "1" };
  await believed(b, claimed, cluster);
  way.heal();
  const knows = async () => JSON.stringify(await a.status()).includes("900");
  await until(knows); // it is told so, and goes on
  assert.equal((await c.status())["conflicting_primary"], cluster, "it may be true");
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-b" })).status, 204);
  await a.put("later", { n: "1" });
  await inSync(a, c);
  assert.deepEqual(c.replication.role, before);
  assert.ok(c.server.lines.some((line) => line.includes("replication.epoch-given-up")));
});

test("who has followed the one that was promoted takes its place in the same minute, also where that one is gone", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  await b.replication.promote(PLAIN);
  await rejoined(b, c, "other-name", a.opened.shares, a.token);
  await inSync(b, c);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.rest();
  await c.replication.promote(PLAIN);
});
