// A log that was written here, and a primary whose log is another from its beginning, as after a restore: what only this one has is handed
// over before it is gone, where a token allows it.

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";

const BOUND = { timeout: 300_000 };

/** The secondary has three entries of its own. `own`: who it says to be; its log was begun by b. */
async function withOwnLog({ own = "b", isEmptied = false } = {}) {
  const self = () => ({ clusterId: own, version: "0.1.0", apiAddress: "", clusterAddresses: [] });
  const pair = await ReplicatedPair.make({ receiver: { self } });
  const { store } = pair.secondary;
  await store.lead();
  const begun = store.index;
  const key = (n: number) => `shared/own-${n}`;
  for (const n of [1, 2, 3]) await store.write((tx) => tx.put(key(n), Buffer.from("1")));
  if (isEmptied) {
    await store.write((tx) => {
      for (const n of [1, 2, 3]) tx.delete(key(n));
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
      for (const n of [1, 2, 3]) assert.ok(surplus.keys.includes(`shared/own-${n}`));
      assert.equal(pair.mayRewind, false);
    });
  }

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

  test("that another cluster has written is that one's to give up", async () => {
    const { pair } = await withOwnLog({ own: "c" });
    pair.mayRewind = true;
    await followed(pair);
    assert.deepEqual(pair.givenUp, []);
  });
});
