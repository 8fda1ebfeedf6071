// The table of mounts: what is stored where, what engines see, how they are opened anew, and what a
// crash leaves.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { refused } from "../../tests/support/made/made-namespaces.ts";
import { until } from "../../tests/support/until.ts";
import {
  type MadeMounts,
  madeMounts,
  restartedMounts,
  Stage,
  toyAt,
} from "../../tests/support/made/made-mounts.ts";

const toy = (path: string, more: object = {}) =>
  ({ kind: "secret", path, type: "toy", ...more }) as const;

function keysWith(made: MadeMounts, part: string): string[] {
  const all = made.disk.rows.keys({ from: "", to: null, limit: 100_000 });
  return all.filter((key) => key.includes(part));
}

test("an engine sees its own records and no others, below its uuid and in the class of its mount", async () => {
  const made = await madeMounts();
  const { mounts } = made;
  const a = await mounts.enable(ROOT_NAMESPACE, toy("a"));
  const b = await mounts.enable(ROOT_NAMESPACE, toy("b", { local: true }));
  await toyAt(mounts, "a").write("x/y", "one");
  await toyAt(mounts, "b").write("x/y", "two");
  assert.equal(await toyAt(mounts, "a").read("x/y"), "one");
  assert.equal(await toyAt(mounts, "b").read("x/y"), "two");
  assert.ok(keysWith(made, `shared/ns/root/mounts/${a.uuid}/data/x/y`).length > 0);
  assert.ok(keysWith(made, `local/ns/root/mounts/${b.uuid}/data/x/y`).length > 0);
  assert.equal(keysWith(made, `shared/ns/root/mounts/${b.uuid}`).length, 0);
});

test("thousands of mounts are there after a restart, each with its engine and its path", async () => {
  const before = await madeMounts();
  const paths = Array.from({ length: 300 }, (_, i) => `team${i % 7}/m${i}`);
  for (const path of paths) await before.mounts.enable(ROOT_NAMESPACE, toy(path));
  const { mounts } = await restartedMounts(before);
  for (const path of paths) assert.equal(toyAt(mounts, `${path}/x`).needs.mount.path(), `${path}/`);
  assert.equal(mounts.find(ROOT_NAMESPACE, ["team1"]), null);
});

test("of two that are made at once on one path, or one inside the other, one is made", async () => {
  const { mounts } = await madeMounts();
  const both = await Promise.allSettled([
    mounts.enable(ROOT_NAMESPACE, toy("a/b")),
    mounts.enable(ROOT_NAMESPACE, toy("a")),
    mounts.enable(ROOT_NAMESPACE, toy("a/b")),
    mounts.enable(ROOT_NAMESPACE, toy("a/b/c")),
  ]);
  assert.equal(both.filter(({ status }) => status === "fulfilled").length, 1);
  for (const one of both) {
    if (one.status === "rejected") assert.ok(refused("mount-path-taken")(one.reason));
  }
});

test("a mount and a namespace cannot have one name, whichever was first", async () => {
  const { mounts, namespaces } = await madeMounts();
  await mounts.enable(ROOT_NAMESPACE, toy("kv/deep"));
  await assert.rejects(namespaces.write(ROOT_NAMESPACE, "kv"), refused("namespace-path-taken"));
  await namespaces.write(ROOT_NAMESPACE, "team");
  const inside = mounts.enable(ROOT_NAMESPACE, toy("team/kv"));
  await assert.rejects(inside, refused("mount-path-taken"));
});

test("other options open the engine anew; what the type does not allow is refused", async () => {
  const { mounts } = await madeMounts();
  await mounts.enable(ROOT_NAMESPACE, toy("a"));
  const first = toyAt(mounts, "a");
  await first.write("kept", "yes");
  const tune = (options: Record<string, string>) =>
    mounts.tune(ROOT_NAMESPACE, "secret", "a", { config: {}, options });
  await tune({ level: "1" });
  assert.equal(toyAt(mounts, "a"), first, "the same options");
  await tune({ level: "2" });
  const second = toyAt(mounts, "a");
  assert.notEqual(second, first);
  assert.ok(first.closed);
  assert.equal(second.needs.options["level"], "2");
  assert.equal(await second.read("kept"), "yes");
  await assert.rejects(first.write("late", "no"), refused("mount-gone"));
  await assert.rejects(tune({ level: "1" }), refused("mount-options-fixed"));
});

test("an engine that is opened anew leads where the node does, and not after it has come to rest", async () => {
  const { mounts } = await madeMounts();
  await mounts.enable(ROOT_NAMESPACE, toy("a"));
  assert.ok(toyAt(mounts, "a").leads);
  const opened = async (level: string) => {
    await mounts.tune(ROOT_NAMESPACE, "secret", "a", { config: {}, options: { level } });
    return toyAt(mounts, "a");
  };
  const led = await opened("2");
  assert.ok(led.leads);
  await mounts.stop();
  assert.ok(!led.leads);
  assert.ok(!(await opened("3")).leads, "what somebody else has tuned begins nothing here");
  mounts.lead();
  mounts.start();
  assert.ok(toyAt(mounts, "a").leads);
});

test("lifetimes are tuned for the engine that runs", async () => {
  const { mounts } = await madeMounts();
  await mounts.enable(ROOT_NAMESPACE, toy("a"));
  const { mount } = toyAt(mounts, "a").needs;
  assert.equal(mount.defaultTtl(), 3_600_000_000_000n);
  await mounts.tune(ROOT_NAMESPACE, "secret", "a", { config: { maxLeaseTtl: 60 } });
  assert.equal(mount.maxTtl(), 60_000_000_000n);
  assert.equal(mount.defaultTtl(), 60_000_000_000n, "never above it");
  const crossed = mounts.tune(ROOT_NAMESPACE, "secret", "a", { config: { defaultLeaseTtl: 61 } });
  await assert.rejects(crossed, refused("mount-ttls-crossed"));
});

test("a mount whose engine does not open is not made; one that does not open any more answers 503", async () => {
  const stage = new Stage();
  const before = await madeMounts(stage);
  stage.opening = () => {
    throw new Failure("invalid", "toy", "the cupboard is locked");
  };
  const failed = before.mounts.enable(ROOT_NAMESPACE, toy("a"));
  await assert.rejects(failed, refused("mount-not-ready"));
  assert.equal(before.mounts.find(ROOT_NAMESPACE, ["a"]), null);
  assert.deepEqual(keysWith(before, "mount-"), []);
  stage.opening = () => {};
  await before.mounts.enable(ROOT_NAMESPACE, toy("a"));
  stage.opening = () => {
    throw new Failure("invalid", "toy", "the cupboard is locked");
  };
  const { mounts } = await restartedMounts(before);
  const route = mounts.find(ROOT_NAMESPACE, ["a", "toy"])?.endpoints.find(["toy"]);
  const endpoint = route?.methods.get("GET");
  assert.ok(endpoint !== undefined);
  assert.throws(() => endpoint.run({}, undefined as never), refused("mount-not-ready"));
  assert.match(mounts.read(ROOT_NAMESPACE, "secret", "a").trouble ?? "", /the cupboard is locked/);
  stage.opening = () => {};
  await mounts.tick(); // it is tried again every minute
  assert.ok(toyAt(mounts, "a"));
});

test("disabling rolls back, revokes, closes and wipes, in that order, and goes on after a crash", async () => {
  const stage = new Stage();
  const before = await madeMounts(stage);
  const { uuid } = await before.mounts.enable(ROOT_NAMESPACE, toy("a"));
  const engine = toyAt(before.mounts, "a");
  for (let i = 0; i < 600; i++) await engine.write(`k${i}`, "x");
  await engine.needs.writeAhead.begin("thing", { name: "one" });
  stage.leases.set(uuid, 3);
  stage.revoking = () => new Promise(() => {}); // the process dies meanwhile
  const wait = { abandon: false, wait: 0n };
  const disabling = before.mounts.disable(ROOT_NAMESPACE, "secret", "a", wait);
  await until(() => stage.order.includes("revoke"));
  await before.world.timers.advance(1n);
  assert.deepEqual(await disabling, { done: false, leasesLeft: 3, warnings: [] });
  const left = before.mounts.find(ROOT_NAMESPACE, ["a"])?.endpoints.endpoints ?? [];
  for (const one of left) assert.throws(() => one.run({}, {} as never), /is being disabled/);
  assert.ok(before.mounts.byUuid(uuid) !== null, "revocations still reach it");
  assert.deepEqual(stage.order, ["undo", "revoke"]);
  stage.revoking = async () => {};
  const made = await restartedMounts(before);
  await until(() => keysWith(made, uuid).length === 0);
  assert.deepEqual(stage.order, ["undo", "revoke", "revoke", "close"]);
  assert.deepEqual(keysWith(made, "mount-paths"), []);
  await made.mounts.enable(ROOT_NAMESPACE, toy("a"));
  assert.equal(await toyAt(made.mounts, "a").read("k1"), null);
});

test("a mount moves across namespaces with everything in it, also when the process dies on the way", async () => {
  const stage = new Stage();
  const before = await madeMounts(stage);
  await before.namespaces.write(ROOT_NAMESPACE, "team");
  const { uuid, accessor } = await before.mounts.enable(ROOT_NAMESPACE, toy("a"));
  const engine = toyAt(before.mounts, "a");
  for (let i = 0; i < 300; i++) await engine.write(`k${i}`, `v${i}`);
  stage.leases.set(uuid, 1);
  stage.revoking = () => new Promise(() => {});
  const { moves } = before.mounts;
  const from = moves.placeOf(ROOT_NAMESPACE, "a");
  const to = moves.placeOf(ROOT_NAMESPACE, "team/b/c/");
  const id = await moves.start(ROOT_NAMESPACE, from, to);
  await until(() => stage.order.includes("revoke"));
  await assert.rejects(
    before.mounts.enable(ROOT_NAMESPACE, toy("a")),
    refused("mount-path-taken"),
    "both paths are its own meanwhile",
  );
  stage.revoking = async () => {};
  const { mounts, namespaces } = await restartedMounts(before);
  const status = () => mounts.moves.read(ROOT_NAMESPACE, id).status;
  await until(() => status() === "success");
  const team = namespaces.named("team");
  assert.ok(team !== null);
  await until(() => mounts.find(team, ["b", "c"])?.ref.engine !== null);
  const moved = toyAt(mounts, "b/c", team);
  for (let i = 0; i < 300; i++) assert.equal(await moved.read(`k${i}`), `v${i}`);
  assert.equal(moved.needs.mount.accessor, accessor);
  assert.equal(mounts.find(ROOT_NAMESPACE, ["a"]), null);
  await mounts.enable(ROOT_NAMESPACE, toy("a"));
});

test("a move whose leases cannot be revoked leaves the mount where it was", async () => {
  const stage = new Stage();
  const { mounts } = await madeMounts(stage);
  const { uuid } = await mounts.enable(ROOT_NAMESPACE, toy("a"));
  stage.leases.set(uuid, 1);
  stage.revoking = async () => {
    throw new Failure("upstream", "down", "the provider is down");
  };
  const { moves } = mounts;
  const place = (path: string) => moves.placeOf(ROOT_NAMESPACE, path);
  const id = await moves.start(ROOT_NAMESPACE, place("a"), place("b"));
  await until(() => moves.read(ROOT_NAMESPACE, id).status === "failure");
  assert.match(moves.read(ROOT_NAMESPACE, id).error, /the provider is down/);
  assert.ok(toyAt(mounts, "a"));
  await mounts.enable(ROOT_NAMESPACE, toy("b")); // the target is free again
});
