// Write-ahead records and what becomes of them when nobody settles them.

import assert from "node:assert/strict";
import test from "node:test";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { refused } from "../../../tests/support/made/made-namespaces.ts";
import { until } from "../../../tests/support/until.ts";
import { madeMounts, Stage, toyAt } from "../../../tests/support/made/made-mounts.ts";

async function staged(stage = new Stage()) {
  const made = await madeMounts(stage);
  await made.mounts.enable(ROOT_NAMESPACE, { kind: "secret", path: "a", type: "toy" });
  const { writeAhead } = toyAt(made.mounts, "a").needs;
  const ref = () => made.mounts.find(ROOT_NAMESPACE, ["a"])?.ref ?? null;
  return { ...made, stage, writeAhead, ref };
}

test("a record is undone when it is old enough, and not before", async () => {
  const { mounts, stage, writeAhead, world } = await staged();
  const id = await writeAhead.begin("thing", { name: "one" });
  const dropped = await writeAhead.begin("thing", { name: "two" });
  await writeAhead.drop(dropped);
  world.clock.pass(10n * MINUTE - 1n);
  await mounts.tick();
  assert.deepEqual(stage.undone, []);
  assert.equal(stage.periods, 1);
  world.clock.pass(1n);
  await mounts.tick();
  assert.deepEqual(stage.undone, [id]);
  await mounts.tick();
  assert.deepEqual(stage.undone, [id], "once");
});

test("every minute, by the timer that the room arms itself", async () => {
  const { stage, world, mounts } = await staged();
  for (const expected of [1, 2, 3]) {
    await world.timers.advance(MINUTE);
    await until(() => stage.periods === expected);
  }
  await mounts.stop();
  await world.timers.advance(10n * MINUTE);
  assert.equal(stage.periods, 3);
});

test("undoing sees what was noted last", async () => {
  const { mounts, stage, writeAhead, world } = await staged();
  const seen: unknown[] = [];
  stage.undoing = async ({ data }) => void seen.push(data);
  const id = await writeAhead.begin("thing", { name: "one" });
  await writeAhead.note(id, { name: "one", object: "7" });
  world.clock.pass(HOUR);
  await mounts.tick();
  assert.deepEqual(seen, [{ name: "one", object: "7" }]);
  await assert.rejects(writeAhead.note(id, {}), refused("mount-gone"), "it is not made anew");
});

test("failures are tried after 1, 2, 4 … minutes, an hour at most, and after a day every six hours", async () => {
  const { mounts, stage, writeAhead, world, ref } = await staged();
  const times: bigint[] = [];
  stage.undoing = async () => {
    times.push(world.clock.now());
    throw new Failure("upstream", "down", "the provider is down");
  };
  const id = await writeAhead.begin("thing", { name: "one" });
  world.clock.pass(10n * MINUTE);
  const walk = async (length: bigint) => {
    for (let passed = 0n; passed < length; passed += MINUTE) {
      await mounts.tick();
      world.clock.pass(MINUTE);
    }
  };
  await walk(3n * HOUR);
  const gaps = times.slice(1).map((time, i) => (time - times[i]!) / MINUTE);
  assert.deepEqual(gaps.slice(0, 7), [1n, 2n, 4n, 8n, 16n, 32n, 60n]);
  assert.deepEqual(mounts.orphans.list(ref()).keys, []);
  assert.equal(mounts.orphansByMount().length, 0);
  await assert.rejects(mounts.orphans.forget(ref(), id), refused("orphan-unknown"));
  await walk(DAY);
  assert.deepEqual(mounts.orphans.list(ref()).keys, [id]);
  assert.equal(mounts.orphansByMount()[0]?.count, 1);
  assert.equal(mounts.orphans.list(ref()).key_info[id]?.["last_error"], "the provider is down");
  const before = times.length;
  await walk(2n * DAY);
  assert.equal(times.length - before, 8);
  const logged = world.lines.filter((line) => line.includes("[ERROR]") && line.includes("orphan"));
  assert.ok(logged.length >= 2 && logged.length <= 4, `once a day: ${logged.length}`);
  await mounts.orphans.forget(ref(), id);
  assert.deepEqual(mounts.orphans.list(ref()).keys, []);
});

test("an undoing that hangs is left behind at its deadline, and others go on", async () => {
  const { mounts, stage, writeAhead, world } = await staged();
  const hanging = await writeAhead.begin("thing", { name: "hangs" });
  const other = await writeAhead.begin("thing", { name: "fine" });
  let aborted = false;
  stage.undoing = ({ id }, signal) => {
    if (id !== hanging) return Promise.resolve();
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise(() => {});
  };
  world.clock.pass(HOUR);
  const tick = mounts.tick();
  await until(() => stage.order.length > 0);
  await world.timers.advance(61n * SECOND);
  await tick;
  assert.ok(aborted);
  assert.deepEqual(stage.undone, [other]);
});

test("whatever an engine allows, an undoing that hangs has failed, and the tick goes on", async () => {
  const stage = new Stage();
  stage.jobDeadline = 180n * SECOND;
  const { mounts, writeAhead, world, ref } = await staged(stage);
  const hanging = await writeAhead.begin("thing", { name: "hangs" });
  const other = await writeAhead.begin("thing", { name: "fine" });
  stage.undoing = ({ id }) => (id === hanging ? new Promise(() => {}) : Promise.resolve());
  world.clock.pass(HOUR);
  const tries = () => stage.order.filter((one) => one === "undo").length;
  const tick = mounts.tick();
  await until(() => stage.order.length > 0);
  await world.timers.advance(61n * SECOND);
  await until(() => stage.periods > 0); // periodic work is done also then
  await tick;
  assert.deepEqual(stage.undone, [other]);
  assert.equal(tries(), 2);
  await mounts.tick();
  assert.equal(tries(), 2, "it is tried again later");
  for (let passed = 0n; passed < DAY + HOUR; passed += 10n * MINUTE) {
    world.clock.pass(9n * MINUTE);
    await world.timers.advance(MINUTE);
  }
  await world.timers.advance(2n * MINUTE);
  await until(() => mounts.orphans.list(ref()).keys.length > 0);
  assert.deepEqual(mounts.orphans.list(ref()).keys, [hanging]);
});

test("a mount that takes long does not slow down the others", async () => {
  const { mounts, stage, writeAhead, world } = await staged();
  await mounts.enable(ROOT_NAMESPACE, { kind: "secret", path: "b", type: "toy" });
  for (const name of ["one", "two"]) await writeAhead.begin("thing", { name });
  stage.undoing = () => new Promise(() => {});
  world.clock.pass(HOUR);
  await world.timers.advance(1n);
  await until(() => stage.order.length === 1 && stage.periods === 1);
  await world.timers.advance(MINUTE); // the other's second time, while the first record times out
  await until(() => stage.order.length === 2 && stage.periods === 2);
  await world.timers.advance(16n * SECOND); // and the second one
  await until(() => stage.periods === 3);
  await mounts.stop();
});

test("a kind that nothing undoes is kept, and told", async () => {
  const { mounts, writeAhead, world } = await staged();
  await writeAhead.begin("other", { name: "one" });
  world.clock.pass(HOUR);
  await mounts.tick();
  assert.ok(world.lines.some((line) => line.includes("could not be undone")));
});

test("nothing begins in a mount that is being disabled", async () => {
  const { mounts, stage, writeAhead } = await staged();
  const uuid = mounts.find(ROOT_NAMESPACE, ["a"])?.ref.uuid ?? "";
  stage.leases.set(uuid, 1);
  let letGo = () => {};
  stage.revoking = () => new Promise((resolve) => (letGo = () => resolve()));
  const disabling = mounts.disable(ROOT_NAMESPACE, "secret", "a", { abandon: false });
  await until(() => stage.order.includes("revoke"));
  await assert.rejects(writeAhead.begin("thing", {}), refused("mount-gone"));
  letGo();
  assert.deepEqual(await disabling, { done: true, leasesLeft: 0, warnings: [] });
});

test("what a revocation leaves behind is seen at once, said once, and tried ever more seldom", async () => {
  const { mounts, stage, writeAhead, world, ref } = await staged();
  let tries = 0;
  stage.undoing = async () => {
    tries++;
    throw new Failure("upstream", "locked", "the scope is locked");
  };
  const long = "x".repeat(500);
  const id = await writeAhead.orphan("thing", { assignment: "a1" }, long);
  assert.equal(await writeAhead.orphan("thing", { assignment: "a1" }, "again"), id);
  const { keys, key_info: info } = mounts.orphans.list(ref());
  assert.deepEqual(keys, [id]);
  assert.deepEqual(info[id]?.["object"], { assignment: "a1" });
  assert.equal(info[id]?.["last_error"], long.slice(0, 240));
  for (let passed = 0n; passed < 24n * HOUR; passed += MINUTE) {
    world.clock.pass(MINUTE);
    await mounts.tick();
  }
  assert.equal(tries, 11); // after 10 min, and then twice as long each time until six hours
  for (const expected of [12, 13]) {
    world.clock.pass(6n * HOUR);
    await mounts.tick();
    assert.equal(tries, expected);
    world.clock.pass(1n);
    await mounts.tick();
    assert.equal(tries, expected, "not before");
  }
  assert.equal(mounts.orphans.list(ref()).key_info[id]?.["last_error"], "the scope is locked");
  stage.undoing = async () => {};
  world.clock.pass(6n * HOUR);
  await mounts.tick();
  assert.deepEqual(mounts.orphans.list(ref()).keys, []);
});

test("an orphan keeps its mount from being disabled, until somebody says to abandon it", async () => {
  const { mounts, stage, writeAhead, world } = await staged();
  stage.undoing = async ({ data }) => {
    if (data["assignment"] === "a1") throw new Failure("upstream", "locked", "the scope is locked");
  };
  await writeAhead.orphan("thing", { assignment: "a1" }, "locked");
  const disable = (abandon: boolean) =>
    mounts.disable(ROOT_NAMESPACE, "secret", "a", { abandon, wait: HOUR });
  await assert.rejects(disable(false), refused("mount-not-disabled"));
  const left = await disable(true);
  assert.equal(left?.done, true);
  assert.ok(world.lines.some((line) => /ERROR.*abandon/.test(line) && line.includes("a1")));
  await mounts.enable(ROOT_NAMESPACE, { kind: "secret", path: "a", type: "toy" });
});

test("abandoning gives up orphans alone: what has not failed for a day stops it still", async () => {
  const { mounts, stage, writeAhead, world } = await staged();
  stage.undoing = async () => {
    throw new Failure("upstream", "down", "the provider is down");
  };
  const id = await writeAhead.begin("thing", { name: "one" });
  const disable = () =>
    mounts.disable(ROOT_NAMESPACE, "secret", "a", { abandon: true, wait: HOUR });
  await assert.rejects(disable(), refused("mount-not-disabled"));
  world.clock.pass(DAY);
  stage.undoing = async ({ id: tried }) => {
    assert.equal(tried, id);
  };
  assert.equal((await disable())?.done, true);
});
