// That the kill experiment catches what it is for; the experiment itself is npm run soak -- kill9.

import assert from "node:assert/strict";
import { test } from "node:test";
import { kill9 } from "./kill9.ts";

test("the experiment notices a process that acknowledges before its commit", async () => {
  const options = { cycles: 40, clients: 16, seed: 20261115, say: () => {} };
  const result = await kill9({ ...options, plant: "ack-early" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /was acknowledged/);
});
