// Five clusters from a seed, in every test run: a few short walks. `npm run sim -- --five --seeds 50` runs long ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { someOf } from "../../../tests/support/often.ts";
import { runWalk } from "../walk.ts";
import { FILTERING, RESTORING } from "./five-actions.ts";

const MIN_SEEDS = 2;
const MAX_SEEDS = 10;
const STEPS = 60;
/** Walks go on until each was: what never comes to its end is not tested. */
const WANTED = ["place done", "join done", "stand-in done", "filter done", "looked at", "rests"];
/** Where something was found once, with the steps that it took: three of them in each run, and all by `npm run soak -- properties`; `often`: of the walks of the soak that changes filters, or of restores. */
const FOUND: readonly (readonly [
  seed: number,
  steps: number,
  what: string,
  often?: Readonly<Record<string, number>>,
])[] = [
  [
    4,
    40,
    "who stands in for a member has the keys that this was handed, before anything is sealed with them",
  ],
  [
    7,
    130,
    "who stands in for a cluster that has restored a snapshot leaves its log, which has ended, without a token",
    RESTORING,
  ],
  [
    179,
    100,
    "who stands in for a cluster that gave up a key of its own for those of the set follows it from before that",
  ],
  [
    248,
    100,
    "a cluster that has left has no place in the set while another one goes by the name of its region",
  ],
  [286, 100, "what is due to be scrubbed yet is not at rest"],
  [343, 100, "a cluster and who stood in for it have one region: one of the two is of the set"],
  [700_244, 100, "what is changed for the sake of who was away comes before all are at rest"],
  [
    700_009,
    100,
    "who stands in for a cluster that gave up keys of its own takes over those that it has instead, wherever it is in its log",
  ],
  [
    1_000_048,
    45,
    "what a primary took before it was told that another one leads it writes yet, and that is nobody else's entry",
  ],
  [
    1_000_113,
    50,
    "a namespace is sent for the sake of a mount that is allowed in it, and no longer than there is that",
  ],
  [
    42_814_784,
    60,
    "what a filter takes away goes from the log as well where the line breaks before all is compared",
    FILTERING,
  ],
  [
    108_133_009,
    125,
    "who leaves its set and joins another one leaves behind what nobody else had of the first",
  ],
  [
    108_133_005,
    480,
    "who stands in for a cluster that leads has its row of what was to go when it followed: nothing is due there either",
  ],
  [
    20_000_178,
    100,
    "where whoever took the place of a cluster is gone before anybody had its data, that cluster leads on by its operator's word",
  ],
  [
    140_133_002,
    125,
    "of two that led one set the one that has its data whole leads on, though it has no place in another's log",
  ],
  [
    140_133_039,
    150,
    "whom a cluster revoked in entries that it gave up since is revoked there no more",
  ],
];

test("R-130: whatever goes wrong between five clusters, at rest each holds what its filter and its place say, and nothing else", async () => {
  const counts = new Map<string, number>();
  const missing = () => WANTED.filter((name) => !counts.has(name));
  for (let i = 0; i < MIN_SEEDS || (i < MAX_SEEDS && missing().length > 0); i++) {
    const seed = 1 + i;
    const result = await runWalk(seed, { kind: "both", steps: STEPS });
    const again = `npm run sim -- --five --steps ${STEPS} --seed ${seed} --trace`;
    assert.equal(result.violation, null, again);
    for (const [name, count] of Object.entries(result.counts)) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
  }
  assert.deepEqual(missing(), [], JSON.stringify([...counts]));
});

for (const [seed, steps, what, often = {}] of someOf(FOUND, 3)) {
  test(`R-130: five clusters, seed ${seed}: ${what}`, async () => {
    const { violation } = await runWalk(seed, { kind: "both", steps, often });
    assert.equal(violation, null);
  });
}

test("R-130: five clusters: a filter that is changed again and again is no damage, and nobody rests for it", async () => {
  const { violation } = await runWalk(6, { kind: "both", steps: 60, often: FILTERING });
  assert.equal(violation, null);
});

test("R-130: the same seed gives the same trace of five clusters, and another seed another one", async () => {
  const walk = (seed: number) => runWalk(seed, { kind: "both", steps: 60 });
  const [one, again, other] = [await walk(71), await walk(71), await walk(72)];
  assert.equal(one.hash, again.hash);
  assert.notEqual(one.hash, other.hash);
});
