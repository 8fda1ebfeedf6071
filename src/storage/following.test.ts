// A store that follows: what others have committed is applied as they committed it, or refused whole;
// its own rows are written beside; and what is told to caches and watchers is what own commits tell.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  assertSameRows,
  catchUp,
  copyRows,
  followerOf,
  sent,
} from "../../tests/support/stores/followed-store.ts";
import {
  bytes,
  IDENTITY,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../tests/support/made/made-store.ts";
import { tamper, WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { MemoryDisk, MemoryEngine } from "./engines/memory.ts";
import { UNREAD_CONTROLS } from "./following/control-records.ts";
import type { CommittedEntry } from "./following/foreign-entries.ts";
import { decodeHead, encodeHead, HEAD_ROW } from "./rows/head.ts";
import { chainEntry, decodeEntry, encodeEntry } from "./rows/log-entry.ts";
import { type Reindexed, reindexStore } from "./repair/reindex.ts";
import type { Store } from "./store.ts";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function put(store: Store, key: string, value = "1", scope = 0): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value), Buffer.alloc(16, scope)));
}

interface Pair {
  readonly leader: MadeStore;
  readonly follower: MadeStore;
}

/** Both at index 1, the follower unlocked. */
async function pair(): Promise<Pair> {
  const leader = await madeStore();
  await put(leader.store, "shared/first");
  const follower = await followerOf(leader.engine);
  follower.store.unlock(TREE_KEY);
  return { leader, follower };
}

/** Some writes of every kind, among them several to one key. */
async function history({ store }: MadeStore): Promise<void> {
  await put(store, "shared/a", "1", 4);
  await put(store, "shared/a", "2", 5);
  await store.write((tx) => {
    tx.put("local/a", bytes("l"));
    tx.put("shared/b", bytes("b"));
    tx.put("core/own", bytes("of the leader"));
    tx.delete("shared/first");
  });
  await store.write((tx) => tx.delete("shared/a"));
  await put(store, "shared/c");
}

test("entries are applied with their index, time, chain, leaves and sums", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  await follower.store.apply(sent(leader.engine, 2n, 2));
  assert.equal(follower.store.index, 3n);
  await follower.store.apply(sent(leader.engine, 4n), leader.engine.meta(HEAD_ROW));
  assertSameRows(follower.engine, leader.engine);
  assert.deepEqual(follower.store.head, leader.store.head);
  assert.deepEqual(follower.store.trees.compositeRoot(), leader.store.trees.compositeRoot());
  assert.equal(text(follower.store.get("shared/c")!), "1");
  assert.equal(follower.store.get("core/own"), null, "ignored rows stay where they are");
  assert.ok((await follower.store.check()).ok);
});

test("a locked store follows when leaves and head are sent, and unlocks to the same", async () => {
  const leader = await madeStore();
  const follower = await followerOf(leader.engine);
  await history(leader);
  const entries = sent(leader.engine, 1n);
  const head = leader.engine.meta(HEAD_ROW)!;
  await assert.rejects(follower.store.apply(entries, head), refused("log-proof-missing"));
  const whole = sent(leader.engine, 1n, Infinity, TREE_KEY);
  await assert.rejects(follower.store.apply(whole), refused("log-proof-missing"));
  assert.equal(follower.engine.batches.length, 0);
  await follower.store.apply(whole, head);
  await put(leader.store, "shared/d");
  await catchUp(follower, leader.engine);
  assert.ok(follower.store.locked);
  assertSameRows(follower.engine, leader.engine);
  assert.deepEqual(follower.store.trees.compositeRoot(), leader.store.trees.compositeRoot());
  follower.store.unlock(TREE_KEY);
  assert.ok((await follower.store.check()).ok);
  await put(leader.store, "shared/e");
  await catchUp(follower, leader.engine);
  await follower.store.lock();
  await put(leader.store, "shared/f");
  await catchUp(follower, leader.engine);
  assertSameRows(follower.engine, leader.engine);
});

test("a store unlocked while a group is on its way to the disk goes on after it", async () => {
  const leader = await madeStore();
  const follower = await followerOf(leader.engine);
  await history(leader);
  const open = follower.engine.hold();
  const first = catchUp(follower, leader.engine);
  await nextTurn();
  follower.store.unlock(TREE_KEY);
  await put(leader.store, "shared/later");
  const head = leader.engine.meta(HEAD_ROW);
  const second = follower.store.apply(sent(leader.engine, 6n), head);
  open();
  await Promise.all([first, second]);
  assertSameRows(follower.engine, leader.engine);
  assert.ok((await follower.store.check()).ok);
});

test("a head that somebody made up is found when the locked store is unlocked", async () => {
  for (const durable of [true, false]) {
    const leader = await madeStore();
    const follower = await followerOf(leader.engine);
    await put(leader.store, "shared/a");
    const stored = leader.engine.meta(HEAD_ROW)!;
    const made = encodeHead(decodeHead(stored), createSecretKey(Buffer.alloc(32, 1)));
    const open = follower.engine.hold();
    const applied = follower.store.apply(sent(leader.engine, 1n, 9, TREE_KEY), made);
    await nextTurn();
    if (durable) {
      open();
      await applied;
    }
    assert.throws(() => follower.store.unlock(TREE_KEY), refused("storage-head-damaged"));
    assert.ok(follower.store.locked);
    open();
    await applied;
  }
});

test("gaps, replays, forks and what is no entry are refused, each by its name, and nothing changes", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  const entries = sent(leader.engine, 2n);
  const [second, third, fourth] = entries as [CommittedEntry, CommittedEntry, CommittedEntry];
  const other = await madeStore();
  await put(other.store, "shared/other");
  await put(other.store, "shared/other", "2");
  const [foreignFirst, foreignSecond] = sent(other.engine, 1n) as [CommittedEntry, CommittedEntry];
  const altered = (at: number) => ({
    entry: Uint8Array.from(second.entry, (byte, i) => (i === at ? byte ^ 1 : byte)),
  });
  const decoded = decodeEntry(second.entry);
  const anotherEpoch = { entry: encodeEntry({ ...decoded, epoch: 2 }) };
  // Somebody else's, with digests and chain that are in order.
  const nextEpoch = chainEntry({ ...decoded, epoch: 2 }, follower.store.head!.chain);
  const illegal = encodeEntry({
    ...decoded,
    operations: decoded.operations.map((op) => ({ ...op, key: "shared//a" })),
  });
  const wrongHead = leader.engine.meta(HEAD_ROW)!;
  const cases: [string, readonly CommittedEntry[], Uint8Array?][] = [
    ["log-gap", [third]],
    ["log-gap", [second, fourth]],
    ["log-replayed", [sent(leader.engine, 1n)[0]!]],
    ["log-replayed", [second, second]],
    ["log-forked", [foreignFirst]],
    ["log-forked", [foreignSecond]],
    ["log-forked", [anotherEpoch]],
    ["log-forked", [{ entry: encodeEntry(nextEpoch) }]],
    ["log-forked", [altered(15)]], // its time
    ["log-forked", [altered(second.entry.length - 1)]], // its value
    ["log-forked", [second, { entry: altered(40).entry }].slice(1)], // a digest
    ["log-entry-malformed", [{ entry: second.entry.subarray(1) }]],
    ["log-entry-malformed", [second, { entry: new Uint8Array(0) }]],
    ["log-entry-malformed", [{ entry: illegal }]],
    ["log-entry-malformed", [{ ...second, leaves: [] }]],
    ["log-entry-malformed", [{ ...second, leaves: [new Uint8Array(31)] }]],
    ["log-trees-differ", [{ ...second, leaves: [new Uint8Array(32)] }]],
    ["log-trees-differ", [second], wrongHead],
    ["log-trees-differ", [second, third], new Uint8Array(9)],
  ];
  follower.engine.batches.length = 0;
  for (const [code, group, head] of cases) {
    await assert.rejects(follower.store.apply(group, head), refused(code), code);
  }
  assert.equal(follower.engine.batches.length, 0);
  assert.equal(follower.store.index, 1n);
  // And nothing is left behind: the right entries still lead to the right trees.
  await follower.store.apply(entries, leader.engine.meta(HEAD_ROW));
  assertSameRows(follower.engine, leader.engine);
});

test("a group is one commit, and a later one waits for nothing of it", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  follower.engine.batches.length = 0;
  const open = follower.engine.hold();
  const first = follower.store.apply(sent(leader.engine, 2n, 3));
  const second = follower.store.apply(sent(leader.engine, 5n));
  await nextTurn();
  assert.equal(follower.store.index, 1n, "not before it is durable");
  assert.equal(follower.store.get("shared/b"), null);
  open();
  await Promise.all([first, second]);
  assert.ok(follower.engine.batches.every(({ log }) => log.length !== 1 && log.length !== 2));
  assertSameRows(follower.engine, leader.engine);
});

test("a group that is too large for the engine is refused whole", async () => {
  const { leader } = await pair();
  const follower = await followerOf(leader.engine);
  follower.engine.limits = { operations: 3, bytes: 1024 * 1024 };
  const small = openedStore(follower.engine);
  await small.store.follow();
  small.store.unlock(TREE_KEY);
  await history(leader);
  await assert.rejects(small.store.apply(sent(leader.engine, 2n)), refused("log-group-too-large"));
  await small.store.apply(sent(leader.engine, 2n, 2));
  await small.store.apply(sent(leader.engine, 4n, 1));
  await small.store.apply(sent(leader.engine, 5n));
  assertSameRows(follower.engine, leader.engine);
});

test("applying stops at the reserve of a nearly full disk, and goes on when there is room", async () => {
  const { leader, follower } = await pair();
  await put(leader.store, "shared/a");
  follower.engine.free = 1024;
  await assert.rejects(follower.store.apply(sent(leader.engine, 2n)), refused("storage-full"));
  follower.engine.free = null;
  follower.world.clock.pass(60_000_000_000n);
  await catchUp(follower, leader.engine);
  assertSameRows(follower.engine, leader.engine);
});

test("caches are told, watchers woken and waiters called before apply() resolves", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  const heard: string[] = [];
  follower.store.onCommit((changed) => heard.push(`cache ${[...changed.keys()].join()}`));
  follower.store.watch("shared/", ({ index, keys }) => heard.push(`watch ${index} ${keys.join()}`));
  follower.store.onIndex(6n, () => heard.push("index 6"));
  await follower.store.apply(sent(leader.engine, 2n)).then(() => heard.push("applied"));
  assert.deepEqual(heard, [
    "cache local/a,shared/b,shared/first,shared/a,shared/c",
    "watch 6 shared/b,shared/first,shared/a,shared/c",
    "index 6",
    "applied",
  ]);
});

test("who follows writes its own rows and nothing else, locked or unlocked", async () => {
  const leader = await madeStore();
  const follower = await followerOf(leader.engine);
  const { store } = follower;
  await put(store, "core/role", "follower");
  await assert.rejects(put(store, "shared/x"), refused("store-locked"));
  store.unlock(TREE_KEY);
  await put(store, "core/cursor", "7");
  for (const key of ["shared/x", "local/x"]) {
    await assert.rejects(put(store, key), refused("store-following"));
  }
  const mixed = store.write((tx) => {
    tx.put("core/cursor", bytes("8"));
    tx.put("shared/x", bytes("1"));
  });
  await assert.rejects(mixed, refused("store-following"));
  const control = store.write((tx) => tx.control({ type: 1, body: bytes("x") }));
  await assert.rejects(control, refused("store-following"));
  await assert.rejects(
    store.mend(() => null),
    refused("store-following"),
  );
  assert.equal(text(store.get("core/cursor")!), "7");
  assert.equal(store.index, 0n);
  await put(leader.store, "shared/a");
  await catchUp(follower, leader.engine);
  assertSameRows(follower.engine, leader.engine);
  assert.equal(text(store.get("core/role")!), "follower");
});

test("one who follows mends its own leaves and sums when it is told so, also between two states", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  await catchUp(follower, leader.engine);
  const { store, engine, world } = follower;
  const mending: Reindexed = {
    viewing: (run) => store.viewing(run),
    mend: (fn) => store.mend(fn, { following: true }),
  };
  await tamper(engine.inner, { data: [{ key: "shared/c", value: bytes("damaged") }] });
  assert.equal((await reindexStore(mending, world)).mended.count, 1);
  assert.deepEqual(store.differsFrom(leader.engine.meta(HEAD_ROW)!), ["shared"]);
  await tamper(engine.inner, { data: [{ key: "shared/c", value: bytes("1") }] });
  await reindexStore(mending, world);
  assert.ok((await store.check()).ok);
  await store.beginAdopting({ head: leader.store.headBytes!, timeline: leader.store.timeline! });
  await tamper(engine.inner, { data: [{ key: "shared/c", value: bytes("damaged") }] });
  assert.equal((await reindexStore(mending, world)).mended.count, 1);
});

test("who leads applies nothing; who stops following goes on from there", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  const entries = sent(leader.engine, 2n);
  await assert.rejects(leader.store.apply(entries), refused("store-leading"));
  await follower.store.apply(entries);
  await follower.store.lead();
  assert.equal(follower.store.following, false);
  await put(follower.store, "shared/own");
  assert.equal(follower.store.index, 7n);
  assert.ok((await follower.store.check()).ok);
  await assert.rejects(follower.store.apply(entries), refused("store-leading"));
  // And the old leader follows the new one.
  await leader.store.follow();
  await assert.rejects(put(leader.store, "shared/late"), refused("store-following"));
  await catchUp(leader, follower.engine);
  assertSameRows(leader.engine, follower.engine);
});

test("what is not there, is going or is gone applies nothing", async () => {
  const empty = openedStore(new WatchedEngine());
  await empty.store.follow();
  await assert.rejects(empty.store.apply([]), refused("store-uninitialised"));
  const created = empty.store.create(TREE_KEY, IDENTITY, () => {});
  await assert.rejects(created, refused("store-following"));
  const { leader, follower } = await pair();
  await put(leader.store, "shared/a");
  const entries = sent(leader.engine, 2n);
  await follower.store.apply([]);
  const locking = follower.store.lock();
  await assert.rejects(follower.store.apply(entries), refused("store-locked"));
  await locking;
  await follower.store.close();
  await assert.rejects(follower.store.apply(entries), refused("store-closed"));
  await assert.rejects(follower.store.follow(), refused("store-closed"));
  await assert.rejects(follower.store.lead(), refused("store-closed"));
});

test("a crash in the middle of applying leaves the group or nothing of it", async () => {
  const { leader, follower } = await pair();
  await history(leader);
  follower.engine.hold();
  void follower.store.apply(sent(leader.engine, 2n)).catch(() => {});
  await nextTurn();
  const again = openedStore(new WatchedEngine(follower.engine.inner));
  await again.store.follow();
  again.store.unlock(TREE_KEY);
  assert.equal(again.store.index, 1n);
  await catchUp(again, leader.engine);
  assertSameRows(again.engine, leader.engine);
});

test("damaged sums of one who follows are healed in memory, and written when it leads", async () => {
  const leader = await madeStore();
  await history(leader);
  const follower = await followerOf(leader.engine);
  const right = follower.engine.sums();
  await tamper(follower.engine.inner, {
    sums: [{ ...right[1]!, sum: new Uint8Array(32).fill(1) }],
  });
  const { store, engine } = follower;
  assert.throws(() => store.unlock(TREE_KEY, { repair: true }), refused("store-following"));
  store.unlock(TREE_KEY);
  await store.settled();
  assert.equal(engine.batches.length, 0);
  await put(leader.store, "shared/x");
  await catchUp(follower, leader.engine);
  await store.lead();
  assert.deepEqual(
    engine.sums().filter(({ slot }) => slot === right[1]!.slot),
    [right[1]],
  );
  assert.ok((await store.check()).ok);
});

test("control records are read before they are accepted, taken when durable, and kept until then", async () => {
  const { leader, follower } = await pair();
  const { store, engine } = follower;
  const control = (type: number, body: string) =>
    leader.store.write((tx) => tx.control({ type, body: bytes(body) }));
  await control(1, "first");
  await control(1, "second");
  const heard: string[] = [];
  const entries = sent(leader.engine, 2n);
  await assert.rejects(store.apply(entries), refused("log-control-unknown"));
  let readable = false;
  store.onControl(1, ({ body }, { index }) => {
    if (!readable) return null;
    return () => heard.push(`${index} ${text(body)} at ${store.index}`);
  });
  await assert.rejects(store.apply(entries), refused("log-control-unreadable"));
  assert.equal(store.index, 1n);
  readable = true;
  store.onCommit(() => heard.push("cache"));
  const open = engine.hold();
  const applied = store.apply(entries);
  await nextTurn();
  assert.deepEqual(heard, []);
  open();
  await applied;
  assert.deepEqual(heard, ["2 first at 3", "3 second at 3", "cache"]);
  const waiting = store.rows(UNREAD_CONTROLS, { limit: 9 });
  assert.deepEqual(
    waiting.map(({ value }) => text(value.subarray(1))),
    ["first", "second"],
  );
  assertSameRows(engine, leader.engine);
});

test("what others have written is told apart from what we write, in between caches and watchers", async () => {
  const { leader, follower } = await pair();
  const shared = await sharing();
  for (const one of [{ leader, follower }, shared]) {
    const heard: string[] = [];
    one.follower.store.watch("shared/", () => heard.push("watch"));
    one.follower.store.onForeign((keys) => heard.push(keys.join()));
    one.follower.store.onCommit(() => heard.push("cache"));
    one.leader.store.onForeign((keys) => heard.push(`leader ${keys.join()}`));
    await put(one.leader.store, "shared/a");
    if (one === shared) await nextTurn();
    else await catchUp(one.follower, one.leader.engine);
    assert.deepEqual(heard.splice(0), ["cache", "shared/a", "watch"]);
    await put(one.follower.store, "core/own");
    assert.deepEqual(heard, ["cache"]);
  }
});

// --- two nodes on one storage ---

async function sharing(
  engineOf = (disk: MemoryDisk) => new MemoryEngine(disk),
): Promise<{ leader: MadeStore; follower: MadeStore; disk: MemoryDisk }> {
  const disk = new MemoryDisk();
  const leader = await madeStore(engineOf(disk));
  const follower = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  await follower.store.follow();
  follower.store.unlock(TREE_KEY);
  return { leader, follower, disk };
}

test("what another node commits to the same storage is taken up and told like our own", async () => {
  const { leader, follower } = await sharing();
  const heard: string[] = [];
  follower.store.onCommit((changed) => heard.push(`cache ${[...changed.keys()].sort().join()}`));
  follower.store.watch("shared/", ({ index, keys }) => heard.push(`watch ${index} ${keys.join()}`));
  follower.store.onIndex(2n, () => heard.push("index 2"));
  await put(leader.store, "shared/a");
  await leader.store.write((tx) => {
    tx.put("shared/b", bytes("b"));
    tx.put("core/x", bytes("x"));
  });
  await nextTurn();
  assert.deepEqual(heard, [
    "cache shared/a",
    "watch 1 shared/a",
    "cache core/x,shared/b",
    "watch 2 shared/b",
    "index 2",
  ]);
  assert.deepEqual(follower.store.head, leader.store.head);
  assert.deepEqual(follower.store.trees.compositeRoot(), leader.store.trees.compositeRoot());
  await leader.store.close();
  await follower.store.lead();
  await put(follower.store, "shared/c");
  assert.equal(follower.store.index, 3n);
  assert.ok((await follower.store.check()).ok);
});

test("who led, followed and leads again goes on from the leaves that others have written meanwhile", async () => {
  const { leader: first, follower: second } = await sharing();
  await put(first.store, "shared/a", "1");
  await nextTurn();
  await first.store.follow();
  await second.store.lead();
  await put(second.store, "shared/a", "2");
  await second.store.write((tx) => tx.delete("shared/a"));
  await put(second.store, "shared/a", "4");
  await nextTurn();
  await second.store.follow();
  await first.store.lead();
  await put(first.store, "shared/a", "5");
  await first.store.write((tx) => tx.delete("shared/a"));
  assert.ok((await first.store.check()).ok);
  assert.equal(first.store.index, 6n);
});

/** Why the store has ended; null for one that goes on. */
function endOf({ store }: MadeStore): Promise<unknown> {
  return Promise.race([store.failed, nextTurn().then(() => null)]);
}

/** A leader on it does not hear of others, and so does not stop for them. */
class DeafEngine extends MemoryEngine {
  override watch(): () => void {
    return () => {};
  }
}

test("own rows go into a storage whose head others move meanwhile", async () => {
  const { leader, follower } = await sharing((disk) => new DeafEngine(disk));
  const writes: Promise<void>[] = [];
  for (let i = 0; i < 40; i++) {
    writes.push(put(leader.store, `shared/${i % 7}`, String(i)));
    writes.push(put(follower.store, `core/own/${i}`));
    if (i % 3 === 0) await Promise.resolve();
    if (i % 8 === 0) await nextTurn();
  }
  await Promise.all(writes);
  await nextTurn();
  assert.equal(follower.store.keys("core/own/", { limit: 99 }).length, 40);
  assert.equal(follower.store.index, 40n);
  assert.deepEqual(follower.store.trees.compositeRoot(), leader.store.trees.compositeRoot());
});

test("a locked node on the same storage follows the head, and one without a store finds it", async () => {
  const disk = new MemoryDisk();
  const follower = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  await follower.store.follow();
  let heard = 0n;
  follower.store.onIndex(1n, () => (heard = follower.store.index));
  const leader = await madeStore(new MemoryEngine(disk));
  await put(leader.store, "shared/a");
  await nextTurn();
  assert.ok(follower.store.initialised && follower.store.locked);
  assert.equal(follower.store.index, 1n);
  assert.equal(heard, 1n);
  follower.store.unlock(TREE_KEY);
  assert.deepEqual(follower.store.trees.compositeRoot(), leader.store.trees.compositeRoot());
});

test("sums that a repair changed without an entry are taken up too", async () => {
  const { leader, follower, disk } = await sharing();
  await put(leader.store, "shared/a");
  await nextTurn();
  await leader.store.mend(({ tip }) => {
    const row = { slot: 77, sum: new Uint8Array(32).fill(1), count: 1 };
    tip.mendSum(row);
    return { leaves: [], sums: new Map([[77, row]]) };
  });
  await nextTurn();
  assert.ok(disk.rows.sums().some(({ slot }) => slot === 77));
  assert.deepEqual(follower.store.head, leader.store.head);
  assert.deepEqual(follower.store.trees.compositeRoot(), leader.store.trees.compositeRoot());
});

test("another log, a broken one or a head that is not authentic ends the store that follows it", async () => {
  const forged = async ({ leader, disk }: Awaited<ReturnType<typeof sharing>>) => {
    const head = { ...leader.store.head!, index: 9n };
    const value = encodeHead(head, TREE_KEY);
    await tamper(new MemoryEngine(disk), { meta: [{ name: HEAD_ROW, value }] });
  };
  const vanished = async ({ disk }: Awaited<ReturnType<typeof sharing>>) => {
    await tamper(new MemoryEngine(disk), { meta: [{ name: HEAD_ROW, value: null }] });
  };
  const unsigned = async ({ leader, disk }: Awaited<ReturnType<typeof sharing>>) => {
    const value = encodeHead(leader.store.head!, createSecretKey(Buffer.alloc(32, 1)));
    await tamper(new MemoryEngine(disk), { meta: [{ name: HEAD_ROW, value }] });
  };
  const replaced = async ({ disk }: Awaited<ReturnType<typeof sharing>>) => {
    const other = await madeStore();
    await put(other.store, "shared/other");
    await put(other.store, "shared/other", "2");
    await copyRows(other.engine, new MemoryEngine(disk));
  };
  for (const damage of [forged, vanished, unsigned, replaced]) {
    const made = await sharing();
    await put(made.leader.store, "shared/a");
    await nextTurn();
    await damage(made);
    assert.notEqual(await endOf(made.follower), null, damage.name);
    await assert.rejects(put(made.follower.store, "core/x"), refused("storage-failed"));
  }
});

test("a group on its way to the disk, and another writer's commit there: one of them is not ours to follow", async () => {
  const { leader, follower, disk } = await sharing((on) => new DeafEngine(on));
  await put(leader.store, "shared/a");
  await nextTurn();
  const copied = new MemoryEngine(new MemoryDisk());
  await copyRows(new MemoryEngine(disk), copied);
  const elsewhere = openedStore(new WatchedEngine(copied));
  elsewhere.store.unlock(TREE_KEY);
  await put(elsewhere.store, "shared/theirs");
  const open = follower.engine.hold();
  const applied = follower.store.apply(sent(elsewhere.engine, 2n));
  await nextTurn();
  await put(leader.store, "shared/ours");
  assert.match(String(await endOf(follower)), /another writer/);
  open();
  await assert.rejects(applied, refused("storage-failed"));
});

test("who leads still stops when another writer changes its storage", async () => {
  const { leader, follower } = await sharing();
  await follower.store.lead();
  await put(leader.store, "shared/a");
  assert.match(String(await endOf(follower)), /another writer/);
});
