// Where two logs part, as their epochs tell.

import assert from "node:assert/strict";
import test from "node:test";
import type { Timeline } from "../../storage/rows/head.ts";
import { forkOf } from "./decision.ts";

type Begun = Timeline["epochs"][number];

const FIRST: Begun = { epoch: 1, first: "1", chain: "00", cluster: "a" };
const SECOND: Begun = { epoch: 2, first: "10", chain: "4a", cluster: "b" };
const LINEAGE = "5f3d2c10-0000-4000-8000-0000000000aa";

const log = (index: bigint, ...epochs: Begun[]) => ({
  timeline: { lineage: LINEAGE, epochs },
  index,
});

test("two logs of the same epochs have in common what the shorter one has", () => {
  assert.equal(forkOf(log(30n, FIRST, SECOND), log(20n, FIRST, SECOND)), 20n);
  assert.equal(forkOf(log(5n, FIRST), log(20n, FIRST, SECOND)), 5n);
  assert.equal(
    forkOf(log(15n, FIRST), log(20n, FIRST, SECOND)),
    9n,
    "the other went on without it",
  );
});

test("an epoch is the same where all of it is: one that was begun twice, after another log, is two", () => {
  for (const other of [
    { ...SECOND, epoch: 3 },
    { ...SECOND, first: "12" },
    { ...SECOND, chain: "4b" },
    { ...SECOND, cluster: "c" },
  ]) {
    assert.equal(forkOf(log(30n, FIRST, SECOND), log(20n, FIRST, other)), 9n, other.chain);
    assert.equal(forkOf(log(20n, FIRST, other), log(30n, FIRST, SECOND)), 9n);
  }
  const foreign = { ...FIRST, chain: "01" };
  assert.equal(forkOf(log(30n, FIRST), log(20n, foreign)), null, "they begin apart");
});
