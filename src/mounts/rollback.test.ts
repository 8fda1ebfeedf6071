// Write-ahead records and what becomes of them when nobody settles them (engines contract 1.5, D11).

import assert from "node:assert/strict";
import test from "node:test";
import { DAY, HOUR, MINUTE, SECOND } from "../base/duration.ts";
import { Failure } from "../base/failure.ts";
import { ROOT_NAMESPACE } from "../endpoint/request.ts";
import { refused, until } from "../../tests/support/made-namespaces.ts";
import { madeMounts, Stage, toyAt } from "../../tests/support/made-mounts.ts";

async function staged() {
  const stage = new Stage();
  const made = await madeMounts(stage);
  await made.mounts.enable(ROOT_NAMESPACE, { kind: "secret", path: "a", type: "toy" });
  const { writeAhead } = toyAt(made.mounts, "a").given;
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

test("D11: failures are tried after 1, 2, 4 … minutes, an hour at most, and after a day every six hours", async () => {
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
  assert.equal(mounts.orphanCounts().length, 0);
  await assert.rejects(mounts.orphans.forget(ref(), id), refused("orphan-unknown"));
  await walk(DAY);
  assert.deepEqual(mounts.orphans.list(ref()).keys, [id]);
  assert.equal(mounts.orphanCounts()[0]?.count, 1);
  assert.equal(mounts.orphans.list(ref()).key_info[id]?.["last_error"], "the provider is down");
  const before = times.length;
  await walk(2n * DAY);
  assert.equal(times.length - before, 8);
  const told = world.lines.filter((line) => line.includes("[ERROR]") && line.includes("orphan"));
  assert.ok(told.length >= 2 && told.length <= 4, `once a day: ${told.length}`);
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
  const asked = mounts.disable(ROOT_NAMESPACE, "secret", "a", { abandon: false });
  await until(() => stage.order.includes("revoke"));
  await assert.rejects(writeAhead.begin("thing", {}), refused("mount-gone"));
  letGo();
  assert.deepEqual(await asked, { done: true, leasesLeft: 0, warnings: [] });
});
