import assert from "node:assert/strict";
import test from "node:test";
import { KeyedMutex } from "./keyed-mutex.ts";

test("under one key one runs after the other, under two they run together", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = mutex.run("a", async () => {
    seen.push("first begins");
    await gate.promise;
    seen.push("first ends");
  });
  const second = mutex.run("a", async () => void seen.push("second"));
  await mutex.run("b", async () => void seen.push("other"));
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(seen, ["first begins", "other", "first ends", "second"]);
});

test("one that fails lets the next one run, and nothing is kept afterwards", async () => {
  const mutex = new KeyedMutex();
  const failing = mutex.run("a", () => Promise.reject(new Error("no")));
  const next = mutex.run("a", async () => "ran");
  await assert.rejects(failing, /no/);
  assert.equal(await next, "ran");
  await Promise.resolve();
  assert.equal(mutex.size, 0);
});
