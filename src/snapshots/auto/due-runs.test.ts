// Runs by name: how each went comes to whoever waits for it, and one that cannot be noted does not run without a pause.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn, START } from "../../../tests/support/fake-world.ts";
import { DueRuns } from "./due-runs.ts";

const NEVER = new AbortController().signal;

function stage(run: (name: string) => Promise<string>) {
  const { clock, timers, log, lines } = fakeWorld();
  const runs = new DueRuns<null, string>({
    what: { one: "a thing", many: "things" },
    first: null,
    max: 2,
    due: () => [{ name: "a", next: START + SECOND }],
    run,
    takeUp: async () => {},
    clock,
    timers,
    log,
  });
  return { runs, timers, lines };
}

test("how a run went comes to everybody who waits for it", async () => {
  let ran = 0;
  const { runs } = stage(async () => `run ${++ran}`);
  const both = await Promise.all([runs.join("a", NEVER), runs.join("a", NEVER)]);
  assert.deepEqual(both, [{ outcome: "run 1" }, { outcome: "run 1" }]);
  assert.deepEqual(await runs.join("a", NEVER), { outcome: "run 2" });
});

test("one that cannot be noted is told to who waits, and starts again after a minute only", async () => {
  let ran = 0;
  const { runs, timers, lines } = stage(async () => {
    ran++;
    throw new RangeError("the disk is full");
  });
  runs.open();
  await nextTurn();
  await timers.advance(30n * SECOND);
  assert.equal(ran, 1, "it is due all the time");
  await timers.advance(5n * MINUTE);
  assert.equal(ran, 6);
  await assert.rejects(runs.join("a", NEVER), RangeError);
  assert.equal(lines.filter((line) => line.includes("could not note how a thing went")).length, 7);
  await runs.close();
  assert.equal(timers.armed, 0);
});

test("what is due waits where all places are taken, the longest due first", async () => {
  const { clock, timers, log } = fakeWorld();
  const started: string[] = [];
  const hanging = Promise.withResolvers<string>();
  const runs = new DueRuns<null, string>({
    what: { one: "a thing", many: "things" },
    first: null,
    max: 2,
    due: () =>
      ["a", "b", "c"]
        .filter((name) => !started.includes(name))
        .map((name, i) => ({ name, next: START + BigInt(i + 1) * SECOND })),
    run: (name) => {
      started.push(name);
      return hanging.promise;
    },
    takeUp: async () => {},
    clock,
    timers,
    log,
  });
  runs.open();
  await nextTurn();
  await timers.advance(10n * SECOND);
  assert.deepEqual(started, ["a", "b"]);
  assert.deepEqual([runs.hasRoomFor("a"), runs.hasRoomFor("c")], [true, false]);
  hanging.resolve("");
  await nextTurn();
  await timers.advance(SECOND);
  assert.deepEqual(started, ["a", "b", "c"]);
  await runs.close();
});
