// That the walk on processes sees an answer that no audit file has; the walk itself is npm run soak -- replication.

import assert from "node:assert/strict";
import { test } from "node:test";
import { processWalk } from "./process-walk.ts";

test("the walk notices a primary that answers without a record", async () => {
  const options = { steps: 8, seed: 20261117, say: () => {} };
  await assert.rejects(processWalk({ ...options, plant: "unrecorded" }), /writes were answered/);
});
