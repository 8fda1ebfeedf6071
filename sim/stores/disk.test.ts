// What the simulated disk keeps and what it may lose.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimDisk } from "./disk.ts";
import { Prng } from "../prng.ts";
import { Life, SimWorld } from "../world.ts";

function made(seed: number | string) {
  const prng = new Prng(seed);
  const world = new SimWorld(prng);
  return { world, disk: new SimDisk(world, prng), life: new Life("first") };
}

/** Waits for a disk operation by letting simulated time pass. */
async function within<T>(world: SimWorld, promise: Promise<T>): Promise<T> {
  let settled = false;
  const mark = () => void (settled = true);
  promise.then(mark, mark);
  await world.run(() => settled, Infinity);
  return promise;
}

test("what was written is read back at once, and a kill does not change that", () => {
  const { disk, life } = made(1);
  const file = disk.mount(life).create("f");
  file.write(3, Buffer.from("abc"));
  assert.deepEqual(file.read(0, 100), Buffer.from("\0\0\0abc"));
  life.end();
  disk.kill();
  const again = disk.mount(new Life("second")).open("f");
  assert.deepEqual(again?.read(0, 100), Buffer.from("\0\0\0abc"));
});

test("a power cut keeps what was synced, and of the rest any part, in whole sectors", async () => {
  const kept = new Set<string>();
  for (let seed = 0; seed < 300; seed++) {
    const { world, disk, life } = made(seed);
    const volume = disk.mount(life);
    const file = volume.create("f");
    file.write(0, Buffer.alloc(1024, "a"));
    await within(world, file.sync());
    await within(world, volume.syncNames());
    file.write(512, Buffer.alloc(1024, "b"));
    life.end();
    disk.cutPower();
    const found = disk.mount(new Life("second")).open("f");
    assert.ok(found !== null);
    const bytes = found.read(0, 2000);
    assert.ok(bytes.subarray(0, 512).equals(Buffer.alloc(512, "a")));
    const second = bytes.subarray(512, 1024).toString();
    assert.ok(second === "a".repeat(512) || second === "b".repeat(512));
    const third = bytes.subarray(1024).toString();
    assert.ok(third === "" || third === "b".repeat(512));
    kept.add(`${second[0]}${third[0] ?? "-"}`);
  }
  assert.deepEqual([...kept].sort(), ["a-", "ab", "b-", "bb"]);
});

test("a file whose name was not synced may be gone after a power cut", async () => {
  let gone = 0;
  for (let seed = 0; seed < 50; seed++) {
    const { world, disk, life } = made(seed);
    const file = disk.mount(life).create("f");
    file.write(0, Buffer.from("abc"));
    await within(world, file.sync());
    life.end();
    disk.cutPower();
    const found = disk.mount(new Life("second")).open("f");
    if (found === null) gone++;
    else assert.deepEqual(found.read(0, 3), Buffer.from("abc"));
  }
  assert.ok(gone > 5 && gone < 45);
});

test("after a failed sync a good one does not bring back what was lost", async () => {
  let lost = 0;
  for (let seed = 0; seed < 50; seed++) {
    const { world, disk, life } = made(seed);
    const volume = disk.mount(life);
    const file = volume.create("f");
    await within(world, volume.syncNames());
    file.write(0, Buffer.from("abc"));
    disk.failing = "sync";
    await assert.rejects(within(world, file.sync()), /EIO/);
    assert.deepEqual(file.read(0, 3), Buffer.from("abc")); // the cache still shows it
    await within(world, file.sync());
    life.end();
    disk.cutPower();
    if (disk.mount(new Life("second")).open("f")?.size() === 0) lost++;
  }
  assert.ok(lost > 10);
});

test("a write that fails leaves a part of it and says so", () => {
  const { disk, life } = made("short");
  const file = disk.mount(life).create("f");
  const failures: string[] = [];
  disk.onFailure = (what) => failures.push(what);
  disk.failing = "write";
  assert.throws(() => file.write(0, Buffer.alloc(1000)), /EIO/);
  assert.ok(file.size() < 1000);
  assert.deepEqual(failures, ["write"]);
});

test("a process that has ended can neither write nor hear of its syncs", async () => {
  const { world, disk, life } = made("zombie");
  const file = disk.mount(life).create("f");
  let heard = false;
  file.sync().then(
    () => (heard = true),
    () => (heard = true),
  );
  life.end();
  await world.run(() => false, Infinity);
  assert.equal(heard, false);
  assert.throws(() => file.write(0, Buffer.from("a")), /has crashed/);
});
