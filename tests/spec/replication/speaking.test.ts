// Who is heard for whom: every member has the keys of the set, and says what it likes. What counts is what it says of itself.

import assert from "node:assert/strict";
import test from "node:test";
import { storedSiblings } from "../../../src/replication/links/upstream.ts";
import { type Epoch, isFenced } from "../../../src/replication/roles/role.ts";
import { type Cluster, inSync } from "../../support/replication/clusters.ts";
import { placeOf, says, withSiblings } from "../../support/replication/speaking.ts";
import { FORCED, PLAIN, viewOf } from "../../support/replication/siblings.ts";
import { PATIENT } from "../../support/replication/hurried-world.ts";
import { until } from "../../support/until.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";

const epochOf = ({ replication: { role } }: Cluster): Epoch => {
  assert.ok(role.mode !== "disabled");
  return role.epoch;
};
const namesOf = (one: Cluster) => storedSiblings(viewOf(one)).map(({ id }) => id);
const put = (cluster: Cluster, token: string) =>
  cluster.server.call("POST", "/v1/secret/data/x", { token, body: { data: { n: "1" } } });

test("nobody stops a primary in the name of another member, or of nobody", async (t) => {
  const { a, others } = await withSiblings(t, ["site-b", "site-c"]);
  const [b, c] = others as [Cluster, Cluster];
  for (const cluster of [await c.clusterId(), NOBODY]) {
    const epoch = { number: 1001, cluster, first: "99999999999999999999" };
    const { leading } = await says(b, placeOf(b), epoch, { from: cluster });
    assert.deepEqual(leading, epochOf(a));
    const beside = await says(b, placeOf(b, c), epoch, { from: cluster });
    assert.deepEqual(beside.leading, epochOf(a), "nor is a sibling kept from following");
  }
  assert.equal(isFenced(a.replication.role), false);
  assert.equal((await put(a, a.token)).status, 200);
});

test("what a member has heard of another keeps nobody from its primary, also where that does not answer", async (t) => {
  const { others, way } = await withSiblings(t, ["site-b", "site-c"]);
  const [b, c] = others as [Cluster, Cluster];
  const [atC, before] = [placeOf(b, c), c.replication.role];
  way.cut();
  const later = { ...epochOf(c), number: 2, cluster: NOBODY };
  for (const from of [await b.clusterId(), NOBODY]) {
    assert.deepEqual((await says(b, atC, later, { from })).leading, epochOf(c));
  }
  assert.deepEqual(epochOf(c), before.mode === "secondary" ? before.epoch : null);
  const own = { ...later, cluster: await b.clusterId() };
  const { cluster: from } = own;
  await until(async () => (await says(b, atC, own, { from })).leading.cluster === from);
});

test("a member that says to lead, however often at once, keeps nobody from a primary that is there", async (t) => {
  const { a, others, way } = await withSiblings(t, ["site-b", "site-c"], { world: PATIENT });
  const [b, c] = others as [Cluster, Cluster];
  const [atC, from] = [placeOf(b, c), await b.clusterId()];
  const own = { number: 1001, cluster: from, first: "1" };
  const dialled = way.accepted;
  for (let round = 0; round < 3; round++) {
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => says(b, atC, own, { from })));
    const answers = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    assert.ok(answers.length > 0);
    for (const { leading } of answers) assert.deepEqual(leading, epochOf(a));
  }
  assert.equal(way.accepted, dialled, "the primary is not called for it");
  assert.equal((await c.status())["conflicting_primary"], undefined);
  await a.put("x", { n: "1" });
  await inSync(a, c);
});

test("a member is revoked by who leads alone: at a primary that was demoted, at a sibling, at a new primary", async (t) => {
  const { a, others, way } = await withSiblings(t, ["site-b", "site-c", "site-d"]);
  const [b, c, d] = others as [Cluster, Cluster, Cluster];
  const [atC, atB, atA] = [placeOf(b, c), placeOf(c, b), placeOf(b)];
  const { serials = [] } = placeOf(c, d);
  const asPrimary = { from: await a.clusterId(), revoked: serials };
  await says(b, atC, epochOf(a), asPrimary);
  assert.ok(namesOf(c).includes("site-d"));
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  await says(b, atA, epochOf(a), asPrimary);
  const known = viewOf(a).list("secondaries/", { limit: 10 });
  assert.deepEqual(known, ["site-b", "site-c", "site-d"]);
  way.cut();
  await b.replication.promote(PLAIN);
  await says(c, atB, epochOf(b), { from: await b.clusterId(), revoked: serials });
  assert.ok(namesOf(b).includes("site-d"));
});

test("nobody keeps others from being promoted in the name of another cluster", async (t) => {
  const { a, others } = await withSiblings(t, ["site-b", "site-c"]);
  const [b, c] = others as [Cluster, Cluster];
  const atC = placeOf(b, c);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  const answer = await says(b, atC, epochOf(a), { from: NOBODY, candidacy: "stands" });
  assert.deepEqual(answer.candidates, []);
  await c.replication.promote(PLAIN);
  assert.equal(c.replication.mode, "primary");
});

test("a primary that has not heard of the one that took its place hears of it also after that one was demoted and promoted again", async (t) => {
  const { a, others, way } = await withSiblings(t, ["site-b", "site-c"]);
  const [b] = others as [Cluster, Cluster];
  way.cut();
  await b.replication.promote(FORCED);
  const demoted = await b.dr("primary/demote", {}, a.token);
  assert.equal(demoted.status, 200, demoted.text);
  assert.match(demoted.text, /the primary of before, at https:.*, was not reached/);
  await b.replication.promote(PLAIN);
  way.heal();
  await until(() => isFenced(a.replication.role));
  assert.equal((await a.status())["conflicting_primary"], await b.clusterId());
});
