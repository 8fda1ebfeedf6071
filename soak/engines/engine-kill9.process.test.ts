// That the kill experiment on engines catches what it is for; the experiment itself is
// npm run soak -- engine-kill9.

import assert from "node:assert/strict";
import { test } from "node:test";
import { engineKill9 } from "./engine-kill9.ts";

test("the experiment notices a rollback that leaves objects behind", async () => {
  const options = { rounds: 12, seed: 20261115, say: () => {} };
  const result = await engineKill9({ ...options, plant: "no-undo" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /\d+ objects are outside, but there are \d+ leases/);
});
