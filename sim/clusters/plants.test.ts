// A few of the known bugs of replication in every test run, those that short walks find soon. `npm run sim -- --clusters --plant
// NAME` looks for any of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLUSTER_PLANTS } from "./plants.ts";
import { runWalk } from "./walk.ts";

const SEEDS = 40;
const STEPS = 130;
/** Where some were found last: they begin there, and look as far as all others. */
const BEGINS: Readonly<Record<string, number>> = {
  "early-ack": 8,
  "outside-forgotten": 9,
  "filter-after-waking": 3,
};
const SOON = [
  "early-ack",
  "rewind-without-token",
  "equal-epochs",
  "fence-lets-expire",
  "anchor-after-reading",
  "stale-reads",
  "outside-forgotten",
  "delete-unfollowed",
  "filter-after-waking",
];

for (const plant of SOON) {
  test(`a walk finds the planted bug ${plant}: ${CLUSTER_PLANTS[plant]?.summary}`, async () => {
    const first = BEGINS[plant] ?? 1;
    for (let seed = first; seed < first + SEEDS; seed++) {
      const { violation } = await runWalk(seed, { steps: STEPS, plant });
      if (violation !== null) return;
    }
    assert.fail(`${SEEDS} seeds did not show it`);
  });
}
