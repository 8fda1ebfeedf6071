// That the experiment with three regions catches what it is for; the experiment itself is npm run soak -- regions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { regions } from "./regions.ts";

test("regions that are slow to hear what was revoked are noticed", async () => {
  const result = await regions({ rounds: 1, n: 2, say: () => {}, plant: "late-dialling" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /lived \d+ ms after healing/);
});
