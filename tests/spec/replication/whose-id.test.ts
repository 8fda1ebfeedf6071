// A secondary says itself which cluster it is: it is not taken for the primary, nor for another secondary.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { FormerPlace } from "../../../src/cluster/hello.ts";
import { formerProof } from "../../../src/replication/joining/proofs.ts";
import { Secondaries } from "../../../src/replication/joining/secondaries.ts";
import { linkTo } from "../../../src/replication/links/dialing.ts";
import { storedUpstream } from "../../../src/replication/links/upstream.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { type Cluster, inSync, rejoined } from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { placeOf, withSiblings } from "../../support/replication/speaking.ts";
import { viewOf } from "../../support/replication/siblings.ts";

/** A member of `a` that nobody has come as: it says what the test wants. */
async function comer(a: Cluster, c: Cluster) {
  const random = new SystemRandom();
  const secondaries = new Secondaries({ ...HURRIED, random, view: viewOf(a), kind: "dr" });
  const { pair } = await secondaries.admit("site-m");
  const { set, kind, authority, address } = placeOf(c);
  const member = { set, kind, id: "site-m", authority, ...pair };
  const comes = async (
    clusterId: string,
    { isTrial = false, former = null as FormerPlace | null } = {},
  ) => {
    const link = linkTo(address, member, { ...HURRIED, net: new SystemNet() });
    try {
      await link.open({ clusterId, version: "0.1.0", isTrial, former });
    } finally {
      await link.close();
    }
  };
  const place = { set, kind, serial: pair.serial } as const;
  return { comes, place, secondaries };
}

async function threeOf(t: TestContext) {
  const { a, others } = await withSiblings(t, ["site-b", "site-c"]);
  const [b, c] = others as [Cluster, Cluster];
  const found = await comer(a, c);
  const isUsed = () => found.secondaries.known().find(({ id }) => id === "site-m")?.used !== null;
  return { a, b, c, ...found, isUsed };
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
  const own = storedUpstream(viewOf(c))!.member;
  const other = storedUpstream(viewOf(b))!.member;
  const by = ({ certificate, key }: typeof own, where = { ...place, clusterId }) => ({
    certificate,
    proof: formerProof(key, where),
  });
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
    await assert.rejects(comes(clusterId, { former }), /revoke site-c on the primary/);
  }
  assert.equal(isUsed(), false);
  await comes(clusterId, { former: by(own) });
  assert.equal(isUsed(), true);
});

test("one that follows comes under another id without a word of the operator", async (t) => {
  const { a, c } = await threeOf(t);
  await rejoined(a, c, "site-c2", a.opened.shares, a.token);
  await inSync(a, c);
  assert.deepEqual((await a.status())["left_secondaries"], ["site-c"]);
});
