// A few of the known bugs of replication in every test run, those that short walks find soon. `npm run sim -- --clusters --plant
// NAME` looks for any of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLUSTER_PLANTS } from "./plants.ts";
import { runWalk } from "./walk.ts";

const SEEDS = 40;
const STEPS = 130;
const SOON = [
  "early-ack",
  "rewind-without-token",
  "equal-epochs",
  "fence-lets-expire",
  "anchor-after-reading",
  "stale-reads",
  "outside-forgotten",
  "delete-unfollowed",
];

for (const plant of SOON) {
  test(`a walk finds the planted bug ${plant}: ${CLUSTER_PLANTS[plant]?.summary}`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation } = await runWalk(seed, { steps: STEPS, plant });
      if (violation !== null) return;
    }
    assert.fail(`${SEEDS} seeds did not show it`);
  });
}
