// What commits cost, told from commits of different sizes.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { CommitCost } from "./commit-cost.ts";

test("one size tells nothing, however often", () => {
  const cost = new CommitCost();
  for (let i = 0; i < 100; i++) cost.learn(64, 10_000_000 + (i % 2));
  assert.equal(cost.fixedShare(64), null);
});

test("the fixed part is found from commits of different sizes", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 20_000_000 }),
      fc.integer({ min: 1_000, max: 400_000 }),
      fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 8, maxLength: 60 }),
      (fixed, each, sizes) => {
        const cost = new CommitCost();
        for (const size of [8, 64, ...sizes, 8, 64]) cost.learn(size, fixed + each * size);
        const share = cost.fixedShare(64);
        assert.ok(share !== null);
        assert.ok(Math.abs(share - fixed / (fixed + each * 64)) < 0.01, String(share));
      },
    ),
  );
});

test("what storage has become counts, not what it was", () => {
  const cost = new CommitCost();
  for (let i = 0; i < 100; i++) cost.learn(8 + (i % 8) * 8, 10_000_000);
  assert.ok((cost.fixedShare(64) ?? 0) > 0.95);
  for (let i = 0; i < 200; i++) cost.learn(8 + (i % 8) * 8, (8 + (i % 8) * 8) * 300_000);
  assert.ok((cost.fixedShare(64) ?? 1) < 0.05);
});
