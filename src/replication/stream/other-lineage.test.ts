// A log that was written here, and a primary whose log is another from its beginning, as after a restore: what only this one has is handed
// over before it is gone, where a token allows it.

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { trimLog } from "../../storage/trimming.ts";

const BOUND = { timeout: 300_000 };

const OWN_KEYS = [1, 2, 3].map((n) => `shared/own-${n}`);

/** `own`: who the secondary says to be. */
function pairOf(own: string): Promise<ReplicatedPair> {
  const self = () => ({ clusterId: own, version: "0.1.0", apiAddress: "", clusterAddresses: [] });
  return ReplicatedPair.make({ receiver: { self } });
}

/** The secondary has three entries of its own. `own`: who it says to be; its log was begun by b. */
async function withOwnLog({ own = "b", isEmptied = false } = {}) {
  const pair = await pairOf(own);
  const { store } = pair.secondary;
  await store.lead();
  const begun = store.index;
  for (const key of OWN_KEYS) await store.write((tx) => tx.put(key, Buffer.from("1")));
  if (isEmptied) {
    await store.write((tx) => {
      for (const key of OWN_KEYS) tx.delete(key);
    });
  }
  await store.follow();
  await pair.put("shared/x");
  return { pair, begun, head: store.index };
}

async function followed(pair: ReplicatedPair): Promise<void> {
  pair.receiver.open();
  await pair.atRest();
  await pair.close();
}

describe("a log of another lineage", BOUND, () => {
  for (const isEmptied of [false, true]) {
    const rows = isEmptied ? "without rows" : "with rows";
    test(`${rows} that this cluster has written is handed over before it is given up`, async () => {
      const { pair, begun, head } = await withOwnLog({ isEmptied });
      pair.mayRewind = true;
      await followed(pair);
      const [surplus, ...more] = pair.givenUp;
      assert.ok(surplus !== undefined && more.length === 0);
      assert.ok(surplus.fork <= begun);
      assert.equal(surplus.before.index, head);
      for (const key of OWN_KEYS) assert.ok(surplus.keys.includes(key));
      assert.equal(pair.mayRewind, false);
    });
  }

  test("is handed over once, also where the copy that takes its place is cut and begins again", async () => {
    const { pair } = await withOwnLog();
    for (let i = 0; i < 1100; i++) await pair.put(`shared/many-${i}`); // more than a chunk
    let calls = 0;
    const isHalf: boolean[] = [];
    for (const name of ["CopyScope", "FetchKeys"]) {
      pair.instead.set(name, (real) => ({
        shape: real.shape,
        run: (requests, call) => {
          if (++calls !== 2) return real.run(requests, call);
          isHalf.push(pair.secondary.store.adopting !== null);
          throw new Error("the connection is gone");
        },
      }));
    }
    pair.mayRewind = true;
    await followed(pair);
    assert.deepEqual(isHalf, [true], `it was cut at the second of ${calls}`);
    assert.equal(pair.givenUp.length, 1);
  });

  test("is not handed over where nobody has allowed it", async () => {
    const { pair } = await withOwnLog();
    await followed(pair);
    assert.deepEqual(pair.givenUp, []);
  });

  test("is handed over from the last time on that this cluster began to write", async () => {
    const { pair } = await withOwnLog();
    const { store } = pair.secondary;
    await store.lead();
    for (const cluster of ["b", "c", "b"]) await store.startEpoch(cluster);
    const own = store.index;
    await store.follow();
    pair.mayRewind = true;
    await followed(pair);
    assert.equal(pair.givenUp[0]!.fork, own - 1n);
  });

  test("is handed over as far as it is kept", async () => {
    const { pair, begun, head } = await withOwnLog();
    const { store } = pair.secondary;
    await trimLog(store, pair.world, { minEntries: 2n });
    assert.equal(store.tail!.first, head - 1n);
    assert.ok(begun < head - 2n);
    pair.mayRewind = true;
    await followed(pair);
    const [surplus, ...more] = pair.givenUp;
    assert.deepEqual(
      [surplus?.fork, surplus?.keys, more.length],
      [head - 2n, OWN_KEYS.slice(1), 0],
    );
  });

  test("that has no entry yet is nothing to give up: a new cluster that joins has not diverged", async () => {
    const pair = await pairOf("b");
    await pair.put("shared/x");
    pair.mayRewind = true;
    await followed(pair);
    assert.deepEqual(pair.givenUp, []);
    assert.equal(pair.mayRewind, false);
    assert.ok(!pair.world.lines.some((line) => line.includes("divergence-detected")));
  });

  test("that another cluster has written is that one's to give up", async () => {
    const { pair } = await withOwnLog({ own: "c" });
    pair.mayRewind = true;
    await followed(pair);
    assert.deepEqual(pair.givenUp, []);
  });
});

test(
  "a log of the same lineage that the primary has let go is no other one: who began it gives up nothing",
  BOUND,
  async () => {
    const pair = await pairOf("a"); // as one that has led, and whose place another has taken
    await pair.put("shared/x");
    pair.receiver.open();
    await pair.atRest();
    await pair.put("shared/x", "by the log");
    await pair.atRest();
    await pair.receiver.close();
    for (let i = 0; i < 20; i++) await pair.put(`shared/${i}`);
    await trimLog(pair.primary.store, pair.world, { minEntries: 2n });
    pair.mayRewind = true;
    pair.receive();
    const compared = pair.calls.get("BeginDiff") ?? 0;
    await followed(pair);
    assert.equal(pair.calls.get("BeginDiff"), compared + 1);
    assert.deepEqual(pair.givenUp, []);
  },
);
