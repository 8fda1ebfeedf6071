// Secondaries of one primary among each other: one that takes its place tells the others by itself, also where the primary never comes
// back; what they have heard they keep, and tell.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { exchange } from "../../../src/replication/links/fencing.ts";
import {
  putSiblings,
  storedFormer,
  storedSiblings,
  storedUpstream,
} from "../../../src/replication/links/upstream.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { type Epoch, isFenced } from "../../../src/replication/roles/role.ts";
import type { Sibling } from "../../../src/replication/stream/messages.ts";
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
  /** Default: the first that it knows. */
  readonly sibling?: Sibling;
}

/** What whoever has the certificate of `by` and says to be `from` hears of who leads. */
async function saidBy(
  by: Cluster,
  later: Epoch,
  from: string,
  { keysOf = by, to, sibling = storedSiblings(viewOf(by))[0] }: Saying = {},
): Promise<Epoch | null> {
  const upstream = storedUpstream(viewOf(by));
  assert.ok(upstream !== null && sibling !== undefined);
  const { serials } = sibling;
  const beside = { ...upstream.member, beside: true, serials } as const;
  const answer = await exchange(
    to ?? sibling.addresses,
    to === undefined ? beside : upstream.member,
    later,
    {
      ...HURRIED,
      net: new SystemNet(),
      barrier: keysOf.server.server.barrier,
      clusterId: () => from,
      version: "0.1.0",
    },
  );
  return answer?.leading ?? null;
}

/** How many others it could call. */
function knownTo(one: Cluster): number {
  return storedSiblings(viewOf(one)).filter(({ addresses }) => addresses.length > 0).length;
}

async function threeInSync(t: TestContext) {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
  await inSync(a, b);
  await inSync(a, c);
  for (const one of [b, c]) await until(() => knownTo(one) === 1);
  return { a, b, c, way };
}

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

test("one that follows stops at once when its sibling proves to lead and the primary is not there, and does not speak for it: the primary believes who leads alone", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const cluster = await b.clusterId();
  const later = { number: 2, cluster, first: String(b.index + 1n) };
  way.cut();
  assert.deepEqual(await saidBy(b, later, cluster), later);
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

const PLAIN = { force: false, address: "" };

/** A cluster that was demoted, and is away since: who is promoted in its place hears nothing from it. */
async function demotedAway(t: TestContext) {
  const all = await threeInSync(t);
  assert.equal((await all.a.dr("primary/demote", {}, all.a.token)).status, 200);
  all.way.cut();
  return all;
}

/** It knows them, and not where they are. */
async function losesAddresses(one: Cluster): Promise<void> {
  const siblings = storedSiblings(viewOf(one)).map((each) => ({ ...each, addresses: [] }));
  await viewOf(one).write((tx) => putSiblings(tx, siblings));
}

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
    new RegExp(`check "siblings": cluster ${leader} leads the set in epoch 2`),
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
  const { serial } = storedUpstream(viewOf(c))!.member;
  const others = storedSiblings(viewOf(b)).filter(({ serials }) => !serials.includes(serial));
  await viewOf(b).write((tx) => putSiblings(tx, others));
  await c.replication.promote(PLAIN);
  await assert.rejects(b.replication.promote(PLAIN), new RegExp(await c.clusterId()));
});

test("one ticket that is used on two siblings at the same moment makes one primary", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
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
  const { a, b } = await threeInSync(t);
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

test("a new primary revokes one that has followed the old one beside it: nobody hears that one any more", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const d = await joined(t, a, "site-d", WORLD);
  await inSync(a, d);
  for (const one of [b, c, d]) await until(() => knownTo(one) === 2);
  way.cut();
  await b.replication.promote(FORCED);
  const leader = await b.clusterId();
  for (const one of [c, d]) {
    await until(async () => (await one.status())["conflicting_primary"] === leader);
  }
  const { token } = a;
  assert.equal((await b.dr("primary/revoke-secondary", { id: "site-c" }, token)).status, 204);
  const { serial } = storedUpstream(viewOf(c))!.member;
  const isKnown = (one: Cluster) =>
    storedSiblings(viewOf(one)).some(({ serials }) => serials.includes(serial));
  assert.equal(isKnown(b), false);
  await until(() => !isKnown(d));
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  for (const sibling of storedSiblings(viewOf(c))) {
    assert.equal(await saidBy(c, later, cluster, { sibling }), null, "it is no member any more");
  }
  assert.equal(isFenced(b.replication.role), false);
  assert.equal((await d.status())["conflicting_primary"], leader);
  way.heal(); // the old primary hears it too
  await until(() => isFenced(a.replication.role));
  const known = () => viewOf(a).list("secondaries/", { limit: 10 });
  await until(() => !known().includes("site-c"));
});

test("one that follows the new primary is revoked with the certificate that it had of the old one", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const { member } = storedUpstream(viewOf(c))!;
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  await b.replication.promote(PLAIN);
  await rejoined(b, c, "other-name", a.opened.shares, a.token);
  await inSync(b, c);
  const isKnown = () =>
    storedSiblings(viewOf(b)).some(({ serials }) => serials.includes(member.serial));
  assert.equal(isKnown(), true);
  assert.equal((await b.dr("primary/revoke-secondary", { id: "other-name" }, a.token)).status, 204);
  assert.equal(isKnown(), false);
});

test("an epoch that nobody leads in is given up by an operator's hand, with a token of the primary that leads", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const cluster = await b.clusterId();
  way.cut();
  const claimed = { number: 900, cluster, first: "1" };
  assert.deepEqual(await saidBy(b, claimed, cluster), claimed);
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
  assert.match(moved.text, new RegExp(`epoch 900 of cluster ${cluster} is given up here`));
  assert.ok(c.server.lines.some((line) => line.includes("replication.epoch-given-up")));
  await a.put("later", { n: "1" });
  await inSync(a, c);
  assert.equal((await c.status())["conflicting_primary"], undefined);
  assert.equal((await c.status())["epoch"], 1);
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
