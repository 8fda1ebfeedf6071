// That the experiment on one-time tokens catches what it is for; the experiment itself is
// npm run soak -- one-time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { oneTime } from "./one-time.ts";

test("the experiment notices a server that forgets what it acknowledged", async () => {
  const options = { rounds: 1, cycles: 4, seed: 20261115, say: () => {} };
  const result = await oneTime({ ...options, plant: "write-behind" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /exchanged 1 \+ 1 times|one-time token is gone/);
});
