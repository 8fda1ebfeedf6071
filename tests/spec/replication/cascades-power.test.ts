// Power fails at every commit of a promotion in disaster recovery that brings the place in a performance set along: both have changed, or neither.

import assert from "node:assert/strict";
import test from "node:test";
import { inSync } from "../../support/replication/clusters.ts";
import { must, put, replicated } from "../../support/replication/kept-clusters.ts";
import { perf, performanceOf } from "../../support/replication/performance.ts";

const NOW = { force: false, address: "" };
const MANY = 40; // commits: more than a promotion has
/** In each run some of them, others each time. */
const STEP = 3;

test("R-94, R-109: power fails on who stands in for a performance primary at each commit of its promotion: it leads in both kinds afterwards, or in none", async (t) => {
  const { a, b } = await replicated(t);
  await must(perf(a.now, "primary/enable", {}, a.token));
  await inSync(a.now, b.now);
  await must(a.now.dr("primary/demote"));
  const back = [a, b].map((one) => one.saved());
  let isWhole = false;
  for (let commits = Math.floor(Math.random() * STEP); !isWhole; commits += STEP) {
    assert.ok(commits < MANY, "it never comes to its end");
    for (const one of back) await one();
    for (const one of [a, b]) assert.ok(await one.begin());
    b.left = commits;
    const isDone = await b.now.replication.promote(NOW).then(
      () => true,
      () => false,
    );
    isWhole = isDone && b.left > 0;
    await b.fail();
    assert.ok(await b.begin());
    const { mode } = b.now.replication;
    if (isDone) assert.equal(mode, "primary");
    if (mode === "secondary") {
      assert.equal(performanceOf(b.now).mode, "disabled"); // of this cluster
      await b.now.replication.promote(NOW);
    }
    const { role } = performanceOf(b.now);
    assert.ok(role.mode === "primary", role.mode);
    const { number, cluster } = role.epoch;
    assert.deepEqual([number, cluster], [2, await b.now.clusterId()], `after ${commits}`);
    assert.equal(await put(b.now, b.token, "afterwards"), 200);
  }
});
