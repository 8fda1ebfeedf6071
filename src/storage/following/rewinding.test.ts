// A tail of the own log that another cluster never had is given up: the keys that it changed get that cluster's values,
// the log is cut and the head goes back, at once or not at all.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { anchorOf, rowsAt } from "../../../tests/support/stores/adopted-store.ts";
import { assertSameRows, followerOf, sent } from "../../../tests/support/stores/followed-store.ts";
import {
  bytes,
  type MadeStore,
  madeStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { afterPowerCut, RecordedEngine } from "../../../tests/support/stores/recorded-engine.ts";
import { WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { NOTHING } from "../commit/acceptance.ts";
import { Committer } from "../commit/committer.ts";
import { encodeHead, HEAD_ROW } from "../rows/head.ts";
import { SYNC_ROW } from "../rows/sync.ts";
import type { Store, Surplus } from "../store.ts";
import { trimLog } from "../trimming.ts";
import { UNREAD_CONTROLS } from "./control-records.ts";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function put(store: Store, key: string, value = "1", scope = 0): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value), Buffer.alloc(16, scope)));
}

interface Forked {
  /** Was the leader, and has written since; it follows now. */
  readonly old: MadeStore;
  readonly next: MadeStore;
  readonly fork: bigint;
}

/** Two clusters that have both written after the fork. */
async function forked(inner?: RecordedEngine): Promise<Forked> {
  const old = await madeStore(inner);
  await put(old.store, "shared/a", "1");
  await put(old.store, "local/a", "1");
  const next = await takenOver(old);
  const fork = old.store.index;
  await put(old.store, "shared/a", "lost", 3);
  await old.store.startEpoch("lost");
  await put(old.store, "shared/lost");
  await old.store.write((tx) => tx.delete("local/a"));
  await put(next.store, "shared/b");
  await old.store.follow();
  return { old, next, fork };
}

async function takenOver(old: MadeStore): Promise<MadeStore> {
  const next = await followerOf(old.engine);
  next.store.unlock(TREE_KEY);
  await next.store.lead();
  await next.store.startEpoch("next");
  return next;
}

async function rewindAll(
  store: Store,
  surplus: Surplus,
  next: MadeStore,
  size = 99,
): Promise<void> {
  const done = () => surplus.keys.indexOf(store.adopting?.cursor ?? "") + 1;
  const left = surplus.keys.slice(done());
  do await store.rewind(surplus, rowsAt(next.engine, left.splice(0, size)));
  while (left.length > 0);
}

async function assertSame({ old, next }: Pick<Forked, "old" | "next">): Promise<void> {
  assertSameRows(old.engine, next.engine);
  assert.equal(old.engine.meta(SYNC_ROW), null);
  assert.deepEqual(old.store.differsFrom(next.engine.meta(HEAD_ROW)!), []);
  const report = await old.store.check();
  assert.deepEqual([report.ok, report.halfAdopted], [true, false]);
}

test("the entries above the fork are given up in one transaction, and the other log goes on there", async () => {
  const { old, next, fork } = await forked();
  const { store, engine } = old;
  const kept = store.logs(1n, 2);
  const surplus = await store.surplus(fork);
  assert.deepEqual(surplus.keys, ["local/a", "shared/a", "shared/lost"]);
  assert.equal(store.logs(fork + 1n, 99).length, 4, "they are still there to be kept");
  engine.batches.length = 0;
  await store.rewind(surplus, rowsAt(next.engine, surplus.keys));
  assert.equal(engine.batches.length, 1);
  assert.equal(store.index, fork);
  assert.equal(store.head!.epoch, 1);
  assert.equal(store.timeline!.epochs.length, 1);
  assert.deepEqual(store.logs(0n, 99), kept);
  assert.equal(store.head!.lastPerf, 1n);
  assert.ok((await store.check()).ok);
  await store.apply(sent(next.engine, fork + 1n), next.engine.meta(HEAD_ROW));
  await assertSame({ old, next });
  assert.deepEqual(
    store.timeline!.epochs.map(({ cluster }) => cluster),
    ["test", "next"],
  );
});

test("caches and watchers hear of what a rewind changes", async () => {
  const { old, next, fork } = await forked();
  const heard: string[] = [];
  old.store.onForeign((keys) => heard.push(keys.join()));
  old.store.watch("shared/", ({ keys }) => heard.push(keys.join()));
  const surplus = await old.store.surplus(fork);
  await rewindAll(old.store, surplus, next);
  assert.deepEqual(heard, ["local/a,shared/a,shared/lost", "shared/a,shared/lost"]);
});

test("nothing is rewound but to an entry of the log, with exactly the keys that were changed since", async () => {
  const { old, next, fork } = await forked();
  const { store, engine } = old;
  await trimLog(store, old.world, { minEntries: 5n });
  for (const wrong of [0n, store.index, store.index + 1n]) {
    await assert.rejects(store.surplus(wrong), refused("log-rewind-refused"));
  }
  const surplus = await store.surplus(fork);
  const rows = rowsAt(next.engine, surplus.keys);
  const before = engine.meta(HEAD_ROW);
  const surplusRow = rowsAt(next.engine, ["shared/b"]);
  for (const wrong of [rows.slice(1), [...rows, ...surplusRow], rows.toReversed(), surplusRow]) {
    await assert.rejects(store.rewind(surplus, wrong), refused("adoption-row-refused"));
  }
  await assert.rejects(next.store.rewind(surplus, rows), refused("store-leading"));
  await store.lock();
  await assert.rejects(store.rewind(surplus, rows), refused("store-locked"));
  store.unlock(TREE_KEY);
  assert.deepEqual(engine.meta(HEAD_ROW), before);
  // The log has gone on, or has been trimmed, since it was looked at.
  await store.lead();
  await put(store, "shared/more");
  await store.follow();
  await assert.rejects(store.rewind(surplus, rows), refused("log-rewind-refused"));
  const later = await store.surplus(fork);
  await trimLog(store, old.world, { minEntries: 1n });
  const all = rowsAt(next.engine, later.keys);
  await assert.rejects(store.rewind(later, all), refused("log-rewind-refused"));
  assert.ok((await store.check()).ok);
});

test("a log that begins right after the fork is rewound to its tail", async () => {
  const { old, next, fork } = await forked();
  await trimLog(old.store, old.world, { minEntries: 4n });
  assert.equal(old.store.tail!.first, fork + 1n);
  await rewindAll(old.store, await old.store.surplus(fork), next);
  assert.equal(old.engine.lastLog(), null);
  assert.ok((await old.store.check()).ok);
  await old.store.apply(sent(next.engine, fork + 1n));
  assert.ok((await old.store.check()).ok);
  assert.deepEqual(old.store.differsFrom(next.engine.meta(HEAD_ROW)!), []);
});

test("many keys come in several transactions, the log stays until the last, and another copy may take its place", async () => {
  const { old, next, fork } = await forked();
  const { store } = old;
  const log = store.logs(0n, 99);
  const surplus = await store.surplus(fork);
  await store.rewind(surplus, rowsAt(next.engine, surplus.keys.slice(0, 1)));
  assert.deepEqual(store.logs(0n, 99), log);
  assert.deepEqual([store.adopting!.kind, store.adopting!.cursor], ["rewind", "local/a"]);
  await store.rewind(surplus, []);
  assert.deepEqual(store.adopting!.cursor, "local/a");
  await assert.rejects(store.lead(), refused("store-half-adopted"));
  await assert.rejects(store.adopt([], "x"), refused("adoption-not-begun"));
  await assert.rejects(store.finishAdopting(), refused("adoption-not-begun"));
  const earlier = await store.surplus(fork - 1n);
  await assert.rejects(store.rewind(earlier, []), refused("store-half-adopted"));
  await store.beginAdopting(anchorOf(next));
  await assert.rejects(store.rewind(surplus, []), refused("store-half-adopted"));
});

test("control records of entries that are given up are not read any more", async () => {
  const { old, next, fork } = await forked();
  const { store } = old;
  const row = (index: bigint) => UNREAD_CONTROLS + index.toString(16).padStart(16, "0");
  await store.write((tx) => {
    tx.put(row(fork), bytes("stays"));
    tx.put(row(fork + 1n), bytes("goes"));
    tx.put("core/d", bytes("stays"));
  });
  await rewindAll(store, await store.surplus(fork), next);
  assert.deepEqual(store.keys("core/", { limit: 9 }), [row(fork), "core/d"]);
});

test("nothing is applied or trimmed until the rewind is durable", async () => {
  const { old, next, fork } = await forked();
  const { store, engine } = old;
  const surplus = await store.surplus(fork);
  const tail = store.tail!;
  const release = engine.hold();
  const rewound = rewindAll(store, surplus, next);
  await nextTurn();
  const attempts = [
    store.apply(sent(next.engine, fork + 1n)),
    store.trim(tail),
    store.rewind(surplus, []),
  ].map((attempt) => assert.rejects(attempt, refused("store-half-adopted")));
  release();
  await Promise.all([rewound, ...attempts]);
  await store.apply(sent(next.engine, fork + 1n));
  await assertSame({ old, next });
});

test("what is cut off is never among what the same commit appends", async () => {
  const engine = new WatchedEngine();
  const { clock } = fakeWorld();
  const committer = new Committer(engine, clock, null, {
    encodeHead: () => assert.fail("no head moves"),
    durable: () => {},
    moved: () => false,
    failed: (cause) => assert.fail(String(cause)),
  });
  const row = (index: bigint, word: string) => ({ index, entry: bytes(`${word} ${index}`) });
  committer.push({
    ...NOTHING,
    sequence: 1,
    log: [row(4n, "old"), row(5n, "old"), row(6n, "old")],
  });
  committer.push({ ...NOTHING, sequence: 2, cutLogAbove: 4n, log: [row(5n, "new")] });
  await committer.settled();
  const left = engine.logs(0n, 9).map(({ entry }) => text(entry));
  assert.deepEqual(left, ["old 4", "new 5"]);
});

test("heads are compared at the same index: position, chain and totals, not what was shared last", async () => {
  const leader = await madeStore();
  await put(leader.store, "shared/a");
  await put(leader.store, "local/a");
  const { store } = leader;
  const head = store.head!;
  const none = { sum: new Uint8Array(32), count: 0 };
  const differs = (change: Partial<typeof head>) =>
    store.differsFrom(encodeHead({ ...head, ...change }, TREE_KEY)).join();
  assert.equal(differs({}), "");
  assert.equal(differs({ lastPerf: 0n, logBytes: 0n }), "");
  assert.equal(differs({ index: 9n, chain: Buffer.alloc(32) }), "index");
  assert.equal(differs({ chain: Buffer.alloc(32) }), "chain");
  assert.equal(differs({ lineage: Buffer.alloc(16), epoch: 4 }), "lineage,epoch");
  assert.equal(differs({ shared: none, local: none }), "shared,local");
  assert.equal(differs({ local: { ...head.local, count: 7 } }), "local");
  const bad = Buffer.from(leader.engine.meta(HEAD_ROW)!);
  bad[40]! ^= 1;
  assert.throws(() => store.differsFrom(bad), refused("adoption-anchor-refused"));
  assert.throws(() => store.differsFrom(bytes("x")), refused("adoption-anchor-refused"));
  await store.lock();
  assert.deepEqual(store.differsFrom(leader.engine.meta(HEAD_ROW)!), []);
});

// --- at random ---

const key = fc.constantFrom("shared/a", "shared/b", "shared/b/c", "local/a", "local/b");
const write = fc.record({
  key,
  value: fc.option(fc.string({ maxLength: 4 }), { freq: 3 }),
  scope: fc.nat({ max: 3 }),
});
type Step = "epoch" | { key: string; value: string | null; scope: number };
const history = (minLength: number): fc.Arbitrary<Step[]> =>
  fc.array(fc.oneof({ weight: 6, arbitrary: write }, fc.constant("epoch" as const)), {
    minLength,
    maxLength: 8,
  });

async function run(store: Store, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (step === "epoch") await store.startEpoch("another");
    else {
      await store.write((tx) => {
        if (step.value === null) tx.delete(step.key);
        else tx.put(step.key, bytes(step.value), Buffer.alloc(16, step.scope));
      });
    }
  }
}

test("after a rewind and the other log both hold the same; a power cut leaves the whole tail or none of it", async () => {
  await fc.assert(
    fc.asyncProperty(
      history(0),
      history(1),
      history(0),
      fc.integer({ min: 1, max: 5 }),
      fc.nat({ max: 8 }),
      async (common, lost, theirs, size, trimmed) => {
        const recorded = new RecordedEngine();
        const old = await madeStore(recorded);
        await run(old.store, common);
        const fork = old.store.index;
        const next = await takenOver(old);
        await run(old.store, lost);
        await run(next.store, theirs);
        await old.store.follow();
        fc.pre(old.store.index > fork); // what deletes nothing makes no entry
        const minEntries = old.store.index - fork + BigInt(trimmed);
        await trimLog(old.store, old.world, { minEntries });
        const last = old.store.index;
        recorded.moments.length = 0;
        await rewindAll(old.store, await old.store.surplus(fork), next, size);
        const [head, right] = [old.store.head!, next.store.head!];
        assert.deepEqual([head.index, head.lineage], [fork, right.lineage]);
        for (const moment of recorded.moments) {
          const found = afterPowerCut(moment);
          const { store } = found;
          store.unlock(TREE_KEY);
          assert.ok((await store.check()).ok);
          assert.equal(store.following, store.adopting !== null);
          await store.follow();
          if (store.adopting !== null) {
            assert.deepEqual([store.index, found.engine.lastLog()], [last, last]);
            await rewindAll(store, await store.surplus(fork), next, size);
          }
          assert.equal(store.index, fork);
          await store.apply(sent(next.engine, fork + 1n));
          await assertSame({ old: found, next });
        }
      },
    ),
    { numRuns: 40 },
  );
});
