import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { DAY, HOUR } from "@holdfast/shared/text/duration";
import { VersionHistory } from "./version-history.ts";

async function storage() {
  const { barrier, world, store } = await madeBarrier();
  const view = barrier.view("core/versions/");
  const run = async (version: string) => {
    const history = new VersionHistory({ view, version, buildDate: `built ${version}` });
    await history.record();
    return history;
  };
  return { run, clock: world.clock, store };
}

test("a version is recorded when it first opens the storage, after those before it", async () => {
  const { run, clock } = await storage();
  await run("1.0.0");
  clock.pass(DAY);
  await run("1.10.0");
  clock.pass(DAY);
  const history = await run("1.9.0"); // going back is a step as well
  assert.deepEqual(
    history.list().map(({ version, previous, installed }) => [version, previous, installed]),
    [
      ["1.0.0", null, "2026-01-01T00:00:00Z"],
      ["1.10.0", "1.0.0", "2026-01-02T00:00:00Z"],
      ["1.9.0", "1.10.0", "2026-01-03T00:00:00Z"],
    ],
  );
  assert.equal(history.list()[1]?.buildDate, "built 1.10.0");
});

test("opening again with a known version writes nothing", async () => {
  const { run, store, clock } = await storage();
  await run("1.0.0");
  await run("1.1.0");
  const { index } = store;
  clock.pass(HOUR);
  const history = await run("1.0.0");
  assert.equal(store.index, index);
  assert.deepEqual(
    history.list().map(({ version }) => version),
    ["1.0.0", "1.1.0"],
  );
});

test("the order is kept when the wall clock was set back", async () => {
  const { run, clock } = await storage();
  await run("1.0.0");
  clock.jump(clock.now() - 10n * DAY);
  const history = await run("2.0.0");
  assert.deepEqual(
    history.list().map(({ version }) => version),
    ["1.0.0", "2.0.0"],
  );
});
