import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

test("so many have a turn at once, and who gives its place away lets in one other, once", async () => {
  const turns = new Turns(2);
  const begun: string[] = [];
  const gives = new Map<string, () => void>();
  const ends = new Map<string, () => void>();
  const take = (name: string) =>
    turns.take((give) => {
      begun.push(name);
      gives.set(name, give);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      return promise;
    });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const all = ["a", "b", "c", "d", "e"].map(take);
  assert.deepEqual(begun, ["a", "b"]);
  gives.get("a")!();
  gives.get("a")!();
  await settled();
  assert.deepEqual(begun, ["a", "b", "c"]);
  ends.get("a")!();
  await settled();
  assert.deepEqual(begun, ["a", "b", "c"], "its place is another one's");
  ends.get("b")!();
  await settled();
  assert.deepEqual(begun, ["a", "b", "c", "d"]);
  for (const name of ["c", "d"]) gives.get(name)!();
  await settled();
  ends.get("e")!();
  await settled();
  let isIdle = false;
  const idle = turns.idle().then(() => (isIdle = true));
  ends.get("c")!();
  await settled();
  assert.equal(isIdle, false, "one that gave its place away works still");
  ends.get("d")!();
  await Promise.all([...all, idle]);
  assert.ok(isIdle);
});
