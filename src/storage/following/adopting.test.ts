// Another cluster's state is taken over in chunks, and after the entries that follow it is that state, byte for byte:
// whatever was here before, whatever is written there meanwhile, and wherever the power fails.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import fc from "fast-check";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import {
  adoptRest,
  anchorOf,
  keysAfter,
  rowsAt,
} from "../../../tests/support/stores/adopted-store.ts";
import {
  assertSameRows,
  catchUp,
  followerOf,
  sent,
} from "../../../tests/support/stores/followed-store.ts";
import {
  bytes,
  IDENTITY,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { afterPowerCut, RecordedEngine } from "../../../tests/support/stores/recorded-engine.ts";
import { tamper, WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { MemoryDisk, MemoryEngine } from "../engines/memory.ts";
import { encodeHead, HEAD_ROW, TAIL_ROW, TIMELINE_ROW } from "../rows/head.ts";
import { decodeSync, encodeSync, SYNC_ROW } from "../rows/sync.ts";
import { MalformedBytes } from "../rows/row-bytes.ts";
import type { Store } from "../store.ts";
import { Trimmer, trimLog } from "../trimming.ts";

const ZERO = new Uint8Array(16);

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function put(store: Store, key: string, value = "1", scope = 0): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value), Buffer.alloc(16, scope)));
}

/** A store of another lineage, with rows and a log of its own, that follows and is unlocked. */
async function stranger(inner?: RecordedEngine, entries = 6): Promise<MadeStore> {
  const opened = openedStore(new WatchedEngine(inner));
  const lineage = Buffer.alloc(16, 0xee);
  await opened.store.create(TREE_KEY, { lineage, cluster: "elsewhere" }, () => {});
  for (let i = 0; i < entries; i++) {
    await put(opened.store, `shared/${i % 4}`, `own ${i}`);
    await put(opened.store, `local/own/${i}`);
  }
  await opened.store.write((tx) => tx.put("core/node", bytes("stays")));
  await opened.store.follow();
  return opened;
}

async function leading(entries = 10): Promise<MadeStore> {
  const leader = await madeStore();
  for (let i = 0; i < entries; i++) await put(leader.store, `shared/${i % 5}`, `s${i}`, i);
  await leader.store.startEpoch("second");
  await put(leader.store, "local/a", "l");
  return leader;
}

async function assertWhole(follower: MadeStore, leader: MadeStore): Promise<void> {
  assertSameRows(follower.engine, leader.engine);
  assert.equal(follower.engine.meta(SYNC_ROW), null);
  assert.equal(follower.store.adopting, null);
  assert.deepEqual(follower.store.differsFrom(leader.engine.meta(HEAD_ROW)!), []);
  const report = await follower.store.check();
  assert.deepEqual([report.ok, report.halfAdopted], [true, false]);
  assert.equal(
    follower.store.head!.logBytes - follower.store.tail!.logBytesBefore,
    follower.engine.logs(0n, Infinity).reduce((sum, { entry }) => sum + BigInt(entry.length), 0n),
  );
}

test("what another cluster holds is taken over in chunks, and its log goes on after the anchor", async () => {
  const leader = await leading();
  const follower = await stranger();
  const { store, engine } = follower;
  const anchor = anchorOf(leader);
  engine.batches.length = 0;
  await store.beginAdopting(anchor);
  assert.equal(store.adopting!.cursor, "");
  await adoptRest(follower, leader.engine);
  assert.equal(store.index, leader.store.index);
  assert.deepEqual(store.tail, {
    first: leader.store.index + 1n,
    chainBefore: Buffer.from(leader.store.head!.chain),
    logBytesBefore: leader.store.head!.logBytes,
  });
  assert.equal(engine.lastLog(), null);
  assert.equal(text(store.get("core/node")!), "stays", "its own rows stay");
  await assertWhole(follower, leader);
  // Everything of a chunk is one commit, and so is the end.
  const chunks = engine.batches.filter(({ data }) => data.length > 0);
  for (const { meta, leaves, sums } of chunks) {
    assert.deepEqual(meta.map(({ name }) => name).toSorted(), [HEAD_ROW, SYNC_ROW]);
    assert.ok(leaves.length > 0 && sums.length > 0);
  }
  const ends = engine.batches.at(-1)!.meta.map(({ name }) => name);
  assert.deepEqual(ends.toSorted(), [HEAD_ROW, SYNC_ROW, TAIL_ROW, TIMELINE_ROW]);
  // And it goes on: entries are applied, and it may lead.
  await put(leader.store, "shared/later");
  await catchUp(follower, leader.engine);
  await assertWhole(follower, leader);
  await store.lead();
  await store.startEpoch("third");
  assert.ok((await store.check()).ok);
});

test("a large log is given up in small parts before the end", async () => {
  const leader = await leading();
  const follower = await stranger(undefined, 0);
  const { store, engine } = follower;
  await store.lead();
  for (let i = 0; i < 5; i++) {
    await store.write((tx) => tx.put(`shared/large/${i}`, new Uint8Array(700_000).fill(i)));
  }
  await store.follow();
  await store.beginAdopting(anchorOf(leader));
  await adoptRest(follower, leader.engine);
  const parts = engine.batches.filter(({ trimLogBelow }) => trimLogBelow !== null);
  assert.ok(parts.length >= 2);
  for (const { meta } of parts)
    assert.deepEqual(
      meta.map(({ name }) => name),
      [TAIL_ROW],
    );
  await assertWhole(follower, leader);
});

test("the totals that were expected must be there before anything of the own log goes", async () => {
  const leader = await leading();
  const follower = await stranger();
  const { store } = follower;
  await store.beginAdopting(anchorOf(leader));
  const log = store.logs(0n, 100);
  await assert.rejects(store.finishAdopting(leader.store.head), refused("log-trees-differ"));
  assert.deepEqual(store.logs(0n, 100), log);
  assert.ok(store.adopting !== null);
  for (const key of keysAfter("", leader.engine, follower.engine)) {
    await store.adopt(rowsAt(leader.engine, [key]), key);
  }
  await store.finishAdopting(leader.store.head);
  await assertWhole(follower, leader);
});

test("while it is half done the store applies, leads, trims and is copied not at all, also after a restart", async () => {
  const leader = await leading();
  const inner = new RecordedEngine();
  const follower = await stranger(inner);
  await follower.store.beginAdopting(anchorOf(leader));
  const [first] = keysAfter("", leader.engine, follower.engine);
  await follower.store.adopt(rowsAt(leader.engine, [first!]), first!);
  const again = afterPowerCut(inner.moments.at(-1)!);
  again.store.unlock(TREE_KEY);
  for (const { store, world } of [follower, again]) {
    assert.ok(store.following, "it follows from the start");
    assert.deepEqual(store.adopting!.cursor, first);
    await assert.rejects(store.lead(), refused("store-half-adopted"));
    assert.ok(store.following);
    await assert.rejects(store.apply(sent(leader.engine, 1n, 1)), refused("store-half-adopted"));
    const half = refused("store-half-adopted");
    await assert.rejects(trimLog(store, world, { minEntries: 0n }), half);
    assert.throws(() => store.snapshot(), half);
    await assert.rejects(put(store, "shared/x"), refused("store-following"));
    await store.write((tx) => tx.put("core/own", bytes("1")));
    const report = await store.check();
    assert.deepEqual([report.ok, report.halfAdopted], [true, true]);
    const log = store.logs(0n, 100);
    const troubles: string[] = [];
    const listening = { ...world.log, error: (message: string) => void troubles.push(message) };
    const retention = () => ({ minEntries: 0n });
    const trimmer = new Trimmer({ store, ...world, log: listening, retention });
    trimmer.open();
    await nextTurn();
    await trimmer.close();
    assert.deepEqual(troubles, []);
    assert.deepEqual(store.logs(0n, 100), log);
  }
  await adoptRest(again, leader.engine);
  await assertWhole(again, leader);
  await again.store.lead();
});

test("only a store that follows and is unlocked takes anything over", async () => {
  const leader = await leading();
  const anchor = anchorOf(leader);
  const follower = await stranger();
  const { store } = follower;
  await assert.rejects(store.adopt([], ""), refused("adoption-not-begun"));
  await assert.rejects(store.finishAdopting(), refused("adoption-not-begun"));
  await assert.rejects(leader.store.beginAdopting(anchor), refused("store-leading"));
  await store.lock();
  await assert.rejects(store.beginAdopting(anchor), refused("store-locked"));
  store.unlock(TREE_KEY);
  await store.beginAdopting(anchor);
  await store.lock();
  await assert.rejects(store.adopt([], "x"), refused("store-locked"));
  await assert.rejects(store.finishAdopting(), refused("store-locked"));
  store.unlock(TREE_KEY);
  await adoptRest(follower, leader.engine);
  await assertWhole(follower, leader);
});

test("anchors that were not made with the key, or whose timeline is another one, are refused", async () => {
  const leader = await leading();
  const { head, timeline } = anchorOf(leader);
  const { store, engine } = await stranger();
  const other = encodeHead(leader.store.head!, createSecretKey(Buffer.alloc(32, 8)));
  const wrong = [
    { head: other, timeline },
    { head: head.subarray(1), timeline },
    { head: new Uint8Array(0), timeline },
    { head, timeline: store.timeline! },
    { head, timeline: { ...timeline, epochs: timeline.epochs.slice(0, 1) } },
    { head, timeline: { ...timeline, epochs: [] } },
  ];
  for (const anchor of wrong) {
    await assert.rejects(store.beginAdopting(anchor), refused("adoption-anchor-refused"));
  }
  assert.equal(engine.meta(SYNC_ROW), null);
  await store.beginAdopting({ head, timeline });
  // Somebody with the disk has put another one there: it is not believed.
  const forged = encodeSync({ ...store.adopting!, head: other });
  await tamper(engine.inner, { meta: [{ name: SYNC_ROW, value: forged }] });
  const again = openedStore(new WatchedEngine(engine.inner));
  again.store.unlock(TREE_KEY);
  await assert.rejects(again.store.finishAdopting(), refused("adoption-anchor-refused"));
});

test("rows of the cluster's own, of no class or of no form are refused with their chunk", async () => {
  const leader = await leading();
  const { store, engine, world } = await stranger();
  await store.beginAdopting(anchorOf(leader));
  const before = engine.meta(HEAD_ROW);
  const fine = { key: "shared/fine", scope: ZERO, value: bytes("1") };
  for (const wrong of [
    { ...fine, key: "core/seal" },
    { ...fine, key: "core/seal", value: null },
    { ...fine, key: "other/a" },
    { ...fine, key: "shared//a" },
    { ...fine, key: "shared/\u0000" },
    { ...fine, key: "" },
    { ...fine, scope: new Uint8Array(15) },
  ]) {
    await assert.rejects(store.adopt([fine, wrong], "c"), refused("adoption-row-refused"));
  }
  const many = Array.from({ length: 8193 }, (_, i) => ({ ...fine, key: `shared/m/${i}` }));
  await assert.rejects(store.adopt(many, "c"), refused("log-group-too-large"));
  engine.free = 0;
  world.clock.pass(1_000_000_000n);
  await assert.rejects(store.adopt([fine], "c"), refused("storage-full"));
  assert.deepEqual(engine.meta(HEAD_ROW), before);
  assert.equal(store.adopting!.cursor, "");
});

test("caches and watchers hear of adopted keys as of commits of others, and of the index at the end", async () => {
  const leader = await leading();
  const follower = await stranger(undefined, 2);
  const { store } = follower;
  const heard: string[] = [];
  const note = (who: string) => (keys: Iterable<string>) =>
    heard.push(`${who} ${[...keys].join()}`);
  store.onCommit((changed) => note("cache")(changed.keys()));
  store.onForeign(note("foreign"));
  store.watch("shared/", ({ keys }) => note("watcher")(keys));
  store.onIndex(leader.store.index, () => heard.push("index"));
  await store.beginAdopting(anchorOf(leader));
  heard.length = 0;
  await store.adopt(rowsAt(leader.engine, ["local/a", "shared/0"]), "shared/0");
  const keys = "local/a,shared/0";
  assert.deepEqual(heard, [`cache ${keys}`, `foreign ${keys}`, "watcher shared/0"]);
  await adoptRest(follower, leader.engine);
  assert.equal(heard.at(-1), "index");
});

test("another anchor begins anew; what was taken over before stays until something takes its place", async () => {
  const leader = await leading();
  const follower = await stranger();
  const { store } = follower;
  await store.beginAdopting(anchorOf(leader));
  await store.adopt(rowsAt(leader.engine, ["shared/0"]), "shared/0");
  await put(leader.store, "shared/0", "later");
  await store.beginAdopting(anchorOf(leader));
  assert.equal(store.adopting!.cursor, "");
  await adoptRest(follower, leader.engine);
  await assertWhole(follower, leader);
});

test("nothing else is taken until the end is durable", async () => {
  const leader = await leading();
  const follower = await stranger(undefined, 0);
  const { store, engine } = follower;
  await store.beginAdopting(anchorOf(leader));
  for (const name of keysAfter("", leader.engine, engine)) {
    await store.adopt(rowsAt(leader.engine, [name]), name);
  }
  const tail = store.tail!;
  const release = engine.hold();
  const finished = store.finishAdopting();
  while (engine.batches.at(-1)!.cutLogAbove === null) await nextTurn();
  const attempts = [
    store.apply(sent(leader.engine, 1n, 1)),
    store.adopt([], "x"),
    store.finishAdopting(),
    store.trim(tail),
  ].map((attempt) => assert.rejects(attempt, refused("store-half-adopted")));
  release();
  await Promise.all([finished, ...attempts]);
  await assertWhole(follower, leader);
});

test("a node on the same storage follows what is taken over there, and does not lead a half", async () => {
  const leader = await leading();
  const disk = new MemoryDisk();
  const active = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  await active.store.create(TREE_KEY, { ...IDENTITY, lineage: Buffer.alloc(16, 0xee) }, () => {});
  await put(active.store, "shared/old");
  await active.store.follow();
  const standby = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  await standby.store.follow();
  standby.store.unlock(TREE_KEY);
  await active.store.beginAdopting(anchorOf(leader));
  await nextTurn();
  await assert.rejects(standby.store.lead(), refused("store-half-adopted"));
  const heard: string[] = [];
  standby.store.watch("shared/", ({ keys }) => heard.push(...keys));
  await adoptRest(active, leader.engine, { between: nextTurn });
  await nextTurn();
  assert.ok(heard.includes("shared/old") && heard.includes("shared/0"));
  await assertWhole(standby, leader);
  await standby.store.lead();
});

test("a store whose mark is damaged opens, does not lead, and begins anew", async () => {
  const leader = await leading();
  const { engine } = await stranger();
  await tamper(engine.inner, { meta: [{ name: SYNC_ROW, value: bytes("?") }] });
  const again = openedStore(new WatchedEngine(engine.inner));
  const { store } = again;
  store.unlock(TREE_KEY);
  assert.ok(store.following);
  const damaged = refused("storage-head-damaged");
  await assert.rejects(store.lead(), damaged);
  await assert.rejects(store.apply(sent(leader.engine, 1n, 1)), damaged);
  await assert.rejects(store.adopt([], ""), refused("adoption-not-begun"));
  const surplus = await store.surplus(store.index - 1n);
  await assert.rejects(store.rewind(surplus, rowsAt(leader.engine, surplus.keys)), damaged);
  assert.ok((await store.check()).halfAdopted);
  await store.beginAdopting(anchorOf(leader));
  await adoptRest(again, leader.engine);
  await assertWhole(again, leader);
  await store.lead();
});

test("the mark is read in one way only", () => {
  const timeline = { lineage: "l", epochs: [] };
  const none = { sum: new Uint8Array(32), count: 0 };
  const head = encodeHead(
    {
      lineage: new Uint8Array(16),
      epoch: 1,
      index: 7n,
      chain: new Uint8Array(32),
      lastDr: 7n,
      lastPerf: 7n,
      logBytes: 9n,
      shared: none,
      local: none,
    },
    TREE_KEY,
  );
  for (const kind of ["adopt", "rewind"] as const) {
    const sync = { kind, head, timeline, cursor: "shared/ä" };
    const encoded = encodeSync(sync);
    assert.deepEqual(decodeSync(encoded), sync);
    for (let end = 0; end < encoded.length; end++) {
      assert.throws(() => decodeSync(encoded.subarray(0, end)), MalformedBytes);
    }
    assert.throws(() => decodeSync(Buffer.concat([encoded, Buffer.alloc(1)])), MalformedBytes);
    for (const at of [0, 1]) {
      const wrong = Buffer.from(encoded);
      wrong[at] = 9;
      assert.throws(() => decodeSync(wrong), MalformedBytes);
    }
  }
});

// --- at random ---

interface Write {
  readonly key: string;
  readonly value: string | null;
  readonly scope: number;
}
const key = fc.constantFrom("shared/a", "shared/b", "shared/b/c", "shared/d", "local/a", "local/b");
const write: fc.Arbitrary<Write> = fc.record({
  key,
  value: fc.option(fc.string({ maxLength: 4 }), { freq: 3 }),
  scope: fc.nat({ max: 3 }),
});
const history = fc.array(fc.oneof({ weight: 8, arbitrary: write }, fc.constant("epoch" as const)), {
  maxLength: 12,
});

async function run(store: Store, steps: readonly (Write | "epoch")[]): Promise<void> {
  for (const step of steps) {
    if (step === "epoch") await store.startEpoch("another");
    else {
      const { key: name, value, scope } = step;
      await store.write((tx) => {
        if (value === null) tx.delete(name);
        else tx.put(name, bytes(value), Buffer.alloc(16, scope));
      });
    }
  }
}

test("after adopting while the leader writes, and its entries since, both hold the same; also after a power cut at any commit", async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      history,
      history,
      fc.boolean(),
      fc.integer({ min: 1, max: 4 }),
      async (first, second, meanwhile, related, size) => {
        const leader = await madeStore();
        await run(leader.store, first);
        const recorded = new RecordedEngine();
        const follower = related
          ? await followerOf(leader.engine, recorded)
          : await stranger(recorded, 3);
        if (related) follower.store.unlock(TREE_KEY);
        await run(leader.store, second);
        const left = [...meanwhile];
        const between = async () => run(leader.store, left.splice(0, 2));
        recorded.moments.length = 0;
        await follower.store.beginAdopting(anchorOf(leader));
        await adoptRest(follower, leader.engine, { size, between });
        await run(leader.store, left);
        // One entry at a time: the trees are the leader's with the last one at the latest.
        for (const entry of sent(leader.engine, follower.store.index + 1n)) {
          await follower.store.apply([entry]);
        }
        await assertWhole(follower, leader);
        for (const moment of recorded.moments) {
          const found = afterPowerCut(moment);
          found.store.unlock(TREE_KEY);
          assert.ok((await found.store.check()).ok);
          if (found.store.adopting === null) await found.store.follow();
          else await adoptRest(found, leader.engine, { size });
          const entries = sent(leader.engine, found.store.index + 1n);
          await found.store.apply(entries, leader.engine.meta(HEAD_ROW));
          await assertWhole(found, leader);
          // What is here already changes nothing.
          const log = leader.engine.logs(found.store.tail!.first, 1)[0];
          if (log === undefined) continue;
          const replayed = sent(leader.engine, log.index);
          await assert.rejects(found.store.apply(replayed), refused("log-replayed"));
          await assertWhole(found, leader);
        }
      },
    ),
    { numRuns: 30 },
  );
});
