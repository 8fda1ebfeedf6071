// A barrier that is not active, or whose store follows: it writes nothing by unsealing, reads what others
// have sealed, and learns their new keys from the log.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  assertSameRows,
  catchUp as applyAll,
  followingBarrier,
} from "../../tests/support/stores/followed-store.ts";
import {
  type MadeBarrier,
  madeBarrier,
  OTHER_KEY,
  ROOT_KEY,
  sealedBarrier,
  unsealed,
} from "../../tests/support/made/made-barrier.ts";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { UNREAD_CONTROLS } from "../storage/following/control-records.ts";

const codec = jsonCodec<string>();

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

function put({ barrier }: MadeBarrier, key: string, value: string): Promise<void> {
  return barrier.view("shared/").write((tx) => tx.put(key, value, codec));
}

function get({ barrier }: MadeBarrier, key: string): string | null {
  return barrier.view("shared/").get(key, codec);
}

const followerOf = followingBarrier;

const catchUp = (follower: MadeBarrier, leader: MadeBarrier) => applyAll(follower, leader.engine);

const unread = ({ store }: MadeBarrier) => store.keys(UNREAD_CONTROLS, { limit: 9 }).length;

test("unsealing writes nothing and arms nothing until the node is active; then the count is stored", async () => {
  const before = await madeBarrier();
  await put(before, "a", "1");
  await before.barrier.seal();
  const { barrier, engine, world, store } = sealedBarrier(before.disk);
  assert.ok(barrier.unseal(ROOT_KEY));
  await store.settled();
  assert.equal(engine.batches.length, 0);
  assert.equal(world.timers.armed, 0);
  assert.equal(barrier.view("shared/").get("a", codec), "1");
  const inactive = refused("barrier-inactive");
  await assert.rejects(
    barrier.view("core/").write((tx) => tx.put("x", "1", codec)),
    inactive,
  );
  await assert.rejects(barrier.rotate(), inactive);
  barrier.activate();
  barrier.activate();
  await store.settled();
  assert.deepEqual(
    engine.batches.map(({ data }) => data.map(({ key }) => key)),
    [["core/keyring"]],
  );
  await barrier.view("shared/").write((tx) => tx.put("a", "2", codec));
});

test("a node that was never active seals without a write", async () => {
  const before = await madeBarrier();
  await before.barrier.seal();
  const { barrier, engine } = sealedBarrier(before.disk);
  barrier.unseal(ROOT_KEY);
  await barrier.seal();
  assert.equal(engine.batches.length, 0);
});

test("who is no longer active seals nothing more; the next one counts its margin in", async () => {
  const made = await madeBarrier();
  await put(made, "a", "1");
  const { barrier, world } = made;
  barrier.deactivate();
  assert.equal(world.timers.armed, 0);
  await assert.rejects(put(made, "a", "2"), refused("barrier-inactive"));
  assert.equal(get(made, "a"), "1");
  barrier.activate();
  assert.ok(barrier.keyStatus.encryptions >= 1_000_000);
  await put(made, "a", "2");
});

test("a new key is learned from the log before anybody sees what it seals, and is stored", async () => {
  const leader = await madeBarrier();
  await put(leader, "a", "1");
  const follower = await followerOf(leader);
  assert.ok(unsealed(follower.barrier));
  assert.equal(get(follower, "a"), "1");
  const woken: (string | null)[] = [];
  follower.barrier.view("shared/").watch("a", () => woken.push(get(follower, "a")));
  await leader.barrier.rotate();
  await put(leader, "a", "2");
  await catchUp(follower, leader);
  assert.deepEqual(woken, ["2"], "the cache was told, and the key is there");
  assert.equal(follower.barrier.keyStatus.term, 2);
  await follower.store.settled();
  assert.equal(unread(follower), 0);
  assertSameRows(follower.engine, leader.engine);
  // Its own rows are sealed under the new key, and all of it is there after a restart.
  await follower.barrier.view("core/").write((tx) => tx.put("role", "follower", codec));
  const again = sealedBarrier(follower.disk);
  await again.store.follow();
  assert.ok(again.barrier.unseal(ROOT_KEY));
  assert.equal(again.barrier.keyStatus.term, 2);
  assert.equal(get(again, "a"), "2");
});

test("what came while the node was sealed is read when it is unsealed, and again until it is stored", async () => {
  const leader = await madeBarrier();
  const follower = await followerOf(leader);
  await leader.barrier.rotate();
  await put(leader, "a", "2");
  await leader.barrier.rotate();
  await put(leader, "b", "3");
  await catchUp(follower, leader);
  assert.equal(unread(follower), 2);
  for (let i = 0; i < 2; i++) {
    assert.ok(follower.barrier.unseal(ROOT_KEY));
    assert.equal(get(follower, "a"), "2");
    assert.equal(get(follower, "b"), "3");
    assert.equal(unread(follower), 2, "unsealing writes nothing");
    await follower.barrier.seal();
  }
  assert.ok(unsealed(follower.barrier));
  await follower.store.settled();
  assert.equal(unread(follower), 0);
  assert.equal(follower.barrier.keyStatus.term, 3);
});

test("a key that is on its way to the disk while the node is unsealed is learned when it is there", async () => {
  const leader = await madeBarrier();
  const follower = await followerOf(leader);
  await leader.barrier.rotate();
  await put(leader, "a", "2");
  const open = follower.engine.hold();
  const applied = catchUp(follower, leader);
  await nextTurn();
  assert.ok(follower.barrier.unseal(ROOT_KEY));
  open();
  await applied;
  assert.equal(follower.barrier.keyStatus.term, 2);
  assert.equal(get(follower, "a"), "2");
});

test("a crash between an entry and the storing of its key loses nothing", async () => {
  const leader = await madeBarrier();
  const follower = await followerOf(leader);
  assert.ok(unsealed(follower.barrier));
  await follower.store.settled();
  await leader.barrier.rotate();
  await put(leader, "a", "2");
  const applied = catchUp(follower, leader);
  follower.engine.turns = 3; // the next commit, that of the keyring, comes late
  await applied;
  const again = sealedBarrier(follower.disk);
  await again.store.follow();
  assert.equal(unread(again), 1);
  assert.ok(unsealed(again.barrier));
  assert.equal(get(again, "a"), "2");
});

test("a key under another root key refuses its entry, and a follower makes no keys of its own", async () => {
  const leader = await madeBarrier();
  const follower = await followerOf(leader);
  assert.ok(unsealed(follower.barrier));
  await assert.rejects(follower.barrier.rotate(), refused("store-following"));
  assert.equal(follower.barrier.keyStatus.term, 1);
  await leader.barrier.ceremony((_, raw) => leader.barrier.replaceRootKey(raw, OTHER_KEY));
  await leader.barrier.rotate();
  await assert.rejects(catchUp(follower, leader), refused("log-control-unreadable"));
  assert.equal(follower.barrier.keyStatus.term, 1);
  assert.equal(follower.store.index, 0n);
});

test("on one storage a node that follows learns the key without writing, and takes over from what is stored", async () => {
  const leader = await madeBarrier();
  const standby = sealedBarrier(leader.disk);
  await standby.store.follow();
  assert.ok(standby.barrier.unseal(ROOT_KEY));
  assert.equal(get(standby, "a"), null);
  await leader.barrier.rotate();
  await put(leader, "a", "2");
  await nextTurn();
  assert.equal(get(standby, "a"), "2");
  assert.equal(standby.engine.batches.length, 0);
  await leader.barrier.seal();
  await leader.store.close();
  await nextTurn();
  await standby.store.lead();
  standby.barrier.activate();
  await put(standby, "a", "3");
  assert.equal(get(standby, "a"), "3");
  assert.ok((await standby.store.check()).ok);
});

test("a root key that was replaced meanwhile keeps a node from becoming active", async () => {
  const leader = await madeBarrier();
  const standby = sealedBarrier(leader.disk);
  await standby.store.follow();
  assert.ok(standby.barrier.unseal(ROOT_KEY));
  await leader.barrier.ceremony((_, raw) => leader.barrier.replaceRootKey(raw, OTHER_KEY));
  await nextTurn();
  assert.throws(() => standby.barrier.activate(), refused("barrier-root-key-replaced"));
  await standby.barrier.seal();
  assert.ok(standby.barrier.unseal(OTHER_KEY));
  standby.barrier.deactivate();
});
