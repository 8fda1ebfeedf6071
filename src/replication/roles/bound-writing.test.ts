// When a primary stops writing by itself, and when it goes on.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { BoundWriting, type BoundWritingParts } from "./bound-writing.ts";
import { Changes } from "./changes.ts";
import type { Primary, Role } from "./role.ts";

const LENGTH = 30n * SECOND;
const EPOCH = { number: 2, cluster: "cluster-a", first: "7" };
const LEADS: Primary = { mode: "primary", set: "set", epoch: EPOCH, address: "", fenced: null };
const LATER = { ...EPOCH, number: 3 };
const FENCED: Primary = { ...LEADS, fenced: LATER };
const PROMOTED: Primary = { ...LEADS, epoch: LATER };

async function stage(t: TestContext) {
  const { barrier } = await madeBarrier();
  const { clock, timers, log } = fakeWorld();
  const view = barrier.view("core/replication/dr/");
  const steps: string[] = [];
  const store = {
    following: false,
    follow: async () => {
      store.following = true;
    },
  };
  const role = { now: LEADS as Role };
  /** Another process on the same disk. */
  const begin = () => {
    const parts = {
      options: { primaryLease: LENGTH, own: view, clock, timers, log, store },
      role,
      changes: new Changes(log, () => assert.fail("nothing is half done")),
      stop: async () => void steps.push("stops"),
      goOn: async () => {
        store.following = false;
        steps.push("goes on");
      },
    };
    const bound = new BoundWriting(parts as unknown as BoundWritingParts);
    t.after(() => bound.close());
    return bound;
  };
  const pass = async (time: Nanos) => {
    await timers.advance(time);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  };
  return { clock, pass, store, role, steps, begin };
}

test("one that begins may not write where nobody was heard of for so long in this epoch", async (t) => {
  const { clock, begin } = await stage(t);
  assert.equal(begin().enter(LEADS), false, "nobody was ever heard of");
  const before = begin();
  before.reached();
  await before.close();
  assert.equal(begin().enter(LEADS), false);
  clock.pass(LENGTH);
  const after = begin();
  assert.equal(after.enter(LEADS), true);
  after.reached();
  await after.close();
  assert.equal(begin().enter(LEADS), false, "one was heard of");
});

for (const [what, now] of Object.entries<Role>({
  "was promoted since": PROMOTED,
  "was superseded": FENCED,
  "is none any more": { mode: "disabled" },
})) {
  test(`a primary that ${what} is not bound by what was granted before`, async (t) => {
    const { clock, role, begin } = await stage(t);
    const before = begin();
    before.reached();
    await before.close();
    clock.pass(LENGTH);
    role.now = now;
    assert.equal(begin().enter(now), false);
  });
}

test("it stops when the time has passed, and goes on when somebody is heard of", async (t) => {
  const { pass, store, steps, begin } = await stage(t);
  const bound = begin();
  bound.enter(LEADS);
  bound.open();
  bound.reached();
  await pass(LENGTH - SECOND);
  assert.deepEqual(steps, []);
  await pass(2n * SECOND);
  assert.deepEqual([steps, store.following], [["stops"], true]);
  bound.reached();
  await pass(SECOND);
  assert.deepEqual([steps, store.following], [["stops", "goes on"], false]);
});

test("one that was superseded does not go on by a secondary that is heard of", async (t) => {
  const { pass, store, role, steps, begin } = await stage(t);
  const bound = begin();
  bound.enter(LEADS);
  bound.open();
  bound.reached();
  [role.now, store.following] = [FENCED, true];
  bound.reached();
  await pass(3n * SECOND);
  assert.deepEqual([steps, store.following], [[], true]);
});
