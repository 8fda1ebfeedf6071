// How long the log is kept: by count, acknowledgement, size and age; and by itself.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  bytes,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../tests/support/made/made-store.ts";
import { tamper, WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { TAIL_ROW } from "./rows/head.ts";
import { decodeEntry, followsFrom } from "./rows/log-entry.ts";
import { Trimmer, trimLog } from "./trimming.ts";

const SECOND = 1_000_000_000n;

/** Entries 1 to `count`, a second apart. */
async function withEntries(count: number): Promise<MadeStore> {
  const made = await madeStore();
  for (let i = 0; i < count; i++) {
    await made.store.write((tx) => tx.put("shared/a", bytes(`${i}`)));
    made.world.clock.pass(SECOND);
  }
  made.engine.batches.length = 0;
  return made;
}

function firstKept({ store, engine }: MadeStore): bigint {
  const { first } = store.tail!;
  const oldest = engine.logs(0n, 1)[0]?.index;
  assert.equal(oldest ?? store.index + 1n, first, "the tail is where the log begins");
  return first;
}

async function assertWhole({ store, engine }: MadeStore): Promise<void> {
  assert.ok((await store.check()).ok);
  let chain = store.tail!.chainBefore;
  let size = 0n;
  for (const row of store.logs(0n, 10_000)) {
    const entry = decodeEntry(row.entry);
    assert.ok(followsFrom(entry, chain));
    chain = entry.chain;
    size += BigInt(row.entry.length);
  }
  assert.deepEqual(chain, store.head!.chain);
  assert.equal(store.head!.logBytes - store.tail!.logBytesBefore, size);
  openedStore(new WatchedEngine(engine.inner)).store.unlock(TREE_KEY);
}

test("with nobody to wait for, all but the least number of entries goes", async () => {
  const made = await withEntries(100);
  assert.equal(await trimLog(made.store, made.world, { minEntries: 30n }), 70);
  assert.equal(firstKept(made), 71n);
  assert.equal(made.store.index, 100n);
  await assertWhole(made);
  assert.equal(await trimLog(made.store, made.world, { minEntries: 30n }), 0);
});

test("the last entry can go too, and the store still opens", async () => {
  const made = await withEntries(3);
  assert.equal(await trimLog(made.store, made.world, { minEntries: 0n }), 3);
  assert.equal(firstKept(made), 4n);
  await assertWhole(made);
  await made.store.write((tx) => tx.put("shared/b", bytes("1")));
  await assertWhole(made);
});

test("by default 16,384 entries are kept however old they are, but no more than the bytes", async () => {
  const made = await withEntries(50);
  assert.equal(await trimLog(made.store, made.world), 0);
  const old = { age: 0n, acknowledged: 50n };
  assert.equal(await trimLog(made.store, made.world, old), 0);
  const one = BigInt(made.store.logs(50n, 1)[0]!.entry.length);
  assert.equal(await trimLog(made.store, made.world, { ...old, bytes: 20n * one }), 30);
  await assertWhole(made);
});

test("what a known secondary has not acknowledged is kept", async () => {
  const made = await withEntries(100);
  const retention = { minEntries: 10n, acknowledged: 42n };
  assert.equal(await trimLog(made.store, made.world, retention), 42);
  assert.equal(firstKept(made), 43n);
  await assertWhole(made);
  assert.equal(await trimLog(made.store, made.world, { minEntries: 10n, acknowledged: 0n }), 0);
});

test("but never more than the bytes", async () => {
  const made = await withEntries(100);
  const { head } = made.store;
  const one = BigInt(made.store.logs(100n, 1)[0]!.entry.length);
  const retention = { minEntries: 10n, acknowledged: 0n, bytes: one * 25n };
  await trimLog(made.store, made.world, retention);
  const kept = head!.logBytes - made.store.tail!.logBytesBefore;
  assert.ok(kept <= one * 25n, "not above");
  assert.ok(kept > one * 24n, "and no further below than one entry");
  assert.equal(firstKept(made), 76n);
  await assertWhole(made);
});

test("nor older than the age", async () => {
  const made = await withEntries(100); // entry i was made 100 − (i − 1) seconds ago
  const retention = { minEntries: 10n, acknowledged: 0n, age: 40n * SECOND };
  await trimLog(made.store, made.world, retention);
  assert.equal(firstKept(made), 61n);
  await assertWhole(made);
});

test("and never less than the least number, even if too old", async () => {
  const made = await withEntries(100);
  const retention = { minEntries: 33n, age: 0n, acknowledged: null };
  await trimLog(made.store, made.world, retention);
  assert.equal(firstKept(made), 68n);
});

test("rows and tail go in one commit, in small ones in a row", async () => {
  const made = await withEntries(200);
  await trimLog(made.store, made.world, { minEntries: 0n });
  assert.ok(made.engine.batches.length >= 3);
  for (const batch of made.engine.batches) {
    assert.ok(batch.trimLogBelow !== null);
    assert.deepEqual(
      batch.meta.map(({ name }) => name),
      [TAIL_ROW],
    );
    assert.equal(batch.data.length + batch.log.length, 0);
  }
});

test("large entries go about a megabyte at a time: commits wait for each step", async () => {
  const made = await madeStore();
  for (let i = 0; i < 9; i++) {
    await made.store.write((tx) => tx.put("shared/a", new Uint8Array(400 * 1024)));
  }
  made.engine.batches.length = 0;
  assert.equal(await trimLog(made.store, made.world, { minEntries: 1n }), 8);
  const ends = made.engine.batches.map(({ trimLogBelow }) => trimLogBelow);
  assert.deepEqual(ends, [4n, 7n, 9n]);
  await assertWhole(made);
});

test("trimming goes on beside writes, and the log stays whole", async () => {
  const made = await withEntries(150);
  const trimming = trimLog(made.store, made.world, { minEntries: 20n });
  const writes = Array.from({ length: 30 }, (_, i) =>
    made.store.write((tx) => tx.put(`local/${i}`, bytes("1"))),
  );
  await Promise.all([trimming, ...writes]);
  await trimLog(made.store, made.world, { minEntries: 20n });
  assert.equal(firstKept(made), 161n);
  await assertWhole(made);
});

test("two that trim at once remove what the one removes that goes further", async () => {
  const made = await withEntries(60);
  const { store, world, engine } = made;
  const release = engine.hold();
  const both = [40n, 50n, 20n].map((minEntries) => trimLog(store, world, { minEntries }));
  release();
  await Promise.all(both);
  assert.equal(firstKept(made), 41n);
  await assertWhole(made);
});

test("a scrub beside a trim has a commit of its own, which takes nothing back", async () => {
  const made = await withEntries(60);
  const { store, world, engine } = made;
  const release = engine.hold();
  const trimming = trimLog(store, world, { minEntries: 20n });
  for (let i = 0; i < 60 && engine.batches.length === 0; i++) await nextTurn();
  const scrubbing = store.scrub();
  release();
  await Promise.all([trimming, scrubbing]);
  assert.deepEqual(
    engine.batches.map(({ trimLogBelow }) => trimLogBelow),
    [41n, 41n],
  );
  assert.equal(firstKept(made), 41n);
  await assertWhole(made);
});

test("a new store, and one that is not created, have nothing to trim", async () => {
  const made = await madeStore();
  assert.equal(await trimLog(made.store, made.world, { minEntries: 0n }), 0);
  const { store, world } = openedStore(new WatchedEngine());
  assert.equal(await trimLog(store, world), 0);
});

function errors({ world }: MadeStore): string[] {
  return world.lines.filter((line) => line.includes("could not trim the log"));
}

/** Makes `count` entries and gives everything a turn. */
async function write({ store }: MadeStore, count: number): Promise<void> {
  const writes = Array.from({ length: count }, () =>
    store.write((tx) => tx.put("shared/a", bytes("1"))),
  );
  await Promise.all(writes);
  for (let i = 0; i < 60; i++) await nextTurn();
  await store.settled();
}

test("the trimmer works by itself every 1,024 entries until it is stopped", async () => {
  const made = await madeStore();
  const trimmer = new Trimmer({
    store: made.store,
    ...made.world,
    retention: () => ({ minEntries: 100n }),
  });
  trimmer.open();
  trimmer.open(); // a second time is none
  await write(made, 1023);
  assert.equal(firstKept(made), 1n);
  await write(made, 1);
  assert.equal(firstKept(made), 925n);
  await write(made, 1024);
  assert.equal(firstKept(made), 1949n);
  await trimmer.close();
  await write(made, 1100);
  assert.equal(firstKept(made), 1949n);
  trimmer.open();
  await write(made, 1024);
  assert.ok(firstKept(made) > 1949n);
  await trimmer.close();
  assert.deepEqual(errors(made), []);
});

test("the trimmer looks when a sixteenth of the bytes has been added, however few entries that is", async () => {
  const made = await madeStore();
  const retention = { bytes: 64n * 1024n };
  const trimmer = new Trimmer({ store: made.store, ...made.world, retention: () => retention });
  trimmer.open();
  for (let i = 0; i < 40; i++) {
    await made.store.write((tx) => tx.put("shared/large", new Uint8Array(8 * 1024)));
    await write(made, 1);
    const { head, tail } = made.store;
    assert.ok(head!.logBytes - tail!.logBytesBefore <= 80n * 1024n, `after ${i + 1}`);
  }
  await trimmer.close();
  await assertWhole(made);
});

test("the trimmer reports an error and tries again later", async () => {
  const made = await madeStore();
  await write(made, 5);
  const row = made.engine.logs(1n, 1)[0]!;
  await tamper(made.engine.inner, { log: [{ index: 1n, entry: bytes("x") }] });
  const trimmer = new Trimmer({
    store: made.store,
    ...made.world,
    retention: () => ({ minEntries: 10n }),
  });
  trimmer.open();
  await write(made, 1024);
  assert.equal(errors(made).length, 1);
  await tamper(made.engine.inner, { log: [row] });
  await write(made, 1024);
  assert.equal(errors(made).length, 1);
  assert.equal(firstKept(made), made.store.index - 9n);
  await trimmer.close();
});

test("what somebody needs who takes over all rows is kept up to twice the size and age", async () => {
  const made = await withEntries(40);
  const one = BigInt(made.store.logs(40n, 1)[0]!.entry.length);
  const least = { minEntries: 0n, acknowledged: 40n, pinned: 15n };
  assert.equal(await trimLog(made.store, made.world, { ...least, bytes: 14n * one }), 14);
  assert.equal(firstKept(made), 15n, "acknowledged or not, and beyond the size");
  assert.equal(await trimLog(made.store, made.world, { ...least, bytes: 10n * one }), 6);
  assert.equal(firstKept(made), 21n, "but not beyond twice the size");
  assert.equal(await trimLog(made.store, made.world, { ...least, age: 15n * SECOND }), 0);
  assert.equal(await trimLog(made.store, made.world, { ...least, age: 5n * SECOND }), 10);
  assert.equal(firstKept(made), 31n, "nor beyond twice the age");
  await assertWhole(made);
});
