// Who has followed a primary, or was one, and is revoked by the cluster that took its place: nobody hears it any more, by whichever
// certificate.

import assert from "node:assert/strict";
import test from "node:test";
import type { Random } from "@holdfast/shared/world";
import { issueMember } from "../../../src/cluster/authority.ts";
import {
  putRevokedClusters,
  storedMaterial,
  storedRefused,
} from "../../../src/replication/joining/primary-rows.ts";
import { formerPlace, isItself } from "../../../src/replication/joining/whose-id.ts";
import {
  knownBefore,
  putSiblings,
  putSiblingsRevoked,
  storedFormer,
  storedSiblings,
  storedUpstream,
} from "../../../src/replication/links/upstream.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { at } from "../../support/http-client.ts";
import { type Cluster, inSync, joined, rejoined } from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import {
  answerTo,
  demotedAway,
  FORCED,
  knownTo,
  parted,
  PLAIN,
  saidBy,
  threeInSync,
  viewOf,
  WORLD,
} from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

async function revoke(primary: Cluster, id: string, token: string): Promise<void> {
  const { status, text } = await primary.dr("primary/revoke-secondary", { id }, token);
  assert.equal(status, 204, text);
}

/** A token of `primary` that the other one could use. `a`: who led before. */
async function unusedToken(primary: Cluster, other: Cluster, id: string, a: Cluster) {
  return await tokenFor(primary, other, id, a, await other.operationToken(a.opened.shares));
}

async function tokenFor(
  primary: Cluster,
  other: Cluster,
  id: string,
  a: Cluster,
  operation: string,
): Promise<string> {
  const key = await other.dr("secondary/generate-public-key", {}, operation);
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const body = { id, secondary_public_key };
  const created = await primary.dr("primary/secondary-token", body, a.token);
  assert.equal(created.status, 200, created.text);
  return String(at(created, "data", "token"));
}

test("a new primary revokes one that has followed the old one beside it: nobody hears that one any more", async (t) => {
  const { a, b, c, way, clusterPort } = await threeInSync(t);
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
  const { serial } = storedUpstream(viewOf(c), "dr")!.member;
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
  const to = [`https://127.0.0.1:${clusterPort}`];
  await until(() => storedRefused(viewOf(a), leader).includes(serial));
  await until(() => a.server.lines.some((line) => line.includes("replication.members-refused")));
  const line = a.server.lines.find((each) => each.includes("replication.members-refused")) ?? "";
  assert.ok(line.includes("site-c") && line.includes(leader), line);
  assert.equal(await saidBy(c, later, cluster, { to }), null);
  const isOut = async () => /has revoked this secondary/.test(JSON.stringify(await c.status()));
  await until(isOut);
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  assert.equal(await saidBy(c, later, cluster, { to }), null, "also after a start");
  const { role } = a.replication;
  assert.equal(role.mode === "primary" && role.fenced?.cluster, leader);
  // Where it leads again, it is its operators' word who is a member.
  assert.ok(viewOf(a).list("secondaries/", { limit: 10 }).includes("site-c"));
  assert.equal((await a.dr("primary/demote", {}, token)).status, 200);
  await a.replication.promote(FORCED);
  assert.notEqual(await saidBy(c, { ...later, number: 1 }, cluster, { to }), null);
  await inSync(a, c); // it calls again by itself
});

test("one that was revoked stops nobody by way of the old primary, which has not heard of it", async (t) => {
  const { a, b, c, way, clusterPort } = await threeInSync(t);
  way.cut();
  await b.replication.promote(FORCED);
  await revoke(b, "site-c", a.token);
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  const to = [`https://127.0.0.1:${clusterPort}`];
  assert.deepEqual(await saidBy(c, later, cluster, { to }), later, "it is heard there");
  assert.equal(isFenced(a.replication.role), true);
  way.heal();
  const leadsOn = async () => {
    const { length } = b.server.lines;
    await b.replication.recover(); // it is kept, and asked anew
    const isSaid = () =>
      b.server.lines.slice(length).some((line) => line.includes("that was revoked here"));
    await until(() => isFenced(b.replication.role) || isSaid());
    assert.equal(isFenced(b.replication.role), false);
  };
  await leadsOn();
  const body = { data: { n: "2" } };
  const written = await b.server.call("POST", "/v1/secret/data/y", { token: a.token, body });
  assert.equal(written.status, 200, written.text);
  const operation = await c.operationToken(a.opened.shares);
  const joining = { token: await tokenFor(b, c, "back", a, operation), force: true };
  const moved = await c.dr("secondary/update-primary", joining, operation);
  assert.equal(moved.status, 200, moved.text);
  await inSync(b, c);
  await leadsOn(); // it has come again, and has not said so itself
});

test("nor does a secondary of the old primary believe it by way of that one", async (t) => {
  const { a, b, c, way, clusterPort } = await threeInSync(t);
  const d = await joined(t, a, "site-d", WORLD);
  await inSync(a, d);
  for (const one of [b, c, d]) await until(() => knownTo(one) === 2);
  way.cut();
  await b.replication.promote(FORCED);
  const leader = await b.clusterId();
  await until(async () => (await d.status())["conflicting_primary"] === leader);
  await revoke(b, "site-c", a.token);
  await until(() => storedSiblings(viewOf(d)).every(({ id }) => id !== "site-c"));
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  const to = [`https://127.0.0.1:${clusterPort}`];
  assert.deepEqual(await saidBy(c, later, cluster, { to }), later, "it is heard there");
  way.heal();
  await d.replication.recover(); // it is refused, and asks who leads
  const refused = "another cluster of the set was promoted";
  await until(async () => JSON.stringify(await d.status()).includes(refused));
  await d.replication.rest(); // when it has heard it
  const { role } = d.replication;
  assert.equal(role.mode === "secondary" && role.epoch.cluster, leader);
});

test("one that was revoked keeps nobody from being promoted by way of a sibling that has not heard of it", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const d = await joined(t, a, "site-d", WORLD);
  await inSync(a, d);
  for (const one of [b, c, d]) await until(() => knownTo(one) === 2);
  const before = storedSiblings(viewOf(c));
  await revoke(a, "site-d", a.token);
  for (const one of [b, c]) await until(() => knownTo(one) === 1);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  const gone = await d.clusterId();
  await viewOf(c).write((tx) => {
    putSiblings(tx, before); // as one that was away
    putSiblingsRevoked(tx, []);
    putRevokedClusters(tx, [], [gone]);
  });
  await c.replication.recover();
  const sibling = storedSiblings(viewOf(d)).find(({ id }) => id === "site-c");
  assert.ok(sibling !== undefined && d.replication.role.mode === "secondary");
  const words = { candidacy: "stands" } as const;
  const { epoch } = d.replication.role;
  const answer = await answerTo(d, epoch, await d.clusterId(), { sibling, words });
  assert.notEqual(answer, null, "it is heard there");
  await d.replication.rest(); // it does not deny it
  await b.replication.promote(PLAIN);
  assert.equal(b.replication.mode, "primary");
});

test("one that follows the new primary is revoked with the certificate that it had of the old one", async (t) => {
  const { a, b, c, way } = await threeInSync(t);
  const { member } = storedUpstream(viewOf(c), "dr")!;
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

test("it is revoked by the name that the old primary knew it by, also where a token for that name was made and not used", async (t) => {
  const { a, b, c } = await parted(t);
  await b.replication.promote(FORCED);
  await unusedToken(b, c, "site-c", a);
  await revoke(b, "site-c", a.token);
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  assert.equal(await saidBy(c, later, cluster), null);
  assert.equal(isFenced(b.replication.role), false);
});

test("one that follows the new primary under another name is revoked by the old one too", async (t) => {
  const { a, b, c } = await demotedAway(t);
  const { member } = storedUpstream(viewOf(c), "dr")!;
  const [sibling] = storedSiblings(viewOf(c));
  assert.ok(sibling !== undefined);
  await b.replication.promote(PLAIN);
  await rejoined(b, c, "other-name", a.opened.shares, a.token);
  await inSync(b, c);
  await revoke(b, "site-c", a.token);
  assert.deepEqual((await b.status())["known_secondaries"], []);
  await until(async () => (await c.status())["connection_state"] !== "ready");
  const line = b.server.lines.findLast((each) => each.includes("replication.secondary-revoked"));
  assert.match(line ?? "", /other-name/);
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  assert.equal(await saidBy(c, later, cluster, { member, sibling }), null);
  assert.equal(isFenced(b.replication.role), false);
});

test("a token for a name of before that is revoked unused leaves the one that follows under another name", async (t) => {
  const { a, b, c } = await demotedAway(t);
  await b.replication.promote(PLAIN);
  await rejoined(b, c, "other-name", a.opened.shares, a.token);
  await inSync(b, c);
  await unusedToken(b, c, "site-c", a);
  await revoke(b, "site-c", a.token);
  assert.deepEqual((await b.status())["known_secondaries"], ["other-name"]);
  assert.equal(storedSiblings(viewOf(b)).length, 1);
});

test("an id that a cluster has left is revoked alone: it is heard under the other one, as it was", async (t) => {
  const { a, b } = await threeInSync(t);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.promote(PLAIN);
  await rejoined(b, a, "back", a.opened.shares, a.token);
  await inSync(b, a);
  await rejoined(b, a, "back-again", a.opened.shares, a.token);
  await inSync(b, a);
  await revoke(b, "back", a.token);
  assert.equal(storedFormer(viewOf(b), "dr")?.isDisowned, false);
  await revoke(b, "back-again", a.token);
  assert.equal(storedFormer(viewOf(b), "dr")?.isDisowned, true);
});

/** Whose next serial is this one. */
function drawing(serial: string): Random {
  const random = new SystemRandom();
  random.bytes = () => Buffer.from(serial, "hex");
  return random;
}

test("with a primary of before that is revoked nobody is heard any more that has a certificate of it, whichever it issues", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const material = storedMaterial(viewOf(a), "dr");
  const { member } = storedUpstream(viewOf(c), "dr")!;
  const [sibling] = storedSiblings(viewOf(c));
  assert.ok(material !== null && sibling !== undefined);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.promote(PLAIN);
  await rejoined(b, a, "back", a.opened.shares, a.token);
  await inSync(b, a);
  await rejoined(b, c, "c2", a.opened.shares, a.token);
  await inSync(b, c);
  await revoke(b, "back", a.token);
  const world = { ...HURRIED, random: drawing(member.serial) };
  const issued = await issueMember(material.authority, member.id, world);
  assert.equal(issued.serial, member.serial);
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  const forged = { member: { ...member, ...issued }, sibling };
  assert.equal(await saidBy(a, later, cluster, forged), null);
  await b.replication.recover();
  assert.equal(await saidBy(a, later, cluster, forged), null, "also when it begins anew");
  assert.equal(isFenced(b.replication.role), false);
  await inSync(b, c);
});

test("an old primary speaks for none of its secondaries by a certificate with the serial of one, nor comes as it with a token", async (t) => {
  const { a, b, c } = await threeInSync(t);
  const material = storedMaterial(viewOf(a), "dr");
  const { member } = storedUpstream(viewOf(c), "dr")!;
  const [sibling] = storedSiblings(viewOf(c));
  assert.ok(material !== null && sibling !== undefined);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.promote(PLAIN);
  const world = { ...HURRIED, random: drawing(member.serial) };
  const issued = await issueMember(material.authority, member.id, world);
  assert.equal(issued.serial, member.serial);
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  assert.equal(
    await saidBy(a, later, cluster, { member: { ...member, ...issued }, sibling }),
    null,
  );
  assert.equal(isFenced(b.replication.role), false);
  const known = knownBefore(viewOf(b), cluster, "dr");
  assert.ok(known !== null);
  const place = { set: member.set, kind: "dr", serial: "5a", clusterId: cluster } as const;
  const comes = (former: Parameters<typeof formerPlace>[0]) =>
    isItself(known, [formerPlace(former, place)], place, HURRIED.clock.now());
  assert.deepEqual([comes(member), comes(issued)], [true, false]);
  assert.deepEqual(await saidBy(c, later, cluster, { sibling }), later, "it speaks for itself");
});

test("a primary of before that never came back is revoked by the id of its cluster, and still hears who leads", async (t) => {
  const { a, b, c, way } = await parted(t);
  await b.replication.promote(FORCED);
  await revoke(b, await a.clusterId(), a.token);
  const cluster = await c.clusterId();
  const later = { number: 3, cluster, first: String(c.index + 1n) };
  assert.equal(await saidBy(c, later, cluster), null);
  assert.equal(isFenced(b.replication.role), false);
  way.heal();
  await until(() => isFenced(a.replication.role));
});
