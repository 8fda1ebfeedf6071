// That the kill experiment on the API catches what it is for; the experiment itself is npm run soak -- api-kill9.

import assert from "node:assert/strict";
import { test } from "node:test";
import { apiKill9 } from "./api-kill9.ts";

test("the experiment notices a server that acknowledges before its commit", async () => {
  const options = { cycles: 8, clients: 8, seed: 20261115, say: () => {} };
  const result = await apiKill9({ ...options, plant: "write-behind" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /was acknowledged, \S+ is there/);
});
