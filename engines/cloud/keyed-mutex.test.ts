import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import assert from "node:assert/strict";
import test from "node:test";
import { KeyedMutex } from "./keyed-mutex.ts";

test("under one key one runs after the other, under two they run together", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = mutex.run("a", OWN_WORK, async () => {
    seen.push("first begins");
    await gate.promise;
    seen.push("first ends");
  });
  const second = mutex.run("a", OWN_WORK, async () => void seen.push("second"));
  await mutex.run("b", OWN_WORK, async () => void seen.push("other"));
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(seen, ["first begins", "other", "first ends", "second"]);
});

test("one that fails lets the next one run, and nothing is kept afterwards", async () => {
  const mutex = new KeyedMutex();
  const failing = mutex.run("a", OWN_WORK, () => Promise.reject(new Error("no")));
  const next = mutex.run("a", OWN_WORK, async () => "ran");
  await assert.rejects(failing, /no/);
  assert.equal(await next, "ran");
  await Promise.resolve();
  assert.equal(mutex.size, 0);
});

test("a request that may not do it any more when its turn comes does nothing, and the next one runs", async () => {
  const mutex = new KeyedMutex();
  const gate = Promise.withResolvers<void>();
  const first = mutex.run("a", OWN_WORK, () => gate.promise);
  const revoked: Waiting = {
    waitFor: async (turn) => {
      await turn;
      throw new Error("refused");
    },
  };
  const second = mutex.run("a", revoked, () => assert.fail("it ran"));
  const third = mutex.run("a", OWN_WORK, async () => "ran");
  gate.resolve();
  await Promise.all([first, assert.rejects(second, /refused/)]);
  assert.equal(await third, "ran");
});

test("one that leaves before its turn lets nobody in before those that it waited for", async () => {
  const mutex = new KeyedMutex();
  const gate = Promise.withResolvers<void>();
  let over = false;
  const first = mutex.run("a", OWN_WORK, () => gate.promise.then(() => void (over = true)));
  const leaves: Waiting = { waitFor: () => Promise.reject(new Error("sealed")) };
  await assert.rejects(
    mutex.run("a", leaves, () => assert.fail("it ran")),
    /sealed/,
  );
  const third = mutex.run("a", OWN_WORK, async () => over);
  gate.resolve();
  await first;
  assert.equal(await third, true, "after the first");
});
