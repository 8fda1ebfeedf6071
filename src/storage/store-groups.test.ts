// Groups and limits: many transactions in one commit, and what is too much for one.

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
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { decodeEntry, followsFrom } from "./rows/log-entry.ts";
import type { Store } from "./store.ts";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function read(store: Store, key: string): string | null {
  const value = store.get(key);
  return value === null ? null : text(value);
}

test("writes of one turn share one commit, in order, with an index and a log entry each", async () => {
  const { store, engine } = await madeStore();
  const seen: bigint[] = [];
  const writes = Array.from({ length: 12 }, (_, i) =>
    store.write((tx) => {
      seen.push(tx.index);
      tx.put(`shared/${i}`, bytes(`${i}`));
      tx.put("shared/last", bytes(`${i}`));
      return i;
    }),
  );
  assert.deepEqual(
    await Promise.all(writes),
    Array.from({ length: 12 }, (_, i) => i),
  );
  assert.equal(engine.batches.length, 1);
  const batch = engine.batches[0]!;
  assert.equal(batch.data.length, 13, "of each row only the last state is written");
  assert.equal(batch.meta.length, 1, "the head moves once");
  assert.equal(read(store, "shared/last"), "11");
  const indexes = Array.from({ length: 12 }, (_, i) => BigInt(i + 1));
  assert.deepEqual(seen, indexes);
  const rows = store.logs(1n, 100);
  assert.deepEqual(
    rows.map(({ index }) => index),
    indexes,
  );
  let { chain } = { chain: store.tail!.chainBefore };
  for (const [i, row] of rows.entries()) {
    const entry = decodeEntry(row.entry);
    assert.equal(entry.index, BigInt(i + 1));
    assert.deepEqual(
      entry.operations.map(({ key }) => key),
      [`shared/${i}`, "shared/last"],
    );
    assert.ok(followsFrom(entry, chain));
    chain = entry.chain;
  }
  assert.deepEqual(store.head?.chain, chain);
  assert.equal(store.index, 12n);
});

/** How many transactions went into each commit when `count` were made in one turn. */
async function groupsOf(count: number, commitTakes: bigint): Promise<number[]> {
  const { store, engine, world } = await madeStore();
  const release = engine.hold();
  const first = store.write((tx) => tx.put("shared/first", bytes("1")));
  await nextTurn();
  world.clock.pass(commitTakes);
  release();
  await first;
  engine.batches.length = 0;
  const write = (i: number) => store.write((tx) => tx.put(`shared/${i}`, bytes("1")));
  await Promise.all(Array.from({ length: count }, (_, i) => write(i)));
  return engine.batches.map(({ log }) => log.length);
}

test("on a quick disk half of those who come at once go first, so that work and writing overlap", async () => {
  assert.deepEqual(await groupsOf(64, 1_000_000n), [32, 32]);
  assert.deepEqual(await groupsOf(15, 1_000_000n), [15], "not worth it");
});

test("on a slow disk all go at once: the sync costs more than the rest", async () => {
  assert.deepEqual(await groupsOf(64, 10_000_000n), [64]);
});

test("what arrives while a commit runs goes into the next one together", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const first = store.write((tx) => tx.put("shared/a", bytes("1")));
  await nextTurn();
  const rest = ["b", "c", "d"].map((name) =>
    store.write((tx) => tx.put(`shared/${name}`, bytes("1"))),
  );
  await nextTurn();
  assert.equal(engine.batches.length, 1);
  open();
  await Promise.all([first, ...rest]);
  assert.deepEqual(
    engine.batches.map(({ log }) => log.length),
    [1, 3],
  );
});

test("entries, operations and bytes above the limits are refused before anything is written", async () => {
  const { store, engine } = await madeStore(undefined, { maxEntryBytes: 1000 });
  const entry = store.write((tx) => tx.put("shared/a", Buffer.alloc(1001)));
  await assert.rejects(entry, refused("storage-entry-too-large"));
  const operations = store.write((tx) => {
    for (let i = 0; i < 8193; i++) tx.put(`shared/${i}`, bytes("1"));
  });
  await assert.rejects(operations, refused("storage-transaction-too-large"));
  const key = store.write((tx) => tx.put(`shared/${"a".repeat(5000)}`, bytes("1")));
  await assert.rejects(key, refused("storage-key-too-long"));
  assert.equal(engine.batches.length, 0);
  await store.write((tx) => {
    tx.put("shared/a", Buffer.alloc(1000));
    for (let i = 0; i < 8191; i++) tx.put(`shared/${i}`, bytes("1"));
  });
  assert.equal(store.index, 1n);
});

test("a smaller limit of the engine is kept to by single transactions and by groups", async () => {
  const engine = new WatchedEngine();
  engine.limits = { operations: 5, bytes: 40_000 };
  const { store } = openedStore(engine);
  await store.create(TREE_KEY, IDENTITY, () => {});
  engine.batches.length = 0;
  const six = store.write((tx) => {
    for (let i = 0; i < 6; i++) tx.put(`shared/${i}`, bytes("1"));
  });
  await assert.rejects(six, refused("storage-transaction-too-large"));
  const large = store.write((tx) => tx.put("shared/a", Buffer.alloc(20_000)));
  await assert.rejects(large, refused("storage-transaction-too-large"));

  const two = Array.from({ length: 5 }, (_, i) =>
    store.write((tx) => {
      tx.put(`shared/a${i}`, bytes("1"));
      tx.put(`shared/b${i}`, bytes("1"));
    }),
  );
  await Promise.all(two);
  assert.deepEqual(
    engine.batches.map(({ data }) => data.length),
    [4, 4, 2],
  );
  engine.batches.length = 0;
  const big = Array.from({ length: 3 }, (_, i) =>
    store.write((tx) => tx.put(`shared/${i}`, Buffer.alloc(9000))),
  );
  await Promise.all(big);
  for (const batch of engine.batches) {
    const size = [...batch.data, ...batch.log.map(({ entry }) => ({ key: "", value: entry }))]
      .map(({ key, value }) => key.length + (value?.length ?? 0))
      .reduce((a, b) => a + b);
    assert.ok(size <= 40_000, `${size} bytes in one commit`);
  }
  assert.deepEqual(
    engine.batches.map(({ log }) => log.length),
    [2, 1],
  );
  assert.equal(store.index, 8n);
});

test("beyond what may be pending writers wait, and go through later in order", async () => {
  const { store, engine } = await madeStore(undefined, { maxEntryBytes: 8 * 1024 * 1024 });
  const open = engine.hold();
  const order: number[] = [];
  let ran = 0;
  let max = 0;
  const value = Buffer.alloc(4 * 1024 * 1024);
  const writes = Array.from({ length: 40 }, (_, i) =>
    store
      .write((tx) => {
        ran++;
        max = Math.max(max, ran - order.length);
        tx.put(`shared/${i}`, value);
        tx.put("shared/last", bytes(`${i}`));
        return tx.index;
      })
      .then((index) => order.push(Number(index))),
  );
  await nextTurn();
  const atOnce = ran;
  assert.ok(atOnce < 20, `${atOnce} are accepted at once: 64 MiB of rows and log entries`);
  // One that comes now, however small, does not overtake those that wait.
  writes.push(
    store
      .write((tx) => {
        tx.put("shared/last", bytes("small"));
        return tx.index;
      })
      .then((index) => order.push(Number(index))),
  );
  await nextTurn();
  assert.equal(ran, atOnce);
  open();
  await Promise.all(writes);
  assert.deepEqual(
    order,
    Array.from({ length: 41 }, (_, i) => i + 1),
  );
  assert.equal(read(store, "shared/last"), "small");
  // Those of one group are told after the next ones are let in.
  assert.ok(max <= 2 * atOnce, `${max} at once: not all that wait are let in together`);
});

test("thousands that waited are let in by and by: others have their turn in between", async () => {
  const { store, engine, world } = await madeStore();
  const open = engine.hold();
  const writes = Array.from({ length: 17_600 }, (_, i) =>
    store.write((tx) => tx.put("shared/a", bytes(`${i}`))),
  );
  await nextTurn();
  const before = world.timers.turns;
  open();
  await nextTurn();
  // There is room now, but many still wait: whoever comes stands in line behind them.
  const late = store.write((tx) => (tx.put("shared/b", bytes("late")), tx.index));
  await Promise.all(writes);
  assert.equal(await late, 17_601n);
  assert.ok(world.timers.turns - before >= 8, `${world.timers.turns - before} turns`);
  assert.equal(read(store, "shared/a"), "17599");
  assert.equal(store.index, 17_601n);
});
