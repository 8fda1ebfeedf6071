// That the experiment on unwrapping catches what it is for; the experiment itself is
// npm run soak -- unwraps.

import assert from "node:assert/strict";
import { test } from "node:test";
import { unwraps } from "./unwraps.ts";

test("the experiment notices a wrapping token that is not used up", async () => {
  const result = await unwraps({ rounds: 1, say: () => {}, plant: "never-taken" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /^round 0: 200 200/);
});
