// That the experiment on blocking queries catches what it is for; the experiment itself is
// npm run soak -- waiters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { waiters } from "./waiters.ts";

test("the experiment notices a server that tells of a change too late", async () => {
  const result = await waiters({ n: 70, seed: 20261115, say: () => {}, plant: "late-watch" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /^the last answer came after \d+ ms$/);
});
