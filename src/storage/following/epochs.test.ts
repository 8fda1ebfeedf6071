// A new epoch: one entry with its record, head and timeline in one transaction, and no other way to get there.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import {
  assertSameRows,
  catchUp,
  followerOf,
  sent,
} from "../../../tests/support/stores/followed-store.ts";
import {
  bytes,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { afterPowerCut, RecordedEngine } from "../../../tests/support/stores/recorded-engine.ts";
import { tamper, WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { hex } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { MemoryDisk, MemoryEngine } from "../engines/memory.ts";
import { decodeEpochStart, EPOCH_START, epochStart } from "../rows/epoch.ts";
import { encodeTimeline, HEAD_ROW, type Timeline, TIMELINE_ROW } from "../rows/head.ts";
import {
  chainEntry,
  type ControlRecord,
  CORE_SCOPE,
  decodeEntry,
  encodeEntry,
  type LogEntry,
} from "../rows/log-entry.ts";
import { sha256 } from "../rows/merkle.ts";
import { MalformedBytes } from "../rows/row-bytes.ts";
import type { Store } from "../store.ts";
import { UNREAD_CONTROLS } from "./control-records.ts";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function put(store: Store, key: string, value = "1"): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value)));
}

test("an epoch starts with one entry, and head and timeline say so from the same commit on", async () => {
  const { store, engine } = await madeStore();
  await put(store, "shared/a");
  const before = store.head!;
  engine.batches.length = 0;
  await store.startEpoch("cluster-b");
  assert.equal(engine.batches.length, 1);
  const names = engine.batches[0]!.meta.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), [HEAD_ROW, TIMELINE_ROW]);
  assert.equal(store.head!.epoch, 2);
  assert.equal(store.index, 2n);
  assert.deepEqual(store.timeline!.epochs.slice(1), [
    { epoch: 2, first: "2", chain: hex(before.chain), cluster: "cluster-b" },
  ]);
  const entry = decodeEntry(engine.logs(2n, 1)[0]!.entry);
  assert.equal(entry.epoch, 2);
  assert.equal(decodeEpochStart(entry.control!.body), "cluster-b");
  await put(store, "shared/b");
  assert.equal(decodeEntry(engine.logs(3n, 1)[0]!.entry).epoch, 2);
  assert.ok((await store.check()).ok);
});

test("only a store that leads and is unlocked starts one, and nobody else makes its record", async () => {
  const { store } = await madeStore();
  await store.lock();
  await assert.rejects(store.startEpoch("b"), refused("store-locked"));
  store.unlock(TREE_KEY);
  await store.follow();
  await assert.rejects(store.startEpoch("b"), refused("store-following"));
  await store.lead();
  await assert.rejects(
    store.write((tx) => tx.control(epochStart("b"))),
    /an entry of its own/,
  );
  await assert.rejects(
    store.mend(() => ({
      leaves: [],
      sums: new Map(),
      meta: new Map([[TIMELINE_ROW, bytes("{}")]]),
    })),
  );
});

test("ids of clusters that do not fit are refused before anything is written", async () => {
  const { store } = await madeStore();
  for (const cluster of ["", "x".repeat(257), "\ud800"]) {
    await assert.rejects(store.startEpoch(cluster));
  }
  assert.equal(store.head!.epoch, 1);
  await store.startEpoch("x".repeat(256));
  assert.equal(store.head!.epoch, 2);
});

test("a timeline of another log is not continued", async () => {
  const { store, engine } = await madeStore();
  const timeline = { ...store.timeline!, lineage: "00000000-0000-0000-0000-000000000000" };
  await tamper(engine.inner, { meta: [{ name: TIMELINE_ROW, value: encodeTimeline(timeline) }] });
  await assert.rejects(store.startEpoch("b"), refused("storage-head-damaged"));
  assert.equal(store.index, 0n);
  await put(store, "shared/a");
});

test("who follows takes epochs over with their timeline, several in one group, locked or not", async () => {
  for (const locked of [true, false]) {
    const leader = await madeStore();
    await put(leader.store, "shared/a");
    const follower = await followerOf(leader.engine);
    if (!locked) follower.store.unlock(TREE_KEY);
    // Accepted before the first is durable.
    await Promise.all([
      leader.store.startEpoch("b"),
      put(leader.store, "shared/b"),
      leader.store.startEpoch("c"),
      leader.store.startEpoch("d"),
    ]);
    await catchUp(follower, leader.engine);
    assertSameRows(follower.engine, leader.engine);
    assert.equal(follower.store.timeline!.epochs.length, 4);
    assert.deepEqual(follower.store.keys(UNREAD_CONTROLS, { limit: 1 }), []);
    await leader.store.startEpoch("e");
    await leader.store.startEpoch("f");
    // One by one, the second before the first is durable here.
    const entries = sent(leader.engine, follower.store.index + 1n);
    if (!locked) await Promise.all(entries.map((entry) => follower.store.apply([entry])));
    else await catchUp(follower, leader.engine);
    assertSameRows(follower.engine, leader.engine);
    if (locked) follower.store.unlock(TREE_KEY);
    assert.ok((await follower.store.check()).ok);
    await follower.store.lead();
    await follower.store.startEpoch("g");
    assert.equal(follower.store.head!.epoch, 7);
  }
});

test("a node on the same storage takes the epoch up, and starts the next one when it leads", async () => {
  const disk = new MemoryDisk();
  const leader = await madeStore(new MemoryEngine(disk));
  const follower = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  await follower.store.follow();
  follower.store.unlock(TREE_KEY);
  await leader.store.startEpoch("b");
  await nextTurn();
  assert.deepEqual(follower.store.head, leader.store.head);
  await leader.store.close();
  await follower.store.lead();
  await follower.store.startEpoch("c");
  assert.deepEqual(
    follower.store.timeline!.epochs.map(({ cluster }) => cluster),
    ["test", "b", "c"],
  );
});

/** The entry after the last one, as somebody would forge it: chained as it should be. */
function next({ store, world }: MadeStore, change: Partial<LogEntry>): Uint8Array {
  const { epoch, index, chain } = store.head!;
  const draft = {
    epoch,
    index: index + 1n,
    time: world.clock.now(),
    operations: [],
    control: null,
    ...change,
  };
  return encodeEntry(chainEntry(draft, chain));
}

test("another epoch is a fork unless it is the next one and comes with its record alone", async () => {
  const leader = await madeStore();
  await put(leader.store, "shared/a");
  await leader.store.startEpoch("b");
  const follower = await followerOf(leader.engine);
  follower.store.unlock(TREE_KEY);
  follower.store.onControl(1, () => () => {});
  const start = epochStart("c");
  const value = bytes("v");
  const operation = {
    class: "shared" as const,
    scope: CORE_SCOPE,
    key: "shared/x",
    value,
    valueDigest: sha256(value),
  };
  const body = (...part: number[]): ControlRecord => ({
    type: EPOCH_START,
    body: Uint8Array.from(part),
  });
  const forged: Partial<LogEntry>[] = [
    { epoch: 3 },
    { epoch: 3, operations: [operation] },
    { epoch: 3, control: { type: 1, body: start.body } },
    { epoch: 3, control: start, operations: [operation] },
    { epoch: 2, control: start },
    { epoch: 1, control: start },
    { epoch: 1, operations: [operation] },
    { epoch: 4, control: start },
    { epoch: 3, control: body() },
    { epoch: 3, control: body(1, 0, 0) },
    { epoch: 3, control: body(2, 0, 1, 99) },
    { epoch: 3, control: body(1, 0, 2, 99) },
    { epoch: 3, control: body(1, 0, 1, 99, 99) },
    { epoch: 3, control: body(1, 0, 1, 255) },
  ];
  for (const change of forged) {
    const entry = next(follower, change);
    await assert.rejects(follower.store.apply([{ entry }]), refused("log-forked"));
  }
  assert.equal(follower.store.index, 2n);
  assert.equal(follower.store.timeline!.epochs.length, 2);
  await follower.store.apply([{ entry: next(follower, { epoch: 3, control: start }) }]);
  assert.equal(follower.store.timeline!.epochs[2]!.cluster, "c");
});

test("the power fails after any commit: epoch and timeline are both there or neither", async () => {
  const recorded = new RecordedEngine();
  const leader = await madeStore(recorded);
  const copied = new RecordedEngine();
  const follower = await followerOf(leader.engine, copied);
  follower.store.unlock(TREE_KEY);
  for (let i = 0; i < 6; i++) {
    if (i % 2 === 0) await leader.store.startEpoch(`cluster-${i}`);
    else await put(leader.store, `shared/${i}`);
    await catchUp(follower, leader.engine);
  }
  assert.ok(recorded.moments.length >= 7 && copied.moments.length >= 7);
  for (const moment of [...recorded.moments, ...copied.moments]) {
    const { store } = afterPowerCut(moment);
    store.unlock(TREE_KEY);
    assert.equal(store.timeline!.epochs.at(-1)!.epoch, store.head!.epoch);
    assert.ok((await store.check()).ok);
    await store.startEpoch("again");
    assert.ok((await store.check()).ok);
  }
});

test("the check tells a timeline that is not that of head and log", async () => {
  const { store, engine } = await madeStore();
  await put(store, "shared/a");
  await store.startEpoch("b");
  await put(store, "shared/b");
  await store.startEpoch("c");
  const right = store.timeline!;
  const [first, second, third] = right.epochs as [Epoch, Epoch, Epoch];
  type Epoch = Timeline["epochs"][number];
  const wrong: (Timeline | null)[] = [
    null,
    { ...right, epochs: [] },
    { ...right, epochs: [first, second] },
    { ...right, epochs: [first, third] },
    { ...right, epochs: [first, second, third, { ...third, epoch: 4 }] },
    { ...right, epochs: [first, { ...second, first: "3" }, third] },
    { ...right, epochs: [first, second, { ...third, first: "5" }] },
    { ...right, epochs: [first, { ...second, chain: third.chain }, third] },
    { ...right, epochs: [first, { ...second, cluster: "x" }, third] },
    { ...right, epochs: [{ ...first, epoch: 0 }, second, third] },
    { ...right, lineage: "00000000-0000-0000-0000-000000000000" },
  ];
  for (const timeline of wrong) {
    const value = timeline === null ? null : encodeTimeline(timeline);
    await tamper(engine.inner, { meta: [{ name: TIMELINE_ROW, value }] });
    const report = await store.check();
    assert.deepEqual([report.ok, report.timelineFits], [false, false], JSON.stringify(timeline));
  }
  await tamper(engine.inner, { meta: [{ name: TIMELINE_ROW, value: encodeTimeline(right) }] });
  assert.ok((await store.check()).ok);
});

test("T-K05: whatever comes as an entry or a control record is read or refused, and never more", async () => {
  const leader = await madeStore();
  await put(leader.store, "shared/a", "some value");
  await leader.store.startEpoch("b");
  const real = leader.engine.logs(1n, 9).map(({ entry }) => entry);
  const damaged = fc
    .record({
      entry: fc.constantFrom(...real),
      flips: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 4 }),
      length: fc.option(fc.nat()),
      more: fc.uint8Array({ maxLength: 4 }),
    })
    .map(({ entry, flips, length, more }) => {
      const changed = Buffer.concat([entry, more]);
      for (const [at, by] of flips) changed[at % changed.length]! ^= by;
      return new Uint8Array(length === null ? changed : changed.subarray(0, length % 400));
    });
  const anything = fc.oneof(damaged, fc.uint8Array({ maxLength: 300 }));
  const malformedOr = (decode: () => unknown) => {
    try {
      decode();
    } catch (error) {
      assert.ok(error instanceof MalformedBytes, String(error));
    }
  };
  fc.assert(
    fc.property(anything, (input) => {
      malformedOr(() => assert.deepEqual(encodeEntry(decodeEntry(input)), Buffer.from(input)));
      malformedOr(() => {
        assert.deepEqual(epochStart(decodeEpochStart(input)).body, Buffer.from(input));
      });
    }),
    { numRuns: 5000 },
  );
  const follower = await followerOf((await madeStore()).engine);
  follower.store.unlock(TREE_KEY);
  await fc.assert(
    fc.asyncProperty(anything, async (entry) => {
      if (real.some((known) => Buffer.compare(known, entry) === 0)) return;
      await assert.rejects(follower.store.apply([{ entry }]), (error) => error instanceof Failure);
      assert.equal(follower.store.index, 0n);
    }),
    { numRuns: 500 },
  );
  await follower.store.apply(real.map((entry) => ({ entry })));
});
