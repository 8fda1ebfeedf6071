// What is kept of the log for those who are sent it, and where it comes from.

import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { hex } from "@holdfast/shared/bytes";
import type { LogRow } from "../../storage/engines/engine.ts";
import type { Store } from "../../storage/store.ts";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import { LogTail } from "./log-tail.ts";

const MAX = { entries: 100, bytes: 1 << 20 };

async function stage() {
  const { store } = await madeStore();
  const tail = new LogTail(store);
  let reads = 0;
  const logs = store.logs.bind(store);
  store.logs = (...args: Parameters<Store["logs"]>) => {
    reads++;
    return logs(...args);
  };
  const write = (value: string) => store.write((tx) => tx.put("shared/a", Buffer.from(value)));
  const stored = (from: bigint) => logs(from, 100).map(({ entry }) => hex(entry));
  const kept = (from: bigint) => tail.read(from, MAX)?.map(hex);
  return { store, tail, write, stored, kept, reads: () => reads };
}

test("who follows reads what was committed without a look at the disk, byte for byte", async () => {
  const { store, tail, write, stored, kept, reads } = await stage();
  const from = store.index + 1n;
  tail.follow(from);
  for (const value of ["1", "2", "3"]) await write(value);
  assert.deepEqual(kept(from), stored(from));
  assert.deepEqual(kept(from + 1n), stored(from + 1n));
  assert.deepEqual(kept(from + 3n), []);
  assert.equal(reads(), 0);
});

test("what was committed while nobody followed comes from the disk, and so does what is older", async () => {
  const { store, tail, write, stored, kept, reads } = await stage();
  const first = store.index + 1n;
  const follower = tail.follow(first);
  await write("1");
  follower.end();
  await write("2");
  await write("3");
  assert.deepEqual(kept(first + 1n), stored(first + 1n));
  assert.ok(reads() > 0);
  tail.follow(store.index + 1n);
  await write("4");
  assert.deepEqual(kept(first), stored(first));
  assert.deepEqual(kept(first + 3n), stored(first + 3n));
});

test("what everybody was sent is let go, what one still needs stays, and both are read", async () => {
  const { store, tail, write, stored, kept, reads } = await stage();
  const first = store.index + 1n;
  const [fast, slow] = [tail.follow(first), tail.follow(first)];
  for (let i = 0; i < 90; i++) await write(String(i));
  fast.sent(first + 90n);
  assert.deepEqual(kept(first), stored(first));
  assert.equal(reads(), 0, "one was not sent them yet");
  slow.sent(first + 80n);
  assert.deepEqual(kept(first + 80n), stored(first + 80n));
  assert.equal(reads(), 0);
  assert.deepEqual(kept(first), stored(first));
  assert.ok(reads() > 0, "those come from the disk");
  assert.deepEqual(kept(first + 85n), stored(first + 85n));
});

test("who goes takes with it what only it needed", async () => {
  const { store, tail, write, reads } = await stage();
  const first = store.index + 1n;
  const [one, other] = [tail.follow(first), tail.follow(first)];
  for (let i = 0; i < 70; i++) await write(String(i));
  other.sent(first + 70n);
  one.end();
  assert.equal(tail.read(first, MAX)?.length, 70);
  assert.ok(reads() > 0, "the other was sent them");
  const last = tail.follow(store.index + 1n);
  await write("last");
  for (const follower of [other, last]) follower.end();
  const before = reads();
  assert.equal(tail.read(store.index, MAX)?.length, 1);
  assert.ok(reads() > before, "nobody follows");
});

test("once it is closed nothing is kept", async () => {
  const { store, tail, write, reads } = await stage();
  tail.follow(store.index + 1n);
  tail.close();
  await write("1");
  assert.equal(tail.read(store.index, MAX)?.length, 1);
  assert.ok(reads() > 0);
});

test("who comes after all have gone reads what is committed from then on without a look at the disk", async () => {
  const { store, tail, write, stored, kept, reads } = await stage();
  const before = tail.follow(store.index + 1n);
  for (let i = 0; i < 10; i++) await write(String(i));
  before.sent(store.index - 2n);
  before.end();
  const from = store.index + 1n;
  tail.follow(from);
  for (const value of ["1", "2", "3"]) await write(value);
  assert.deepEqual(kept(from), stored(from));
  assert.equal(reads(), 0);
});

test("of what everybody was sent nothing stays in memory, though its place does", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let commit: (rows: readonly LogRow[]) => void = () => {};
  const world = {
    index: 2n,
    headBytes: null,
    onLog: (watcher: typeof commit) => {
      commit = watcher;
      return () => {};
    },
    onCommit: () => () => {},
  };
  const tail = new LogTail(world as unknown as Store);
  const follower = tail.follow(1n);
  const kept = (() => {
    const entries = [1n, 2n].map((index) => ({ index, entry: new Uint8Array(1 << 20) }));
    commit(entries);
    return entries.map(({ entry }) => new WeakRef(entry));
  })();
  follower.sent(2n);
  await nextTurn(); // what was looked at in this turn is kept until it ends
  collect();
  assert.deepEqual(
    kept.map((entry) => entry.deref() !== undefined),
    [false, true],
  );
  assert.equal(tail.read(2n, MAX)?.length, 1);
});
