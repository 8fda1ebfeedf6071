// Performance sets from a seed, in every test run: a few short walks. `npm run sim -- --regions --seeds 50` runs long ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runWalk } from "../walk.ts";

const FIRST = 1;
const MIN_SEEDS = 3;
const MAX_SEEDS = 12;
const STEPS = 130;
/** Walks go on until each was: what never comes to its end is not tested. */
const WANTED = ["record done", "own done", "join done", "update done", "revoked", "kill", "rests"];

test("whatever goes wrong between regions, at rest each has what is shared, what follows from it, and all of its own", async () => {
  const counts = new Map<string, number>();
  const missing = () => WANTED.filter((name) => !counts.has(name));
  for (let i = 0; i < MIN_SEEDS || (i < MAX_SEEDS && missing().length > 0); i++) {
    const seed = FIRST + i;
    const result = await runWalk(seed, { kind: "performance", steps: STEPS });
    const again = `npm run sim -- --regions --steps ${STEPS} --seed ${seed} --trace`;
    assert.equal(result.violation, null, again);
    for (const [name, count] of Object.entries(result.counts)) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
  }
  assert.deepEqual(missing(), [], JSON.stringify([...counts]));
});

test("the same seed gives the same trace of regions, and another seed another one", async () => {
  const walk = (seed: number) => runWalk(seed, { kind: "performance", steps: 60 });
  const [one, again, other] = [await walk(71), await walk(71), await walk(72)];
  assert.equal(one.hash, again.hash);
  assert.notEqual(one.hash, other.hash);
});
