// The storage that tests of engines are given does what the server's does; time and randomness are driven.

import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { testStorage } from "../../tests/support/engine-host.ts";
import type { EngineStorage } from "../storage.ts";
import { DrivenWorld, MemoryStorage } from "./testing.ts";

const codec = jsonCodec<string>();
const KEYS = ["a", "a/b", "a/b/c", "a-b", "b", "c/d", "c/e", "é", "\u{1F600}/x", "\uFFFD"];

/** Everything that an engine can see of a storage. */
async function seen(storage: EngineStorage): Promise<unknown[]> {
  const said: unknown[] = [];
  const page = [{ limit: 100 }, { limit: 2 }, { limit: 2, after: "a/b" }, { limit: 3, after: "c" }];
  for (const prefix of ["", "a", "a/", "c/", "none/"]) {
    for (const one of page) {
      said.push(await storage.keys(prefix, one), await storage.list(prefix, one));
      said.push(await storage.records(prefix, codec, { ...one, reverse: true }));
      said.push(await storage.write((tx) => [tx.keys(prefix, one), tx.list(prefix, one)]));
    }
  }
  return said;
}

test("what is written is found as in a server's storage, in the same order and pages", async () => {
  const memory = new MemoryStorage(new DrivenWorld());
  const { storage: real } = await testStorage(fakeWorld());
  for (const storage of [memory, real]) {
    await storage.write((tx) => KEYS.forEach((key) => tx.put(key, `of ${key}`, codec)));
    await storage.write((tx) => tx.delete("b"));
    const thrown = storage.write((tx) => {
      tx.put("half", "done", codec);
      tx.delete("a");
      throw new Error("no");
    });
    await assert.rejects(thrown, /no/);
    assert.equal(await storage.get("half", codec), null);
    assert.equal(await storage.get("a", codec), "of a");
    assert.equal(await storage.write((tx) => (tx.put("a", "2", codec), tx.get("a", codec))), "2");
  }
  assert.deepEqual(await seen(memory), await seen(real));
});

test("write-ahead records come and go with transactions", async () => {
  const storage = new MemoryStorage(new DrivenWorld());
  const id = await storage.writeAhead.begin("thing", { name: "x" });
  await storage.writeAhead.note(id, { name: "y" });
  assert.deepEqual(
    storage.noted.map(({ kind, data }) => [kind, data]),
    [["thing", { name: "y" }]],
  );
  await assert.rejects(
    storage.write((tx) => {
      tx.settle(id);
      throw new Error("no");
    }),
  );
  assert.equal(storage.noted.length, 1);
  await storage.write((tx) => tx.settle(id));
  assert.equal(storage.noted.length, 0);
  const one = await storage.writeAhead.orphan("thing", { name: "z" }, "because");
  assert.equal(await storage.writeAhead.orphan("thing", { name: "z" }, "again"), one);
});

test("time passes when it is told to, and randomness is the same in every run", async () => {
  const [world, again] = [new DrivenWorld(), new DrivenWorld()];
  const called: string[] = [];
  const began = world.clock.now();
  world.timers.after(20n, () => called.push(`second at ${world.clock.elapsed()}`));
  world.timers.after(10n, () => called.push(`first at ${world.clock.elapsed()}`));
  world.timers.after(15n, () => called.push("never")).cancel();
  await world.advance(19n);
  assert.deepEqual(called, ["first at 10"]);
  await world.advance(1n);
  assert.deepEqual(called, ["first at 10", "second at 20"]);
  assert.equal(world.clock.now() - began, 20n);
  assert.deepEqual(world.random.bytes(40), again.random.bytes(40));
  assert.notEqual(world.random.uuid(), world.random.uuid());
});
