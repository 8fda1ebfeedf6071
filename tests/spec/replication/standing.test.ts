// What others hear of a cluster that is about to be promoted: from when on it gives way to nobody, and when that is over.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { storedFormer, storedSiblings } from "../../../src/replication/links/upstream.ts";
import type { Candidacy } from "../../../src/replication/roles/candidates.ts";
import type { Epoch } from "../../../src/replication/roles/role.ts";
import { type Cluster, inSync, joined, rejoined } from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import {
  answerTo,
  believed,
  demotedAway,
  FORCED,
  knownTo,
  losesAddresses,
  parted,
  PLAIN,
  threeInSync,
  viewOf,
  WORLD,
} from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

function epochOf({ replication }: Cluster): Epoch {
  const { role } = replication;
  assert.ok(role.mode === "secondary");
  return role.epoch;
}

/** Who stands besides `by`, as its sibling says to it. */
async function candidates(
  by: Cluster,
  epoch: Epoch,
  { at = "", candidacy = "asks" as Candidacy } = {},
): Promise<readonly string[] | null> {
  const known = storedSiblings(viewOf(by));
  const sibling = known.find(({ id }) => id === at) ?? known[0];
  assert.ok(sibling !== undefined);
  const answer = await answerTo(by, epoch, await by.clusterId(), { sibling, words: { candidacy } });
  return answer?.candidates ?? null;
}

/** With a third one. */
async function fourInSync(t: TestContext) {
  const all = await threeInSync(t);
  const d = await joined(t, all.a, "site-d", WORLD);
  await inSync(all.a, d);
  for (const one of [all.b, all.c, d]) await until(() => knownTo(one) === 2);
  return { ...all, d };
}

/** Its promotion stops before its epoch begins, while `work` runs. */
async function whilePromoted(t: TestContext, one: Cluster, work: () => Promise<void>) {
  await whileHeld(t, one, () => one.replication.promote(PLAIN), work);
}

/** The same of any change that begins an epoch. */
async function whileHeld(
  t: TestContext,
  one: Cluster,
  change: () => Promise<unknown>,
  work: () => Promise<void>,
) {
  const { store } = one.server.server;
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begin = store.startEpoch.bind(store);
  t.mock.method(store, "startEpoch", async (cluster: string) => {
    held.resolve();
    await free.promise;
    await begin(cluster);
  });
  const changed = change();
  try {
    await Promise.race([held.promise, changed]);
    await work();
  } finally {
    free.resolve();
    await changed;
  }
}

test("one that is being promoted answers and gives way to nobody any more, also of a smaller id", async (t) => {
  const { b, c } = await demotedAway(t);
  const ids = [await b.clusterId(), await c.clusterId()] as const;
  const [larger, smaller, own] = ids[0] > ids[1] ? [b, c, ids[0]] : [c, b, ids[1]];
  const epoch = epochOf(smaller);
  await whilePromoted(t, larger, async () => {
    assert.deepEqual(await candidates(smaller, epoch, { candidacy: "stands" }), [own]);
  });
  assert.equal(larger.replication.mode, "primary");
});

test("one that is refused for another that stands says that nothing came of it, and nobody waits for it", async (t) => {
  const { a, b, c, d, way } = await fourInSync(t);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  const [own, other] = [await b.clusterId(), await c.clusterId()];
  const epoch = epochOf(d);
  await whilePromoted(t, c, async () => {
    const begun = HURRIED.clock.elapsed();
    await assert.rejects(
      b.replication.promote(PLAIN),
      new RegExp(`cluster .*${other}.* is about to`),
    );
    const at = "site-c";
    await until(async () => (await candidates(d, epoch, { at }))?.includes(own) === false);
    assert.ok(HURRIED.clock.elapsed() - begun < MINUTE, "not only because it has said it long ago");
  });
});

test("one that leaves the set answers nobody of it any more, from the first moment on", async (t) => {
  const { b, c } = await threeInSync(t);
  const epoch = epochOf(c);
  assert.notEqual(await candidates(c, epoch), null);
  const leave = () => b.replication.disableSecondary();
  await whileHeld(t, b, leave, async () => assert.equal(await candidates(c, epoch), null));
  assert.equal(await candidates(c, epoch), null);
});

test("one that has been heard to lead does not stand any more", async (t) => {
  const { b, c, d, way } = await fourInSync(t);
  const at = "site-c";
  const own = await b.clusterId();
  const epoch = epochOf(b);
  assert.deepEqual(await candidates(b, epoch, { at, candidacy: "stands" }), []);
  assert.deepEqual(await candidates(d, epoch, { at }), [own]);
  way.cut();
  const later = { number: 2, cluster: own, first: String(b.index + 1n) };
  const sibling = storedSiblings(viewOf(b)).find(({ id }) => id === at);
  assert.ok(sibling !== undefined);
  await believed(b, later, own, { sibling });
  assert.deepEqual(epochOf(c), later);
  assert.deepEqual(await candidates(d, epoch, { at }), []);
});

test("one that is followed does not stand any more, also where nobody has said that it leads", async (t) => {
  const { a, b, c } = await demotedAway(t);
  assert.deepEqual(await candidates(b, epochOf(b), { candidacy: "stands" }), []);
  await losesAddresses(b); // so that it tells nobody
  await b.replication.promote(PLAIN);
  await rejoined(b, c, "other-name", a.opened.shares, a.token);
  await inSync(b, c);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  await b.replication.rest();
  await c.replication.promote(PLAIN);
});

test("who takes the place of a primary that was demoted waits for no answer of it; else it does", async (t) => {
  const { b } = await demotedAway(t);
  await b.replication.promote(PLAIN);
  assert.equal(storedFormer(viewOf(b), "dr")?.isHeard, true);
  const lost = await parted(t);
  await lost.b.replication.promote(FORCED);
  assert.equal(storedFormer(viewOf(lost.b), "dr")?.isHeard, false);
});
