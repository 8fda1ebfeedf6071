// What is told when: nothing before it is durable, nothing after the storage has failed.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  bytes,
  IDENTITY,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../tests/support/made/made-store.ts";
import { tamper, WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { CommitConflict, EngineError } from "./engines/engine.ts";
import { HEAD_ROW } from "./rows/head.ts";
import { slotOf } from "./rows/merkle.ts";
import { MemoryDisk, MemoryEngine } from "./engines/memory.ts";
import type { Store } from "./store.ts";
import type { StoreTx } from "./transaction.ts";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

const storageFailed = refused("storage-failed");

/** Notes when a promise settles. */
function settling(promise: Promise<unknown>): { settled: boolean } {
  const state = { settled: false };
  void Promise.allSettled([promise]).then(() => (state.settled = true));
  return state;
}

function put(store: Store, key: string, value = "1"): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value)));
}

test("reads outside a transaction never see a commit on its way", async () => {
  const { store, engine } = await madeStore();
  await put(store, "shared/a", "old");
  const open = engine.hold();
  const write = store.write((tx) => {
    tx.put("shared/a", bytes("new"));
    tx.put("shared/b", bytes("new"));
  });
  const watch: unknown[] = [];
  store.watch("", (change) => watch.push(change));
  await nextTurn();
  assert.equal(text(store.get("shared/a")!), "old");
  assert.equal(store.get("shared/b"), null);
  assert.deepEqual(store.keys("shared/", { limit: 9 }), ["shared/a"]);
  assert.deepEqual(store.list("shared/", { limit: 9 }), ["a"]);
  assert.equal(store.rows("shared/", { limit: 9 }).length, 1);
  assert.equal(store.logs(0n, 9).length, 1);
  assert.equal(store.index, 1n);
  assert.equal(store.head?.index, 1n);
  assert.equal(store.trees.shared.total().count, 1);
  assert.equal(watch.length, 0);
  open();
  await write;
  assert.equal(text(store.get("shared/a")!), "new");
  assert.equal(store.index, 2n);
  assert.equal(store.trees.shared.total().count, 2);
});

test("a read-only transaction is told only when what it saw is durable", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const write = settling(put(store, "shared/a"));
  const looked = store.write((tx) => text(tx.get("shared/a")!));
  const look = settling(looked);
  await nextTurn();
  assert.deepEqual([write.settled, look.settled], [false, false]);
  open();
  assert.equal(await looked, "1");
  assert.equal(store.index, 1n);
  assert.equal(engine.batches.length, 1);
});

test("a throw is told only when what it may tell of is durable", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const write = put(store, "shared/a");
  const thrown = store.write((tx) => {
    throw new Error(`already there: ${text(tx.get("shared/a")!)}`);
  });
  const state = settling(thrown);
  await nextTurn();
  assert.equal(state.settled, false);
  open();
  await assert.rejects(thrown, /already there: 1/);
  await write;
});

test("with nothing on its way a throw is told at once", async () => {
  const { store, engine } = await madeStore();
  engine.hold();
  const thrown = store.write(() => {
    throw new Error("own");
  });
  await assert.rejects(thrown, /own/);
});

test("when a commit fails it and all that wait are refused, and the cause is announced once", async () => {
  const { store, engine, world } = await madeStore();
  await put(store, "shared/a", "kept");
  const open = engine.hold();
  const inFlight = put(store, "shared/a", "lost");
  await nextTurn();
  const queued = put(store, "shared/b");
  const look = store.write((tx) => tx.get("shared/a"));
  const thrown = store.write(() => {
    throw new Error("own");
  });
  const all = [inFlight, queued, look, thrown];
  const outcomes = Promise.allSettled(all);
  let woken = 0;
  store.watch("", () => void woken++);
  store.onCommit(() => void woken++);
  const cause = new EngineError("no space left on device");
  engine.failCommit = cause;
  open();
  for (const outcome of await outcomes) {
    assert.equal(outcome.status, "rejected");
    assert.ok(storageFailed((outcome as PromiseRejectedResult).reason));
  }
  assert.equal(await store.failed, cause);
  assert.equal(engine.batches.length, 2, "nothing follows a failed commit");
  assert.equal(woken, 0);
  assert.match(world.lines.join(""), /the storage failed; stopping.*no space left/);
  await assert.rejects(put(store, "shared/c"), storageFailed);
  await assert.rejects(store.check(), storageFailed);
  assert.throws(() => store.get("shared/a"), storageFailed);
  assert.throws(() => store.keys("shared/", { limit: 1 }), storageFailed);
  assert.throws(() => store.view(), storageFailed);
  await assert.rejects(
    store.trim({ first: 1n, chainBefore: bytes(""), logBytesBefore: 0n }),
    storageFailed,
  );
  assert.equal(text(engine.get("shared/a")!), "kept");
});

test("a refusal after a failure does not show the cause to callers", async () => {
  const { store, engine } = await madeStore();
  engine.failCommit = new EngineError("disk /dev/secret-name");
  const matches = (error: unknown) =>
    error instanceof Failure &&
    error.kind === "unavailable" &&
    !error.message.includes("secret-name");
  await assert.rejects(put(store, "shared/a"), matches);
});

test("an engine that fails while nobody asks it for anything stops the store", async () => {
  const inner = new (class extends MemoryEngine {
    fail: (error: EngineError) => void = () => {};

    onFailure(listener: (error: EngineError) => void): void {
      this.fail = listener;
    }
  })();
  const { store } = await madeStore(inner);
  const cause = new EngineError("the storage failed to copy its log");
  inner.fail(cause);
  assert.equal(await store.failed, cause);
  assert.throws(() => store.get("shared/a"), storageFailed);
});

test("a failed read stops the store, outside a transaction and inside one", async () => {
  const outside = await madeStore();
  outside.engine.failReads = true;
  assert.throws(() => outside.store.get("shared/a"), storageFailed);
  assert.ok((await outside.store.failed) instanceof EngineError);
  await assert.rejects(put(outside.store, "shared/a"), storageFailed);

  const inside = await madeStore();
  inside.engine.failReads = true;
  await assert.rejects(
    inside.store.write((tx) => tx.get("shared/a")),
    storageFailed,
  );
  assert.ok((await inside.store.failed) instanceof EngineError);
  assert.equal(inside.engine.batches.length, 0);
});

test("a failed read stops the store even if the transaction's function swallows it", async () => {
  const { store, engine } = await madeStore();
  engine.failReads = true;
  const write = store.write((tx) => {
    try {
      tx.get("shared/a");
    } catch {
      // as if nothing had happened
    }
    tx.put("core/a", bytes("1"));
  });
  await assert.rejects(write, storageFailed);
  assert.equal(engine.batches.length, 0);
});

test("a failed read keeps what is on its way from being acknowledged", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const inFlight = put(store, "shared/a");
  await nextTurn();
  const queued = put(store, "shared/b");
  const outcomes = Promise.allSettled([inFlight, queued]);
  engine.failReads = true;
  assert.throws(() => store.get("shared/a"), storageFailed);
  let woken = false;
  store.watch("", () => void (woken = true));
  open();
  for (const { status } of await outcomes) assert.equal(status, "rejected");
  await store.settled();
  await nextTurn();
  assert.equal(engine.batches.length, 1, "what was queued is not written any more");
  assert.equal(woken, false);
});

test("a conflict in the middle of the work stops the store: somebody else wrote", async () => {
  const { store, engine } = await madeStore();
  await put(store, "shared/a");
  await tamper(engine.inner, { meta: [{ name: HEAD_ROW, value: bytes("another's") }] });
  await assert.rejects(put(store, "shared/b"), storageFailed);
  assert.ok((await store.failed) instanceof CommitConflict);
  assert.equal(engine.get("shared/b"), null);
});

test("a record that is added where there is one stops the store, and what was there stays", async () => {
  const { store, engine } = await madeStore();
  await put(store, "shared/a", "old");
  await put(store, "shared/gone", "old");
  await store.write((tx) => tx.delete("shared/gone"));
  await store.write((tx) => tx.add("shared/gone", bytes("again")));
  const added = store.write((tx) => tx.add("shared/a", bytes("new")));
  const beside = put(store, "shared/b");
  await assert.rejects(added, storageFailed);
  await assert.rejects(beside, storageFailed);
  assert.ok((await store.failed) instanceof EngineError);
  const again = openedStore(new WatchedEngine(engine.inner)).store;
  again.unlock(TREE_KEY);
  assert.equal(text(again.get("shared/a")!), "old");
  assert.equal(text(again.get("shared/gone")!), "again");
  assert.ok((await again.check()).ok);
});

test("what is added looks at nothing in the storage", async () => {
  const { store, engine } = await madeStore();
  const slot = slotOf("shared", "shared/a");
  let n = 0;
  while (slotOf("shared", `shared/${n}`) !== slot) n++;
  await put(store, "shared/a");
  engine.failReads = true;
  await store.write((tx) => tx.add(`shared/${n}`, bytes("1")));
  engine.failReads = false;
  assert.equal(text(store.get(`shared/${n}`)!), "1");
  assert.ok((await store.check()).ok);
});

test("another writer on the same storage is noticed without a write of ours", async () => {
  const disk = new MemoryDisk();
  const { store } = await madeStore(new MemoryEngine(disk));
  await tamper(new MemoryEngine(disk), { data: [{ key: "shared/x", value: bytes("1") }] });
  assert.match(String(await store.failed), /another writer/);
  assert.throws(() => store.get("shared/x"), storageFailed);
});

test("writers that wait for room when the storage fails are refused, and so are later ones", async () => {
  const { store, engine } = await madeStore(undefined, { maxEntryBytes: 8 * 1024 * 1024 });
  const open = engine.hold();
  const value = Buffer.alloc(4 * 1024 * 1024);
  let ran = 0;
  const writes = Array.from({ length: 30 }, (_, i) =>
    store.write((tx) => {
      ran++;
      tx.put(`shared/${i}`, value);
    }),
  );
  const outcomes = Promise.allSettled(writes);
  await nextTurn();
  const before = ran;
  assert.ok(before < 30);
  engine.failCommit = new EngineError("gone");
  open();
  for (const { status } of await outcomes) assert.equal(status, "rejected");
  assert.equal(ran, before, "no function runs after the failure");
  await assert.rejects(put(store, "shared/late"), storageFailed);
});

test("close() waits for what was accepted, refuses the rest, and closes the engine once", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const write = put(store, "shared/a");
  await nextTurn();
  const closing = store.close();
  const again = settling(store.close());
  const late = assert.rejects(put(store, "shared/b"), refused("store-closed"));
  assert.throws(() => store.get("shared/a"), refused("store-closed"));
  await nextTurn();
  assert.equal(engine.closed, false);
  assert.equal(again.settled, false);
  open();
  await write;
  await late;
  await closing;
  assert.ok(engine.closed);
});

test("writers that wait for room are refused when the store is closed", async () => {
  const { store, engine } = await madeStore(undefined, { maxEntryBytes: 8 * 1024 * 1024 });
  const open = engine.hold();
  const value = Buffer.alloc(4 * 1024 * 1024);
  const writes = Array.from({ length: 30 }, (_, i) =>
    store.write((tx) => tx.put(`shared/${i}`, value)),
  );
  const outcomes = Promise.allSettled(writes);
  await nextTurn();
  const closing = store.close();
  open();
  await closing;
  const kinds = (await outcomes).map(({ status }) => status);
  assert.ok(kinds.includes("fulfilled") && kinds.at(-1) === "rejected");
});

test("a nearly full disk takes deletions and essential writes only, until there is room again", async () => {
  const engine = new WatchedEngine();
  engine.free = 10_000;
  const { store, world } = openedStore(engine, { reserveBytes: 5000 });
  await store.create(TREE_KEY, IDENTITY, () => {});
  const pass = () => world.clock.pass(200_000_000n);
  await put(store, "shared/a");
  engine.free = 5400;
  pass();
  const full = (error: unknown) =>
    refused("storage-full")(error) && error instanceof Failure && error.kind === "unavailable";
  await assert.rejects(put(store, "shared/b"), full);
  const mixed = store.write((tx) => {
    tx.delete("shared/a");
    tx.put("shared/b", bytes("1"));
  });
  await assert.rejects(mixed, full);
  await store.write((tx) => tx.put("shared/lease", bytes("1")), { essential: true });
  await store.write((tx) => tx.put("shared/mark", bytes("1")), { deletion: true });
  const large = (tx: StoreTx) => tx.put("shared/mark", Buffer.alloc(3000));
  await assert.rejects(store.write(large, { deletion: true }), full, "half is for revocations");
  await store.write((tx) => tx.delete("shared/a"));
  assert.equal(store.get("shared/a"), null);
  assert.equal(store.get("shared/lease") === null, false);
  engine.free = 20_000;
  await assert.rejects(put(store, "shared/b"), full, "the disk is looked at now and then only");
  const reported = () =>
    world.lines.filter((line) => /disk is nearly full|room on the disk/.test(line));
  assert.equal(reported().length, 1, "one line, however many are refused");
  assert.match(reported()[0] ?? "", /ERROR.*writes are refused.*free_bytes=5400/);
  pass();
  await put(store, "shared/b");
  assert.equal(reported().length, 2);
  assert.match(reported()[1] ?? "", /room on the disk again/);
  engine.free = 10_000;
  pass();
  await assert.rejects(
    store.write((tx) => tx.put("shared/c", Buffer.alloc(6000))),
    full,
  );
  assert.equal(reported().length, 2, "what is too large by itself says nothing of the disk");
});

test("a burst between two looks at the disk does not use up the reserve", async () => {
  const engine = new WatchedEngine();
  engine.free = 100_000;
  const { store } = openedStore(engine, { reserveBytes: 50_000 });
  await store.create(TREE_KEY, IDENTITY, () => {});
  const writes = Array.from({ length: 50 }, (_, i) =>
    store.write((tx) => tx.put(`shared/${i}`, Buffer.alloc(2000))),
  );
  const outcomes = await Promise.allSettled(writes);
  const taken = outcomes.filter(({ status }) => status === "fulfilled").length;
  assert.ok(taken > 2 && taken * 2000 * 2 <= 50_000, `${taken} were taken`);
});

test("a full disk that the engine itself reports is a failure like any other", async () => {
  const { store, engine } = await madeStore();
  engine.failCommit = new EngineError("ENOSPC");
  await assert.rejects(put(store, "shared/a"), storageFailed);
});
