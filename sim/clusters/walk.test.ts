// Whole clusters from a seed, in every test run: a few short walks. `npm run sim -- --clusters --seeds 50` runs long ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runWalk } from "./walk.ts";

const SEEDS = 3;
const STEPS = 250;

test("whatever goes wrong between clusters, nothing that was answered is lost, and at rest all hold the same", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await runWalk(seed, { steps: STEPS });
    const again = `npm run sim -- --clusters --steps ${STEPS} --seed ${seed} --trace`;
    assert.equal(result.violation, null, again);
    for (const [name, count] of Object.entries(result.counts)) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
  }
  // What never comes to its end is not tested.
  for (const name of ["write done", "join done", "force done", "revocation done", "rests"]) {
    assert.ok((counts.get(name) ?? 0) >= SEEDS, `${name}: ${JSON.stringify([...counts])}`);
  }
});

test("the same seed gives the same trace, and another seed another one", async () => {
  const walk = (seed: number) => runWalk(seed, { steps: 130 });
  const [one, again, other] = [await walk(71), await walk(71), await walk(72)];
  assert.equal(one.hash, again.hash);
  assert.notEqual(one.hash, other.hash);
});

test("a cluster that is sealed while it joins is no finding, and joins later", async () => {
  const { violation, counts } = await runWalk(1109, { steps: 40 });
  assert.equal(violation, null);
  assert.ok((counts["join done"] ?? 0) > 0, JSON.stringify(counts));
});
