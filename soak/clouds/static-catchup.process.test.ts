// That the experiment on overdue static roles catches what it is for; the experiment itself is
// npm run soak -- static-catchup.

import assert from "node:assert/strict";
import { test } from "node:test";
import { staticCatchup } from "./static-catchup.ts";

test("the experiment notices a stored key that does not work", async () => {
  const result = await staticCatchup({ n: 4, seed: 1, plant: "lost-key", say: () => {} });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /the stored key of adopted-0 does not work/);
});
