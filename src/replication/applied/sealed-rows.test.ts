// Shared rows as they are sealed, from one cluster to another that has its keys and a store of its own: what comes is read there, what
// follows from it is written, and new keys are fetched when the first row comes that needs them.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import {
  madeBarrier,
  type MadeBarrier,
  sealedBarrier,
  unsealed,
} from "../../../tests/support/made/made-barrier.ts";
import { type Follower, Followers } from "../../barrier/followers.ts";
import { decodeHandedKeys, encodeHandedKeys } from "../../barrier/handed-keys.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import { CarriedLink } from "../../cluster/peer-link.ts";
import type { Peer } from "../../cluster/verify.ts";
import { MemoryDisk } from "../../storage/engines/memory.ts";
import { type Receiver, sharedReceiver } from "../stream/receiver.ts";
import { Sender } from "../stream/sender.ts";
import { placesIn } from "./applied-place.ts";

const codec = jsonCodec<string>();
const KIND = "performance";
const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
const ID = "0b8e2f3e-0000-4000-8000-00000000000";

function handed({ barrier }: MadeBarrier) {
  const keys = decodeHandedKeys(encodeHandedKeys(barrier.handOver()));
  assert.ok(keys !== null);
  return keys;
}

/** Of every thing there is a name in the list of its cluster. */
function listing({ barrier }: MadeBarrier): Follower<string> {
  const local = barrier.view("local/");
  return {
    folder: "ns/*/things/",
    decode: (stored) => codec.decode(stored),
    follow: (tx, key, _, after) => {
      if (after === null) tx.on(local).delete(`list/${key}`);
      else tx.on(local).put(`list/${key}`, after, codec);
    },
  };
}

function placesOf(barrier: MadeBarrier["barrier"]) {
  const below = "replication/performance/";
  return placesIn({ own: barrier.view(`core/${below}`), view: barrier.view(`local/${below}`) });
}

function versionOf({ barrier }: MadeBarrier): string {
  return JSON.stringify(barrier.keysVersion);
}

function served({ store, world, ...made }: MadeBarrier): Sender {
  return new Sender({
    kind: KIND,
    store,
    ...world,
    ports: {
      epoch: () => 1,
      epochFirst: () => "1",
      epochProof: () => Buffer.from("proof"),
      keysVersion: () => versionOf({ store, world, ...made }),
      clusterId: `${ID}a`,
      version: "0.1.0",
      apiAddress: () => "https://a:8200",
      clusterAddresses: () => ["https://a:8201"],
      isKnown: () => true,
      known: () => ["paris"],
      joined: () => ["paris"],
      confirm: async () => {},
      superseded: () => {},
    },
  });
}

interface Both {
  readonly here: MadeBarrier;
  readonly there: MadeBarrier;
  readonly sender: Sender;
  readonly fetched: () => number;
}

function received({ here, there, sender }: Both, fetch: () => Promise<void>): Receiver {
  const { store, world, barrier } = there;
  const peer: Peer = {
    set: SET,
    kind: KIND,
    id: "paris",
    serial: "4a",
    expires: here.world.clock.now() + 10n ** 18n,
  };
  const set = { table: sender.table, greet: sender.greet, isRevoked: () => false };
  return sharedReceiver({
    store,
    ...world,
    followers: new Followers(barrier.view("shared/"), [listing(there)]),
    places: placesOf(barrier),
    ports: {
      open: () => new CarriedLink(new MemoryCarrier(set, peer, world), peer),
      addresses: () => ["primary"],
      self: () => ({ clusterId: `${ID}b`, version: "0.1.0", apiAddress: "", clusterAddresses: [] }),
      epoch: () => 1,
      accept: async () => {},
      keys: fetch,
      keysVersion: () => versionOf(there),
      encryptions: () => BigInt(barrier.ownEncryptions),
      ended: async () => {},
      learned: () => {},
    },
  });
}

/** One that has something, and one that begins with its keys alone. */
async function both(t: TestContext) {
  const here = await madeBarrier();
  const put = (key: string, value: string) =>
    here.barrier.view("shared/").write((tx) => tx.put(key, value, codec));
  await put("ns/root/things/a", "1");
  await put("other/a", "1");
  await here.barrier.view("local/").write((tx) => tx.put("own", "here", codec));
  const there = sealedBarrier(new MemoryDisk());
  const identity = { lineage: Buffer.alloc(16, 8), cluster: "other" };
  await there.barrier.createWith(handed(here), identity, () => {});
  there.store.leaveShared(true);
  there.barrier.activate();
  await there.barrier.view("local/").write((tx) => tx.put("own", "there", codec));
  const sender = served(here);
  let fetched = 0;
  const pair: Both = { here, there, sender, fetched: () => fetched };
  const receiver = received(pair, async () => {
    fetched++;
    await there.barrier.takeOver(handed(here), () => {});
  });
  receiver.open();
  t.after(async () => {
    await receiver.close();
    void sender.close("the test is over");
  });
  const atRest = async () => {
    for (let i = 0; i < 200 && receiver.status.lastRemoteIndex !== here.store.index; i++) {
      await here.world.timers.advance(SECOND / 100n);
      await there.world.timers.advance(SECOND / 100n);
      for (let turn = 0; turn < 20; turn++) await nextTurn();
    }
    assert.equal(receiver.status.lastRemoteIndex, here.store.index);
  };
  await atRest();
  return { ...pair, receiver, put, atRest };
}

test("rows are read as at the primary, and what follows from them is there; each side has what is local of its own", async (t) => {
  const { here, there, put, atRest } = await both(t);
  await put("ns/root/things/b", "2");
  await put("ns/root/things/a", "3");
  await here.barrier.view("shared/").write((tx) => tx.delete("ns/root/things/b"));
  await atRest();
  const shared = there.barrier.view("shared/");
  assert.deepEqual(
    shared.records("", codec, { limit: 10 }).map(({ key, value }) => [key, value]),
    [
      ["ns/root/things/a", "3"],
      ["other/a", "1"],
    ],
  );
  const local = there.barrier.view("local/").records("", codec, { limit: 10 });
  assert.deepEqual(
    local.map(({ key, value }) => [key, value]),
    [
      ["list/ns/root/things/a", "3"],
      ["own", "there"],
    ],
  );
});

test("new keys are fetched with the first row that needs them, whether anything follows from it or not; after a start all is read", async (t) => {
  const { here, there, receiver, put, atRest, fetched } = await both(t);
  const copied = fetched();
  for (const [i, key] of ["ns/root/things/c", "other/c"].entries()) {
    assert.equal(await here.barrier.rotate(), i + 2);
    await put(key, "new");
    await atRest();
    assert.equal(there.barrier.view("shared/").get(key, codec), "new");
    assert.equal(there.barrier.keyStatus.term, i + 2);
    assert.equal(receiver.status.lastSyncError, null);
  }
  assert.equal(fetched() - copied, 2);
  await there.barrier.view("local/").write((tx) => tx.put("own", "under it", codec));
  await receiver.close();
  const again = sealedBarrier(there.disk);
  assert.ok(unsealed(again.barrier));
  const place = placesOf(again.barrier).read();
  assert.deepEqual([place?.index, place?.half, place?.until], [here.store.index, null, null]);
  assert.equal(again.barrier.view("local/").get("own", codec), "under it");
  assert.equal(again.barrier.view("local/").get("list/ns/root/things/c", codec), "new");
});
