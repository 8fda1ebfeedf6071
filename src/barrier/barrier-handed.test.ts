// Keys on their way from one cluster of a set to another: a store begins with them, later ones take their places, and
// what every cluster seals under a data key is counted once.

import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import { catchUp as applyAll, sent } from "../../tests/support/stores/followed-store.ts";
import { adoptRest, anchorOf } from "../../tests/support/stores/adopted-store.ts";
import {
  type MadeBarrier,
  madeBarrier,
  OTHER_KEY,
  ROOT_KEY,
  sealedBarrier,
} from "../../tests/support/made/made-barrier.ts";
import { MemoryDisk } from "../storage/engines/memory.ts";
import { UNREAD_CONTROLS } from "../storage/following/control-records.ts";
import { HEAD_ROW } from "../storage/rows/head.ts";
import { decodeHandedKeys, encodeHandedKeys, type HandedKeys } from "./handed-keys.ts";

const codec = jsonCodec<string>();
const IDENTITY = { lineage: Buffer.alloc(16, 8), cluster: "other" };
const nothing = () => {};

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function put({ barrier }: MadeBarrier, key: string, value: string): Promise<void> {
  return barrier.view("shared/").write((tx) => tx.put(key, value, codec));
}

function get({ barrier }: MadeBarrier, key: string): string | null {
  return barrier.view("shared/").get(key, codec);
}

/** As the other side reads them. */
function handed({ barrier }: MadeBarrier): HandedKeys {
  const keys = decodeHandedKeys(encodeHandedKeys(barrier.handOver()));
  assert.ok(keys !== null);
  return keys;
}

/** A store of its own with the keys of the leader, which has taken over the rows of that one and follows it. */
async function joined(leader: MadeBarrier): Promise<MadeBarrier> {
  const follower = sealedBarrier(new MemoryDisk());
  await follower.barrier.createWith(handed(leader), IDENTITY, nothing);
  assert.equal(follower.store.index, 0n);
  await follower.store.follow();
  await follower.store.beginAdopting(anchorOf(leader));
  await adoptRest(follower, leader.engine);
  return follower;
}

const catchUp = (follower: MadeBarrier, leader: MadeBarrier) => applyAll(follower, leader.engine);

async function rekey({ barrier }: MadeBarrier): Promise<void> {
  await barrier.ceremony((_, raw) => barrier.replaceRootKey(raw, OTHER_KEY));
}

test("a store that begins with the keys of another one reads its entries and goes on with its log", async () => {
  const leader = await madeBarrier();
  await put(leader, "a", "1");
  await leader.barrier.rotate();
  await put(leader, "b", "2");
  const follower = await joined(leader);
  assert.deepEqual([get(follower, "a"), get(follower, "b")], ["1", "2"]);
  assert.deepEqual(follower.barrier.keysVersion, { generation: 1, term: 2 });
  await put(leader, "c", "3");
  await catchUp(follower, leader);
  assert.equal(get(follower, "c"), "3");
  assert.deepEqual(follower.store.differsFrom(leader.engine.meta(HEAD_ROW)!), []);
  const again = sealedBarrier(follower.disk);
  assert.ok(again.barrier.unseal(ROOT_KEY));
  assert.equal(get(again, "b"), "2");
});

test("what a follower seals is its own count, and it makes no key of its own when one is due", async () => {
  const leader = await madeBarrier();
  await leader.barrier.configureRotation({ enabled: true, maxOperations: 1_000_000, interval: 0n });
  for (let i = 0; i < 20; i++) await put(leader, `k${i}`, "x");
  const follower = await joined(leader);
  assert.equal(follower.barrier.ownEncryptions, 0);
  assert.equal(follower.barrier.keyStatus.encryptions, leader.barrier.keyStatus.encryptions);
  await follower.barrier.view("core/").write((tx) => {
    for (let i = 0; i < 5; i++) tx.put(`role/${i}`, "x", codec);
  });
  assert.equal(follower.barrier.ownEncryptions, 5);
  // A crash counts the margin in: a key would be due here.
  const again = sealedBarrier(follower.disk);
  await again.store.follow();
  assert.ok(again.barrier.unseal(ROOT_KEY));
  again.barrier.activate();
  await again.store.settled();
  assert.ok(again.barrier.ownEncryptions >= 1_000_000, "the count was stored with a margin");
  await again.barrier.view("core/").write((tx) => tx.put("role/0", "y", codec));
  await again.world.timers.advance(700n * SECOND);
  await again.store.settled();
  assert.equal(again.barrier.keyStatus.term, 1);
  assert.ok(!again.world.lines.some((line) => line.includes("rotation failed")));
  // Whoever follows no more makes it.
  await again.store.lead();
  await again.world.timers.advance(300n * SECOND);
  await again.store.settled();
  assert.equal(again.barrier.keyStatus.term, 2);
});

test("one that leaves shared rows to another cluster makes no key of its own when one is due, and takes over those of that one", async () => {
  const leader = await madeBarrier();
  await leader.barrier.configureRotation({ enabled: true, maxOperations: 1_000_000, interval: 0n });
  const beside = sealedBarrier(new MemoryDisk());
  await beside.barrier.createWith(handed(leader), IDENTITY, nothing);
  beside.store.leaveShared(true);
  beside.barrier.activate();
  beside.barrier.countElsewhere(1, 5_000_000); // one is due
  await beside.world.timers.advance(700n * SECOND);
  await beside.store.settled();
  assert.equal(beside.barrier.keyStatus.term, 1);
  await leader.barrier.rotate();
  assert.equal(await beside.barrier.takeOver(handed(leader), nothing), true);
  assert.equal(beside.barrier.keyStatus.term, 2);
  // Whoever takes over makes it.
  beside.store.leaveShared(false);
  beside.barrier.countElsewhere(2, 5_000_000);
  await beside.world.timers.advance(300n * SECOND);
  await beside.store.settled();
  assert.equal(beside.barrier.keyStatus.term, 3);
});

test("what others have sealed counts for the rotation, and is stored", async () => {
  const leader = await madeBarrier();
  await leader.barrier.configureRotation({ enabled: true, maxOperations: 1_000_000, interval: 0n });
  leader.barrier.countElsewhere(7, 5_000_000); // of a key that is not the newest
  leader.barrier.countElsewhere(1, 999_000);
  await leader.world.timers.advance(300n * SECOND);
  await leader.store.settled();
  assert.equal(leader.barrier.keyStatus.term, 1);
  await leader.barrier.seal();
  const again = sealedBarrier(leader.disk);
  again.barrier.unseal(ROOT_KEY);
  assert.ok(again.barrier.keyStatus.encryptions >= 999_000);
  again.barrier.activate();
  again.barrier.countElsewhere(1, 1_000);
  await again.world.timers.advance(300n * SECOND);
  await again.store.settled();
  assert.equal(again.barrier.keyStatus.term, 2);
});

test("new keys are taken over while the store follows; its own count stays, and custody is written with the root key", async () => {
  const leader = await madeBarrier();
  const follower = await joined(leader);
  await follower.barrier.view("core/").write((tx) => tx.put("role", "x", codec));
  const own = follower.barrier.ownEncryptions;
  let replaced = 0;
  const take = () => follower.barrier.takeOver(handed(leader), () => void replaced++);
  assert.equal(await take(), false);
  await leader.barrier.rotate();
  assert.equal(await take(), true);
  assert.equal(replaced, 0, "the root key is the same");
  assert.deepEqual(follower.barrier.keysVersion, { generation: 1, term: 2 });
  assert.equal(follower.barrier.ownEncryptions, 0);
  await rekey(leader);
  assert.deepEqual(leader.barrier.keysVersion, { generation: 2, term: 2 });
  assert.equal(await take(), true);
  assert.equal(await take(), false);
  assert.equal(replaced, 1);
  assert.deepEqual(follower.barrier.keysVersion, leader.barrier.keysVersion);
  await follower.barrier.view("core/").write((tx) => tx.put("role", "y", codec));
  const again = sealedBarrier(follower.disk);
  assert.equal(again.barrier.unseal(ROOT_KEY), false);
  assert.ok(again.barrier.unseal(OTHER_KEY));
  assert.equal(again.barrier.view("core/").get("role", codec), "y");
  assert.ok(own > 0);
});

test("entries of before and after a rekey are applied, whenever the keys were taken over", async () => {
  const leader = await madeBarrier();
  const early = await joined(leader);
  const late = await joined(leader);
  const sealed = await joined(leader);
  await sealed.barrier.seal();
  await leader.barrier.rotate();
  await put(leader, "a", "1");
  await rekey(leader);
  await leader.barrier.rotate();
  await put(leader, "b", "2");
  // Its keys are ahead of the log: the first of the new keys is sealed under a root key that is gone.
  await early.barrier.takeOver(handed(leader), nothing);
  await catchUp(early, leader);
  // The log is ahead of its keys: it stops, takes them over, and goes on.
  await assert.rejects(catchUp(late, leader), refused("log-control-unreadable"));
  await late.barrier.takeOver(handed(leader), nothing);
  await catchUp(late, leader);
  // It reads nothing while it is sealed, and then with a root key that is gone.
  await catchUp(sealed, leader);
  assert.ok(sealed.barrier.unseal(ROOT_KEY));
  sealed.barrier.activate();
  assert.equal(get(sealed, "a"), "1");
  assert.throws(() => get(sealed, "b"), refused("barrier-entry-damaged"));
  await sealed.barrier.takeOver(handed(leader), nothing);
  for (const follower of [early, late, sealed]) {
    assert.deepEqual([get(follower, "a"), get(follower, "b")], ["1", "2"]);
    await follower.store.settled();
    assert.equal(follower.store.keys(UNREAD_CONTROLS, { limit: 9 }).length, 0);
    assert.deepEqual(follower.store.differsFrom(leader.engine.meta(HEAD_ROW)!), []);
  }
});

test("keys never go back, and those of another set or of another past are refused", async () => {
  const leader = await madeBarrier();
  const follower = await joined(leader);
  const first = handed(leader);
  await leader.barrier.rotate();
  const second = handed(leader);
  await follower.barrier.takeOver(second, nothing);
  await assert.rejects(follower.barrier.takeOver(first, nothing), refused("barrier-keys-behind"));
  await rekey(leader);
  await follower.barrier.takeOver(handed(leader), nothing);
  await assert.rejects(follower.barrier.takeOver(second, nothing), refused("barrier-keys-behind"));
  assert.deepEqual(follower.barrier.keysVersion, { generation: 2, term: 2 });
  const stranger = await madeBarrier();
  await stranger.barrier.rotate();
  await stranger.barrier.rotate();
  const apart = refused("barrier-keys-apart");
  await assert.rejects(follower.barrier.takeOver(handed(stranger), nothing), apart);
  // Two who have the same past, and each a key of its own since.
  const one = await joined(leader);
  await one.store.lead();
  await one.barrier.rotate();
  await leader.barrier.rotate();
  await assert.rejects(one.barrier.takeOver(handed(leader), nothing), apart);
  assert.equal(one.barrier.keysVersion.term, 3);
});

test("a transaction that is refused leaves the keys as they were", async () => {
  const leader = await madeBarrier();
  const follower = await joined(leader);
  await leader.barrier.rotate();
  await rekey(leader);
  const fail = () => {
    throw new Error("no");
  };
  await assert.rejects(follower.barrier.takeOver(handed(leader), fail), /no/);
  assert.deepEqual(follower.barrier.keysVersion, { generation: 1, term: 1 });
  await follower.barrier.view("core/").write((tx) => tx.put("role", "x", codec));
  const again = sealedBarrier(follower.disk);
  assert.ok(again.barrier.unseal(ROOT_KEY));
});

test("what is cut short or malformed is no keys, and the bytes are wiped", async () => {
  const { barrier } = await madeBarrier();
  const whole = encodeHandedKeys(barrier.handOver());
  for (const length of [0, 31, 32, 33, whole.length - 1]) {
    assert.equal(decodeHandedKeys(Buffer.from(whole.subarray(0, length))), null);
  }
  assert.ok(decodeHandedKeys(whole) !== null);
  assert.ok(whole.every((byte) => byte === 0));
});

test("who gives up what it did by itself has the keys of the other, and still opens its own rows", async () => {
  const leader = await madeBarrier();
  await put(leader, "a", "1");
  const alone = await joined(leader);
  await alone.store.lead();
  const shared = alone.barrier.keysVersion;
  await alone.barrier.rotate();
  const core = alone.barrier.view("core/");
  await core.write((tx) => tx.put("role", "own", codec));
  const { index } = alone.store;
  const giveUp = { mayGiveUp: true };
  let replaced = 0;
  const take = () => alone.barrier.takeOver(handed(leader), () => void replaced++, giveUp);
  // Back to the fork, as a rewind does: its own rotation is in no log any more.
  await alone.store.follow();
  await alone.store.rewind(await alone.store.surplus(index - 1n), []);
  // A key of the same term from the log is another one: it is not taken for the one that is here.
  await leader.barrier.rotate();
  await put(leader, "b", "2");
  await assert.rejects(catchUp(alone, leader), refused("log-control-unreadable"));
  await assert.rejects(
    alone.barrier.takeOver(handed(leader), nothing),
    refused("barrier-keys-apart"),
  );
  assert.equal(await take(), true);
  assert.equal(await take(), false);
  assert.equal(replaced, 0);
  await catchUp(alone, leader);
  assert.deepEqual([get(alone, "a"), get(alone, "b")], ["1", "2"]);
  // The root key was replaced on both sides, too.
  await leader.barrier.ceremony((_, raw) => leader.barrier.replaceRootKey(raw, OTHER_KEY));
  assert.equal(await take(), true);
  assert.equal(replaced, 1);
  await core.write((tx) => tx.put("later", "x", codec));
  const again = sealedBarrier(alone.disk);
  await again.store.follow();
  assert.ok(again.barrier.unseal(OTHER_KEY));
  assert.deepEqual(again.barrier.keysVersion, leader.barrier.keysVersion);
  assert.equal(
    again.barrier.view("core/").get("role", codec),
    "own",
    "sealed with a key that was given up",
  );
  assert.equal(again.barrier.view("core/").get("later", codec), "x");
  assert.equal(get(again, "b"), "2");
  assert.equal(shared.term, 1);
});

test("a log whose leader gave up a key of its own is followed from before that, whenever the keys were taken over", async () => {
  const leader = await madeBarrier();
  const early = await joined(leader);
  const late = await joined(leader);
  const other = await joined(leader);
  await other.store.lead();
  await other.barrier.rotate();
  await leader.barrier.rotate();
  await put(leader, "a", "1");
  await leader.barrier.takeOver(handed(other), nothing, { mayGiveUp: true });
  await put(leader, "b", "2");
  await early.barrier.takeOver(handed(leader), nothing);
  for (const follower of [early, late]) {
    await catchUp(follower, leader);
    assert.deepEqual([get(follower, "a"), get(follower, "b")], ["1", "2"]);
    assert.ok(follower.barrier.handOver().keyring.goesBy(other.barrier.handOver().keyring));
    await follower.store.settled();
    assert.deepEqual(follower.store.differsFrom(leader.engine.meta(HEAD_ROW)!), []);
  }
});

test("who stands in for a leader that gave up keys of its own takes over what that has instead, however many of them it had, and goes on", async () => {
  const leader = await madeBarrier();
  const before = await joined(leader); // has its keys before its log
  const streaming = await joined(leader);
  const sealed = await joined(leader);
  const beside = await joined(leader); // has followed the other
  const other = await joined(leader);
  await other.store.lead();
  await other.barrier.rotate();
  await leader.barrier.rotate();
  await put(leader, "a", "1");
  await leader.barrier.rotate();
  await put(leader, "b", "2");
  const old = handed(leader);
  await before.barrier.takeOver(old, nothing);
  await catchUp(streaming, leader);
  await beside.barrier.takeOver(handed(other), nothing);
  await leader.barrier.takeOver(handed(other), nothing, { mayGiveUp: true });
  await put(leader, "c", "3");
  const all = [before, streaming, sealed, beside];
  for (const follower of all) {
    assert.equal(await follower.barrier.takeOver(handed(leader), nothing), true);
    assert.equal(await follower.barrier.takeOver(handed(leader), nothing), false);
  }
  await sealed.barrier.seal();
  for (const follower of all) await catchUp(follower, leader);
  assert.ok(sealed.barrier.unseal(ROOT_KEY));
  sealed.barrier.activate();
  for (const follower of all) {
    assert.deepEqual(follower.barrier.keysVersion, { generation: 1, term: 2 });
    assert.ok(follower.barrier.handOver().keyring.goesBy(other.barrier.handOver().keyring));
    assert.deepEqual(
      ["a", "b", "c"].map((key) => get(follower, key)),
      ["1", "2", "3"],
    );
    await follower.store.settled();
    assert.equal(follower.store.keys(UNREAD_CONTROLS, { limit: 9 }).length, 0);
    assert.deepEqual(follower.store.differsFrom(leader.engine.meta(HEAD_ROW)!), []);
    // Those of before it gave them up are older than what is here now.
    await assert.rejects(follower.barrier.takeOver(old, nothing), refused("barrier-keys-apart"));
  }
});

test("a key that was given up is not learned anew from the log where nothing has its place", async () => {
  const leader = await madeBarrier();
  const other = await joined(leader);
  await other.store.lead();
  await other.barrier.rotate();
  const follower = await joined(leader);
  const { index } = follower.store;
  for (const name of ["a", "b"]) {
    await leader.barrier.rotate();
    await put(leader, name, name);
  }
  await leader.barrier.takeOver(handed(other), nothing, { mayGiveUp: true });
  await follower.barrier.takeOver(handed(leader), nothing);
  // As far as the second key, and not to where it is given up.
  await follower.store.apply(sent(leader.engine, index + 1n, 4));
  assert.equal(get(follower, "b"), "b");
  assert.deepEqual(follower.barrier.keysVersion, { generation: 1, term: 2 });
  assert.equal(await follower.barrier.takeOver(handed(leader), nothing), false);
});

test("a key that was given up is known from the log also where the root key was replaced since", async () => {
  const leader = await madeBarrier();
  const [follower, other] = [await joined(leader), await joined(leader)];
  await other.store.lead();
  await other.barrier.rotate();
  await leader.barrier.rotate();
  await leader.barrier.rotate();
  await put(leader, "a", "1");
  await leader.barrier.takeOver(handed(other), nothing, { mayGiveUp: true });
  await rekey(leader);
  await follower.barrier.takeOver(handed(leader), nothing);
  await catchUp(follower, leader);
  assert.equal(get(follower, "a"), "1");
  assert.deepEqual(follower.barrier.keysVersion, { generation: 2, term: 2 });
  await follower.store.settled();
  assert.equal(follower.store.keys(UNREAD_CONTROLS, { limit: 9 }).length, 0);
});

test("a key of its own that the other has not yet is given up, too, and keys of another set never are taken", async () => {
  const leader = await madeBarrier();
  const alone = await joined(leader);
  await alone.store.lead();
  await alone.barrier.rotate();
  await alone.barrier.view("core/").write((tx) => tx.put("role", "own", codec));
  await assert.rejects(
    alone.barrier.takeOver(handed(leader), nothing),
    refused("barrier-keys-behind"),
  );
  await alone.barrier.takeOver(handed(leader), nothing, { mayGiveUp: true });
  assert.deepEqual(alone.barrier.keysVersion, { generation: 1, term: 1 });
  assert.equal(alone.barrier.view("core/").get("role", codec), "own");
  const stranger = sealedBarrier(new MemoryDisk());
  const keys = { rootKey: ROOT_KEY, treeKey: OTHER_KEY };
  await stranger.barrier.create(keys, IDENTITY, nothing);
  await assert.rejects(
    alone.barrier.takeOver(handed(stranger), nothing, { mayGiveUp: true }),
    refused("barrier-keys-apart"),
  );
});
