// What a primary counts of things outside that others have brought.

import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { AdoptedOrphans } from "./adopted-orphans.ts";
import type { BroughtRow } from "./orphans.ts";

const rows = (...keys: string[]): BroughtRow[] =>
  keys.map((key) => ({ key, value: Buffer.from(key) }));

async function stage() {
  const { barrier, world } = await madeBarrier();
  const { clock, log } = world;
  const outside = {
    standsFor: () => true,
    all: () => [],
    // Each has one row that nobody here can end.
    adopt: async (brought: readonly BroughtRow[]) => ({
      adopted: brought.length - 1,
      known: 0,
      left: 1,
    }),
  };
  const view = barrier.view("core/replication/dr/");
  return () => new AdoptedOrphans({ view, outside, clock, log });
}

test("those that come at once are all counted, also after a start", async () => {
  const made = await stage();
  const adopted = made();
  await Promise.all([
    adopted.take(rows("a", "b", "c"), "paris"),
    adopted.take(rows("d", "e"), "rome"),
  ]);
  assert.deepEqual(adopted.counts, { adopted: 3, left: 2 });
  const later = made();
  later.load();
  assert.deepEqual(later.counts, { adopted: 3, left: 2 });
});

test("what is left is counted once, where the same rows are brought again", async () => {
  const adopted = (await stage())();
  await adopted.take(rows("a"), "paris");
  await adopted.take(rows("a"), "paris");
  assert.deepEqual(adopted.counts, { adopted: 0, left: 1 });
});
