// Creation, unlocking, what is healed and what is refused there, locking, and rows that vanished.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  bytes,
  IDENTITY,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../tests/support/made/made-store.ts";
import type { MadeStore } from "../../tests/support/made/made-store.ts";
import { tamper, WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { InvariantError } from "@holdfast/shared/invariant";
import {
  decodeHead,
  encodeHead,
  HEAD_ROW,
  LEAF_FORM_ROW,
  TAIL_ROW,
  TIMELINE_ROW,
} from "./rows/head.ts";
import { MemoryDisk, MemoryEngine } from "./engines/memory.ts";
import { slotOf } from "./rows/merkle.ts";
import type { Store } from "./store.ts";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

const damaged = refused("storage-head-damaged");

function put(store: Store, key: string, value = "1"): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value)));
}

/** A store with some records, and the same engine under a store that has just been opened. */
async function filled(): Promise<MadeStore & { reopen: () => MadeStore }> {
  const made = await madeStore();
  for (let i = 0; i < 30; i++) {
    await made.store.write((tx) => {
      tx.put(`shared/${i}`, bytes(`s${i}`));
      tx.put(`local/${i}`, bytes(`l${i}`));
    });
  }
  return { ...made, reopen: () => openedStore(new WatchedEngine(made.engine.inner)) };
}

test("a new store is not initialised, takes only ignored rows, and knows no index", async () => {
  const { store } = openedStore(new WatchedEngine());
  assert.equal(store.initialised, false);
  assert.equal(store.locked, true);
  assert.equal(store.head, null);
  assert.equal(store.index, 0n);
  assert.throws(() => store.unlock(TREE_KEY), refused("store-uninitialised"));
  await put(store, "core/x");
  assert.equal(text(store.get("core/x")!), "1");
  await assert.rejects(put(store, "shared/x"), refused("store-locked"));
  assert.equal(store.initialised, false);
});

test("creation writes identity, head and rows in one commit, and the store is unlocked", async () => {
  const { store, engine } = openedStore(new WatchedEngine());
  const index = await store.create(TREE_KEY, IDENTITY, (tx) => {
    tx.put("core/keyring", bytes("k"));
    tx.put("shared/first", bytes("1"));
    return tx.index;
  });
  assert.equal(index, 1n);
  assert.equal(engine.batches.length, 1);
  const names = engine.batches[0]!.meta.map(({ name }) => name).toSorted();
  assert.deepEqual(names, [HEAD_ROW, LEAF_FORM_ROW, TAIL_ROW, TIMELINE_ROW]);
  assert.ok(store.initialised && !store.locked);
  assert.equal(store.index, 1n);
  assert.deepEqual(store.head?.lineage, IDENTITY.lineage);
  assert.equal(store.tail?.first, 1n);
  assert.equal(store.timeline?.epochs[0]?.cluster, "test");
  assert.ok((await store.check()).ok);
  await assert.rejects(
    store.create(TREE_KEY, IDENTITY, () => {}),
    refused("already-initialised"),
  );
});

test("creation that throws leaves nothing, and can be tried again", async () => {
  const { store, engine } = openedStore(new WatchedEngine());
  const failed = store.create(TREE_KEY, IDENTITY, (tx) => {
    tx.put("core/keyring", bytes("k"));
    throw new Error("own");
  });
  await assert.rejects(failed, /own/);
  assert.equal(store.initialised, false);
  assert.equal(engine.batches.length, 0);
  await store.create(TREE_KEY, IDENTITY, () => {});
  assert.ok(store.initialised);
});

test("while a store is being created nothing else is taken, and it is not created twice", async () => {
  const { store, engine } = openedStore(new WatchedEngine());
  const open = engine.hold();
  const first = store.create(TREE_KEY, IDENTITY, () => {});
  const second = store.create(TREE_KEY, IDENTITY, () => {});
  const write = put(store, "core/x");
  assert.equal(store.initialised, false);
  const outcomes = Promise.allSettled([second, write]);
  open();
  await first;
  const [twice, other] = await outcomes;
  assert.ok(twice.status === "rejected" && refused("already-initialised")(twice.reason));
  assert.ok(other.status === "rejected" && refused("store-uninitialised")(other.reason));
});

test("of two nodes that create on one storage one wins; the other sees it and can unlock", async () => {
  const disk = new MemoryDisk();
  const nodes = [1, 2].map((n) => {
    const made = openedStore(new WatchedEngine(new MemoryEngine(disk)));
    return { ...made, key: createSecretKey(Buffer.alloc(32, n)), cluster: `node-${n}` };
  });
  const outcomes = await Promise.allSettled(
    nodes.map(({ store, key, cluster }) =>
      store.create(key, { ...IDENTITY, cluster }, (tx) => tx.put("core/winner", bytes(cluster))),
    ),
  );
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  const [winner, loser] = outcomes[0]!.status === "fulfilled" ? nodes : nodes.toReversed();
  const lost = outcomes.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  assert.ok(refused("already-initialised")(lost.reason));
  await nextTurn();
  assert.ok(loser!.store.initialised && loser!.store.locked);
  assert.equal(text(loser!.store.get("core/winner")!), winner!.cluster);
  assert.throws(() => loser!.store.unlock(loser!.key), damaged, "its own key is not the store's");
  await winner!.store.close();
  loser!.store.unlock(winner!.key);
  await put(loser!.store, "shared/a");
  assert.equal(loser!.store.index, 1n);
});

test("a node that waits follows the head that another one moves", async () => {
  const disk = new MemoryDisk();
  const waiting = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  const { store } = await madeStore(new MemoryEngine(disk));
  await nextTurn();
  assert.ok(waiting.store.initialised);
  await put(store, "shared/a");
  await nextTurn();
  assert.equal(waiting.store.index, 1n);
  await store.close();
  waiting.store.unlock(TREE_KEY);
  await put(waiting.store, "shared/b");
  assert.equal(waiting.store.index, 2n);
});

test("unlocking gives back index, head and trees", async () => {
  const { store, reopen } = await filled();
  const again = reopen();
  assert.ok(again.store.initialised && again.store.locked);
  assert.equal(again.store.index, 30n);
  again.store.unlock(TREE_KEY);
  assert.deepEqual(again.store.head, store.head);
  assert.deepEqual(again.store.trees.compositeRoot(), store.trees.compositeRoot());
  assert.equal(again.engine.batches.length, 0, "nothing was to be mended");
  await put(again.store, "shared/new");
  assert.equal(again.store.index, 31n);
  assert.ok((await again.store.check()).ok);
});

test("another tree key is refused and the store stays locked", async () => {
  const { reopen } = await filled();
  const { store } = reopen();
  assert.throws(() => store.unlock(createSecretKey(Buffer.alloc(32, 8))), damaged);
  assert.ok(store.locked);
  store.unlock(TREE_KEY);
});

test("a damaged head is refused, whatever byte it is, and rebuilt from the log with repair", async () => {
  const { store: before, engine, reopen } = await filled();
  const whole = engine.meta(HEAD_ROW)!;
  for (const at of [0, 1, 20, 40, whole.length - 1]) {
    const bad = Uint8Array.from(whole, (byte, i) => (i === at ? byte ^ 1 : byte));
    await tamper(engine.inner, { meta: [{ name: HEAD_ROW, value: bad }] });
    const { store } = reopen();
    assert.throws(() => store.unlock(TREE_KEY), damaged);
    assert.ok(store.locked);
  }
  const { store, world } = reopen();
  store.unlock(TREE_KEY, { repair: true });
  await store.settled();
  assert.match(world.lines.join(""), /head rebuilt/);
  const { lastPerf: _, ...head } = store.head!;
  const { lastPerf: __, ...expected } = before.head!;
  assert.deepEqual(head, expected);
  assert.ok((await store.check()).ok);
  await put(store, "shared/new");
  reopen().store.unlock(TREE_KEY);
});

test("a head that vanished does not make the store look new: it is never created over", async () => {
  const { engine, reopen } = await filled();
  await tamper(engine.inner, { meta: [{ name: HEAD_ROW, value: null }] });
  const { store } = reopen();
  assert.ok(store.initialised);
  await assert.rejects(
    store.create(TREE_KEY, IDENTITY, () => {}),
    refused("already-initialised"),
  );
  assert.throws(() => store.unlock(TREE_KEY), damaged);
  store.unlock(TREE_KEY, { repair: true });
  await store.settled();
  assert.ok((await store.check()).ok);
});

test("an old head put back is refused: the log goes beyond it", async () => {
  const { store: first, engine, reopen } = await filled();
  const old = engine.meta(HEAD_ROW)!;
  await put(first, "shared/later");
  await tamper(engine.inner, { meta: [{ name: HEAD_ROW, value: old }] });
  assert.throws(() => reopen().store.unlock(TREE_KEY), /goes beyond/);
});

test("a last log entry that is gone or another one is refused; repair gives the log up", async () => {
  for (const kind of ["gone", "altered"] as const) {
    const { engine, reopen } = await filled();
    const last = engine.logs(30n, 1)[0]!;
    const entry = Uint8Array.from(last.entry, (byte, i) => (i === 90 ? byte ^ 1 : byte));
    if (kind === "altered") await tamper(engine.inner, { log: [{ index: 30n, entry }] });
    else {
      // Nothing but trimming removes log rows: put back all but the last.
      const rows = engine.logs(0n, 29);
      await tamper(engine.inner, { trimLogBelow: 31n });
      await tamper(engine.inner, { log: rows });
    }
    assert.throws(() => reopen().store.unlock(TREE_KEY), damaged);
    const { store } = reopen();
    store.unlock(TREE_KEY, { repair: true });
    await store.settled();
    assert.equal(store.index, 30n);
    assert.equal(store.tail?.first, 31n);
    assert.deepEqual(store.logs(0n, 9), []);
    assert.ok((await store.check()).ok);
    await put(store, "shared/new");
    assert.equal(store.logs(0n, 9)[0]?.index, 31n);
    reopen().store.unlock(TREE_KEY);
  }
});

test("a head of a later version is refused even with repair", async () => {
  const { engine, reopen } = await filled();
  const head = decodeHead(engine.meta(HEAD_ROW)!);
  const bytesOf = encodeHead(head, TREE_KEY);
  const { createHmac } = await import("node:crypto");
  const body = Buffer.from(bytesOf.subarray(0, -32));
  body[0] = 2;
  const mac = createHmac("sha256", TREE_KEY).update("holdfast head 1").update(body).digest();
  await tamper(engine.inner, { meta: [{ name: HEAD_ROW, value: Buffer.concat([body, mac]) }] });
  for (const repair of [false, true]) {
    assert.throws(() => reopen().store.unlock(TREE_KEY, { repair }), /another version/);
  }
});

test("with head, timeline and last entry all damaged even repair refuses", async () => {
  const { engine, reopen } = await filled();
  await tamper(engine.inner, {
    meta: [
      { name: HEAD_ROW, value: bytes("x") },
      { name: TIMELINE_ROW, value: bytes("{") },
    ],
  });
  assert.throws(() => reopen().store.unlock(TREE_KEY, { repair: true }), damaged);
});

test("a damaged sum row is healed from the leaves at unlock, and written", async () => {
  const { engine, reopen } = await filled();
  const right = engine.sums();
  const bad = { ...right[3]!, sum: new Uint8Array(32).fill(1) };
  const short = { ...right[5]!, sum: new Uint8Array(31) };
  const stray = { slot: 12, sum: new Uint8Array(32).fill(2), count: 0 };
  assert.ok(right.every(({ slot }) => slot !== 12));
  await tamper(engine.inner, { sums: [bad, short, stray] });
  const { store, world, engine: watched } = reopen();
  store.unlock(TREE_KEY);
  await store.settled();
  assert.match(world.lines.join(""), /sums recomputed from the leaves/);
  assert.equal(watched.batches[0]?.sums.length, 3);
  assert.deepEqual(
    engine.sums().filter(({ slot }) => slot !== 12),
    right,
  );
  assert.ok((await store.check()).ok);
  assert.equal(reopen().engine.batches.length, 0);
});

test("sums that were read ahead are not read again, unless something was committed since", async () => {
  const { engine, store: other, reopen } = await filled();
  class Counting extends WatchedEngine {
    reads = 0;

    override sums(from?: number, limit?: number) {
      this.reads++;
      return super.sums(from, limit);
    }
  }
  const counting = new Counting(engine.inner);
  const { store } = openedStore(counting);
  await store.readSums();
  counting.reads = 0;
  store.unlock(TREE_KEY);
  assert.equal(counting.reads, 0);
  assert.deepEqual(store.trees.compositeRoot(), other.trees.compositeRoot());
  await put(store, "shared/more");
  assert.ok((await store.check()).ok);

  const late = reopen().store;
  await late.readSums();
  await put(store, "shared/since");
  late.unlock(TREE_KEY);
  assert.deepEqual(late.trees.compositeRoot(), store.trees.compositeRoot());
  assert.ok((await late.check()).ok);

  await tamper(engine.inner, {
    sums: [{ slot: slotOf("shared", "shared/3")!, sum: new Uint8Array(32), count: 7 }],
  });
  const healed = reopen().store;
  await healed.readSums();
  healed.unlock(TREE_KEY);
  await healed.settled();
  assert.ok((await healed.check()).ok);
});

test("leaves that do not add up are refused, and taken as they are with repair", async () => {
  const { engine, reopen } = await filled();
  const slot = slotOf("shared", "shared/3")!;
  const sum = { slot, sum: new Uint8Array(32), count: 0 };
  await tamper(engine.inner, { leaves: [{ slot, key: "shared/3", leaf: null }], sums: [sum] });
  assert.throws(() => reopen().store.unlock(TREE_KEY), /leaves do not add up/);
  const { store, world } = reopen();
  store.unlock(TREE_KEY, { repair: true });
  await store.settled();
  assert.match(world.lines.join(""), /totals taken from the leaves/);
  assert.deepEqual((await store.check()).surplus, ["shared/3"]);
});

test("lock() waits for what was accepted, forgets the trees, and the store can be unlocked again", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const write = put(store, "shared/a");
  const locking = store.lock();
  assert.ok(store.locked);
  const late = assert.rejects(put(store, "shared/b"), refused("store-locked"));
  assert.throws(() => store.unlock(TREE_KEY), InvariantError);
  open();
  await Promise.all([write, locking, late]);
  assert.equal(store.trees.shared.total().count, 0);
  assert.equal(store.index, 1n);
  assert.equal(text(store.get("shared/a")!), "1");
  await put(store, "core/x");
  await assert.rejects(put(store, "shared/b"), refused("store-locked"));
  await assert.rejects(store.check(), refused("store-locked"));
  store.unlock(TREE_KEY);
  await put(store, "shared/b");
  assert.ok((await store.check()).ok);
  assert.throws(() => store.unlock(TREE_KEY), InvariantError);
});

test("writes at the very moment of locking are durable or refused, never the end of the store", async () => {
  for (let delay = 0; delay < 30; delay++) {
    const { store } = await madeStore();
    const first = put(store, "shared/a");
    const locking = store.lock();
    const late: Promise<void>[] = [];
    const chase = (async () => {
      for (let i = 0; i < delay; i++) await Promise.resolve(); // every microtask around the end of the commit
      late.push(put(store, "shared/late"));
    })();
    await Promise.all([first, locking, chase]);
    const [outcome] = await Promise.allSettled(late);
    assert.ok(outcome?.status === "rejected" && refused("store-locked")(outcome.reason));
    store.unlock(TREE_KEY);
    await put(store, "shared/after");
  }
});

test("a row that vanished is damage, not absence, outside and inside a transaction", async () => {
  const { store, engine, world } = await madeStore();
  await put(store, "shared/secret-name", "secret-value");
  await tamper(engine.inner, { data: [{ key: "shared/secret-name", value: null }] });
  const vanished = (error: unknown) =>
    error instanceof Failure &&
    error.kind === "damaged" &&
    !error.message.includes("secret-name") &&
    /stored entry [0-9a-f]{16} is damaged/.test(error.message);
  assert.throws(() => store.get("shared/secret-name"), vanished);
  await assert.rejects(
    store.write((tx) => tx.get("shared/secret-name")),
    vanished,
  );
  assert.equal(store.damageFound, 2);
  const log = world.lines.join("");
  assert.match(log, /damage in storage/);
  assert.ok(!log.includes("secret-name") && !log.includes("secret-value"));
  assert.equal(store.get("shared/other"), null);
  await put(store, "shared/other");
});

test("a row that vanished can be deleted and put again, and everything adds up after that", async () => {
  const { store, engine } = await madeStore();
  await put(store, "shared/a");
  await put(store, "shared/b");
  await tamper(engine.inner, {
    data: [
      { key: "shared/a", value: null },
      { key: "shared/b", value: null },
    ],
  });
  await store.write((tx) => tx.delete("shared/a"));
  await put(store, "shared/b", "again");
  assert.equal(store.get("shared/a"), null);
  assert.equal(text(store.get("shared/b")!), "again");
  const report = await store.check();
  assert.ok(report.ok);
  assert.equal(report.entries.shared, 1);
});

test("a row that somebody put there without a leaf can be deleted and put, and adds up again", async () => {
  const { store, engine } = await madeStore();
  await tamper(engine.inner, {
    data: [
      { key: "shared/a", value: bytes("x") },
      { key: "shared/b", value: bytes("x") },
    ],
  });
  assert.equal((await store.check()).damaged, 2);
  await store.write((tx) => tx.delete("shared/a"));
  await put(store, "shared/b", "ours");
  assert.ok((await store.check()).ok);
  assert.equal(store.index, 2n);
});
