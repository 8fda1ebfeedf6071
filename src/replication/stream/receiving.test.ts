// For how long a secondary is behind, by what its primary has told.

import assert from "node:assert/strict";
import test from "node:test";
import { Progress } from "./receiving.ts";

test("who has what its primary had told of some time ago is behind since then, also where that never rests", () => {
  const progress = new Progress();
  progress.announce(10n);
  progress.reach(10n, 1n);
  assert.equal(progress.completeAt, 1n);
  progress.announce(20n);
  progress.reach(15n, 2n);
  assert.equal(progress.completeAt, 1n, "something is missing that was told before");
  progress.announce(40n);
  progress.reach(25n, 5n);
  assert.equal(progress.completeAt, 2n, "it has what was told then");
  progress.announce(60n);
  progress.reach(45n, 9n);
  assert.equal(progress.completeAt, 5n);
  progress.reach(60n, 10n);
  assert.equal(progress.completeAt, 10n);
});
