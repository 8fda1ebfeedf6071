// The simulator in every test run: thirty seeds of the healthy store, and each planted bug.
// `npm run sim -- --seeds N` runs more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PLANTS } from "./plants.ts";
import { runSeed } from "./scenario.ts";

const SEEDS = 30;
const FOLLOWED_SEEDS = 14;
/** Each planted bug must show within so many seeds; most do in the first, the rarest in one of 50. */
const PLANTED_SEEDS = 300;
/** Where the rarest were found last: they begin there, and look as far as all others. */
const BEGINS: Readonly<Record<string, number>> = {
  "follow-cache-kept": 50,
  "follow-cursor-first": 50,
};

test("the store loses nothing acknowledged and shows nothing too early, whatever goes wrong", async () => {
  const met = new Set<string>();
  let crashes = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await runSeed(seed);
    assert.equal(result.violation, null, `npm run sim -- --seed ${seed} --trace`);
    crashes += result.crashes;
    for (const pair of result.met) met.add(pair);
  }
  assert.ok(crashes > 2 * SEEDS, `only ${crashes} crashes`);
  // What is never hit by a crash is not tested by it.
  for (const operation of ["put", "delete", "object", "count", "throw", "rotate", "seal", "trim"]) {
    assert.ok(met.has(`${operation} × power`), `the power was never cut during ${operation}`);
  }
});

test("a store that follows holds what its leader held, whatever goes wrong on either machine", async () => {
  const counts = { applied: 0, refused: 0, crashes: 0, adopted: 0, resumed: 0 };
  for (let seed = 1; seed <= FOLLOWED_SEEDS; seed++) {
    const { violation, following } = await runSeed(seed, { follow: true });
    assert.equal(violation, null, `npm run sim -- --seed ${seed} --follow --trace`);
    assert.ok(following !== null);
    for (const what of ["applied", "refused", "crashes", "adopted", "resumed"] as const) {
      counts[what] += following[what];
    }
  }
  assert.ok(counts.adopted > 5 && counts.resumed > 0, JSON.stringify(counts));
  assert.ok(counts.applied > 20 * FOLLOWED_SEEDS, `only ${counts.applied} entries were applied`);
  assert.ok(counts.refused > 0 && counts.crashes > FOLLOWED_SEEDS, JSON.stringify(counts));
});

test("the same seed gives the same trace, and another seed another one", async () => {
  const hashes = new Set<string>();
  for (let seed = 501; seed <= 504; seed++) {
    const [first, second] = [await runSeed(seed), await runSeed(seed)];
    assert.equal(first.hash, second.hash);
    hashes.add(first.hash);
  }
  assert.equal(hashes.size, 4);
});

for (const [plant, { summary }] of Object.entries(PLANTS)) {
  test(`the simulator finds the planted bug ${plant}: ${summary}`, async () => {
    const first = BEGINS[plant] ?? 1;
    for (let seed = first; seed < first + PLANTED_SEEDS; seed++) {
      const { violation } = await runSeed(seed, { plant });
      if (violation !== null) return;
    }
    assert.fail(`${PLANTED_SEEDS} seeds did not show it`);
  });
}
