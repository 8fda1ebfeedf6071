// A secondary says itself which cluster it is: it is not taken for the primary, nor for another secondary.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { FormerPlace } from "../../../src/cluster/hello.ts";
import { storedMaterial } from "../../../src/replication/joining/primary-rows.ts";
import { formerPlace } from "../../../src/replication/joining/whose-id.ts";
import { Secondaries } from "../../../src/replication/joining/secondaries.ts";
import { linkTo } from "../../../src/replication/links/dialing.ts";
import { storedUpstream } from "../../../src/replication/links/upstream.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { at } from "../../support/http-client.ts";
import { type Cluster, inSync, rejoined } from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { withSiblings } from "../../support/replication/speaking.ts";
import { demotedAway, PLAIN, viewOf } from "../../support/replication/siblings.ts";

/** A member of that primary that nobody has come as: it says what the test wants. */
async function comer(primary: Cluster) {
  const random = new SystemRandom();
  const view = viewOf(primary);
  const secondaries = new Secondaries({ ...HURRIED, random, view, kind: "dr" });
  const { pair } = await secondaries.admit("site-m");
  const { set, kind, certificate: authority } = secondaries.material.authority;
  const [address] = (await primary.replication.primary()).addresses;
  assert.ok(address !== undefined);
  const member = { set, kind, id: "site-m", authority, ...pair };
  const comes = async (
    clusterId: string,
    { isTrial = false, formers = [] as readonly FormerPlace[] } = {},
  ) => {
    const link = linkTo(address, member, { ...HURRIED, net: new SystemNet() });
    try {
      await link.open({ clusterId, version: "0.1.0", isTrial, formers });
    } finally {
      await link.close();
    }
  };
  const place = { set, kind, serial: pair.serial } as const;
  const isUsed = () => secondaries.known().find(({ id }) => id === "site-m")?.used !== null;
  return { comes, place, isUsed };
}

async function threeOf(t: TestContext) {
  const { a, others } = await withSiblings(t, ["site-b", "site-c"]);
  const [b, c] = others as [Cluster, Cluster];
  return { a, b, c, ...(await comer(a)) };
}

test("nobody comes as the primary that it comes to, nor as a cluster that is known there", async (t) => {
  const { a, c, comes, isUsed } = await threeOf(t);
  await c.replication.rest(); // also one that is away
  for (const isTrial of [true, false]) {
    await assert.rejects(comes(await a.clusterId(), { isTrial }), /id of the primary itself/);
    await assert.rejects(comes(await c.clusterId(), { isTrial }), /revoke site-c on the primary/);
  }
  assert.equal(isUsed(), false);
  const status = await a.status();
  assert.deepEqual(status["left_secondaries"] ?? [], []);
  // The operator's word counts.
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-c" })).status, 204);
  await comes(await c.clusterId());
  assert.equal(isUsed(), true);
});

test("a cluster that is known proves it by its own certificate, for this one place", async (t) => {
  const { b, c, comes, place, isUsed } = await threeOf(t);
  const clusterId = await c.clusterId();
  const own = storedUpstream(viewOf(c), "dr")!.member;
  const other = storedUpstream(viewOf(b), "dr")!.member;
  const by = (member: typeof own, where = { ...place, clusterId }) => formerPlace(member, where);
  const wrong: readonly FormerPlace[] = [
    by(other), // another member
    { ...by(other), certificate: own.certificate },
    by(own, { ...place, clusterId, serial: own.serial }), // another place
    by(own, { ...place, clusterId: await b.clusterId() }),
    { ...by(own), certificate: own.authority },
    { ...by(own), certificate: Buffer.from("none") },
    { ...by(own), proof: Buffer.alloc(0) },
  ];
  for (const former of wrong) {
    await assert.rejects(comes(clusterId, { formers: [former] }), /revoke site-c on the primary/);
  }
  assert.equal(isUsed(), false);
  await comes(clusterId, { formers: [...wrong.slice(0, 2), by(own)] });
  assert.equal(isUsed(), true);
});

test("one that follows comes under another id without a word of the operator", async (t) => {
  const { a, c } = await threeOf(t);
  await rejoined(a, c, "site-c2", a.opened.shares, a.token);
  await inSync(a, c);
  assert.deepEqual((await a.status())["left_secondaries"], ["site-c"]);
});

/** B leads in the place of A, and knows A and C from when it followed. */
async function ledAnew(t: TestContext) {
  const { a, b, c, way } = await demotedAway(t);
  await b.replication.promote(PLAIN);
  const [formerly, authority] = [
    storedUpstream(viewOf(c), "dr")!.member,
    storedMaterial(viewOf(a), "dr")!.authority,
  ];
  return { a, b, c, way, formerly, authority, ...(await comer(b)) };
}

const BEFORE = /known here from before this primary led/;

test("nobody comes to a new primary as one that has followed the old one, or as that one itself", async (t) => {
  const { a, b, c, comes, isUsed } = await ledAnew(t);
  for (const isTrial of [true, false]) {
    await assert.rejects(comes(await c.clusterId(), { isTrial }), /led, as site-c, and this one/);
    await assert.rejects(comes(await a.clusterId(), { isTrial }), BEFORE);
  }
  assert.equal(isUsed(), false);
  // The operator's word counts: the token is as good as before.
  const id = await c.clusterId();
  assert.equal((await b.dr("primary/revoke-secondary", { id }, a.token)).status, 204);
  await comes(id);
  assert.equal(isUsed(), true);
});

test("the primary of before that is revoked comes without a proof, and what it has issued proves nothing", async (t) => {
  const { a, b, c, comes, place, isUsed, formerly } = await ledAnew(t);
  const id = await a.clusterId();
  assert.equal((await b.dr("primary/revoke-secondary", { id }, a.token)).status, 204);
  const clusterId = await c.clusterId();
  const formers = [formerPlace(formerly, { ...place, clusterId })];
  await assert.rejects(comes(clusterId, { formers }), BEFORE);
  await comes(id);
  assert.equal(isUsed(), true);
});

test("one that is known from before proves it: by its certificate of that time, or by the authority with which it led", async (t) => {
  const { a, b, c, comes, place, formerly, authority } = await ledAnew(t);
  const own = storedMaterial(viewOf(b), "dr")!.authority;
  const as = async (one: Cluster) => ({ ...place, clusterId: await one.clusterId() });
  const wrong: readonly (readonly [Cluster, FormerPlace])[] = [
    [a, formerPlace(formerly, await as(a))], // another member
    [c, formerPlace(authority, await as(c))], // whoever has signed for it
    [a, formerPlace(authority, await as(c))],
    [a, { ...formerPlace(formerly, await as(a)), certificate: authority.certificate }],
    [c, formerPlace(own, await as(c))],
    [c, formerPlace(formerly, { ...(await as(c)), serial: formerly.serial })],
  ];
  for (const [one, former] of wrong) {
    await assert.rejects(comes(await one.clusterId(), { formers: [former] }), BEFORE);
  }
  const right: readonly (readonly [Cluster, FormerPlace])[] = [
    [c, formerPlace(formerly, await as(c))],
    [a, formerPlace(authority, await as(a))],
  ];
  for (const [one, former] of right) {
    await comes(await one.clusterId(), { isTrial: true, formers: [former] });
  }
});

test("both come to a new primary by themselves, with a token of it", async (t) => {
  const { a, b, c, way } = await ledAnew(t);
  way.heal();
  await rejoined(b, c, "site-c", a.opened.shares, a.token);
  await inSync(b, c);
  await rejoined(b, a, "site-a", a.opened.shares);
  await inSync(b, a);
});

test("one that has left the set is told how it comes to the new primary of it", async (t) => {
  const { a, b, c } = await ledAnew(t);
  const operation = await c.operationToken(a.opened.shares);
  assert.equal((await c.dr("secondary/disable", {}, operation)).status, 200);
  const key = await c.dr("secondary/generate-public-key", {}, a.token);
  const body = { id: "site-c", secondary_public_key: at(key, "data", "secondary_public_key") };
  const created = await b.dr("primary/secondary-token", body, a.token);
  const token = at(created, "data", "token");
  const refused = await c.dr("secondary/enable", { token }, a.token);
  assert.match(refused.text, /revoke it on the primary first, by its cluster_id/);
  const revoked = { id: await c.clusterId() };
  assert.equal((await b.dr("primary/revoke-secondary", revoked, a.token)).status, 204);
  const joined = await c.dr("secondary/enable", { token }, a.token);
  assert.equal(joined.status, 200, joined.text);
  await inSync(b, c);
});
