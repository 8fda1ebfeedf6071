// Rows that a secondary takes over without their entries: by a copy, by a comparison, by going back. Others write
// meanwhile, the log is trimmed, the power fails at every commit; and nothing is given up that nobody has given up.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { TREE_KEY } from "../../../tests/support/made/made-store.ts";
import { someOf } from "../../../tests/support/often.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { tamper } from "../../../tests/support/stores/watched-engine.ts";
import { until } from "../../../tests/support/until.ts";
import type { Served } from "@holdfast/shared/grpc/method";
import type { Peer } from "../../cluster/verify.ts";
import { EngineError } from "../../storage/engines/engine.ts";
import { trimLog } from "../../storage/trimming.ts";

const BOUND = { timeout: 300_000 };
const SECOND = 1_000_000_000n;
/** Of all moments at which the power may fail, in each run others; `npm run soak -- properties` tries all. */
const TRIED = 8;

async function turns(count = 40): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

async function filled(rows = 60, options?: Parameters<typeof ReplicatedPair.make>[0]) {
  const pair = await ReplicatedPair.make(options);
  await pair.primary.store.write((tx) => {
    for (let i = 0; i < rows; i++)
      tx.put(`shared/${i}`, Buffer.from(`value ${i}`), Buffer.alloc(16, i));
    tx.put("local/x", Buffer.from("1"));
    tx.put("core/own", Buffer.from("never leaves"));
  });
  return pair;
}

/** Both the same, and the secondary away. */
async function apart(rows = 60): Promise<ReplicatedPair> {
  const pair = await filled(rows);
  pair.receiver.open();
  await pair.atRest();
  await pair.receiver.close();
  pair.calls.clear();
  pair.secondary.engine.batches.length = 0;
  return pair;
}

/** Each answer of a method waits until the test says so. */
function held(pair: ReplicatedPair, method: string): { release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  pair.instead.set(method, (real: Served<Peer>) => ({
    shape: real.shape,
    async *run(requests, call) {
      for await (const answer of real.run(requests, call)) {
        await promise;
        yield answer;
      }
    },
  }));
  return { release: resolve };
}

describe("rows without entries", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  test("what is written while rows are copied comes by the log, which is kept for it", async () => {
    pair = await filled();
    const { release } = held(pair, "CopyScope");
    pair.receiver.open();
    await until(() => pair.calls.get("CopyScope") === 1);
    for (let i = 0; i < 30; i++) await pair.put(`shared/${i * 3}`, `meanwhile ${i}`);
    const retention = { ...pair.sender.retention, minEntries: 0n };
    assert.equal(await trimLog(pair.primary.store, pair.world, retention), 1);
    assert.equal(pair.primary.store.tail!.first, 2n, "all after the anchor stays");
    assert.equal(pair.sender.needed(), 2n);
    release();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1, "no comparison was needed");
    assert.equal(pair.secondary.store.get("core/own"), null);
    assert.equal(pair.sender.needed(), 32n);
    assert.equal(pair.sender.pinned(), null);
  });

  test("until the log has come to the last read, the rows are of no index, also after a crash", async () => {
    pair = await filled();
    const streaming = held(pair, "StreamLog");
    pair.instead.set("CopyScope", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        await pair.put("shared/0", "after the anchor, and before it is read");
        yield* real.run(requests, call);
      },
    }));
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    const { store } = pair.secondary;
    assert.deepEqual([store.adopting, store.index], [null, 1n]);
    assert.equal(Buffer.from(store.get("shared/0")!).toString().slice(0, 5), "after", "of entry 2");
    assert.equal(pair.receiver.status.isConsistent, false);
    await pair.crashSecondary();
    await turns();
    assert.equal(pair.receiver.status.isConsistent, false);
    streaming.release();
    await pair.atRest();
    assert.ok(pair.receiver.status.isConsistent);
  });

  test("keys that were made before the anchor are fetched: the log does not tell of them", async () => {
    pair = await filled();
    pair.instead.set("BeginDiff", (real) => ({
      shape: real.shape,
      run: (requests, call) => {
        pair.keysVersion.primary = "2";
        return real.run(requests, call);
      },
    }));
    held(pair, "Echo");
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    assert.equal(pair.keysVersion.secondary, "2");
  });

  test("a copy whose log is gone ends with a comparison", async () => {
    pair = await filled();
    const { release } = held(pair, "CopyScope");
    pair.receiver.open();
    await until(() => pair.calls.get("CopyScope") === 1);
    for (let i = 0; i < 30; i++) await pair.put(`shared/${i * 3}`, `meanwhile ${i}`);
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n }); // as if the bounds were reached
    release();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 2);
  });

  test("R-96: one who is behind a trimmed log fetches what has changed, and nothing else", async () => {
    pair = await apart(2000);
    for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`, "new");
    await pair.primary.store.write((tx) => tx.delete("shared/100"));
    await pair.put("shared/more");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1);
    assert.equal(pair.calls.get("CopyScope"), undefined);
    assert.deepEqual(pair.receiver.status.syncProgress, null);
    const adopted = pair.secondary.engine.batches.flatMap(({ data }) => data.map(({ key }) => key));
    const changed = new Set(adopted.filter((key) => !key.startsWith("core/")));
    const keys = ["0", "1", "100", "2", "3", "4", "more"].map((name) => `shared/${name}`);
    assert.deepEqual([...changed].toSorted(), keys.toSorted());
  });

  test("one that has rows and a log of its own compares, and has those of the primary then", async () => {
    pair = await filled();
    const { store } = pair.secondary;
    await store.lead();
    for (let i = 0; i < 20; i++) {
      await store.write((tx) => tx.put(`shared/${i * 5}`, Buffer.from("own"), Buffer.alloc(16, 1)));
    }
    await store.write((tx) => tx.put("core/node", Buffer.from("stays")));
    await store.follow();
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.calls.get("CopyScope"), undefined);
    assert.equal(Buffer.from(store.get("core/node")!).toString(), "stays");
    assert.equal(store.timeline!.epochs[0]!.cluster, "a");
  });

  test("a storage that takes less at once gets all of it in smaller parts", async () => {
    pair = await filled(300);
    pair.secondary.limits = { operations: 20, bytes: 2 * 1024 * 1024 };
    await pair.crashSecondary();
    for (let i = 0; i < 100; i++) {
      await pair.primary.store.write((tx) => {
        for (let j = 0; j < 5; j++) tx.put(`shared/${(i * 7 + j) % 300}`, Buffer.from(`new ${i}`));
      });
    }
    await pair.atRest();
    assert.ok(pair.secondary.engine.batches.every(({ data }) => data.length <= 21));
    await pair.receiver.close();
    await pair.primary.store.write((tx) => {
      for (let i = 0; i < 300; i += 2) tx.put(`shared/${i}`, Buffer.from("later"));
    });
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
  });

  test("one that is sealed before the log has come to the last read goes on with the log when it is unsealed", async () => {
    pair = await filled();
    const streaming = held(pair, "StreamLog");
    pair.instead.set("CopyScope", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        for (let i = 0; i < 3; i++) await pair.put(`shared/${i}`, "after the anchor");
        yield* real.run(requests, call);
      },
    }));
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    const { store } = pair.secondary;
    await store.lock();
    streaming.release();
    await pair.put("shared/5", "later");
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.equal(
      pair.receiver.status.isConsistent,
      false,
      "entries up to the last read are missing",
    );
    store.unlock(TREE_KEY);
    pair.receiver.retry();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1);
  });

  test("a comparison under writes is over after one round", async () => {
    pair = await apart(300);
    for (let i = 0; i < 40; i++) await pair.put(`shared/${i}`, "new");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    let isWriting = true;
    const writing = (async () => {
      for (let i = 0; isWriting; i++) {
        await pair.put(`shared/${i % 300}`, `busy ${i}`);
        if (i % 7 === 0)
          await pair.primary.store.write((tx) => tx.delete(`shared/${(i * 5) % 300}`));
        await nextTurn();
      }
    })();
    try {
      pair.receive();
      pair.receiver.open();
      await until(
        () => pair.receiver.status.state === "stream-wals" && pair.receiver.status.isConsistent,
      );
      await turns(100);
    } finally {
      isWriting = false;
    }
    await writing;
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1);
  });

  test("a row that has vanished at the primary does not vanish here", async () => {
    pair = await apart();
    await pair.put("shared/5", "new");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    await tamper(pair.primary.engine.inner, { data: [{ key: "shared/5", value: null }] });
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /damaged/);
    assert.equal(Buffer.from(pair.secondary.store.get("shared/5")!).toString(), "value 5");
    await tamper(pair.primary.engine.inner, {
      data: [{ key: "shared/5", value: Buffer.from("new") }],
    });
    await pair.atRest();
  });

  test("R-103: what cannot be mended is tried three times, and again after ten minutes", async () => {
    pair = await apart();
    for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`, "new");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    // Somebody between them leaves out what is asked for.
    pair.instead.set("Leaves", (real) => ({
      shape: real.shape,
      run: (requests, call) => real.run(emptied(requests), call),
    }));
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.isUnmended);
    await turns();
    assert.equal(pair.receiver.status.state, "idle");
    assert.match(pair.receiver.status.lastSyncError!, /three comparisons/);
    assert.equal(pair.calls.get("BeginDiff"), 3);
    const events = pair.world.lines.filter((line) => line.includes("corruption-detected"));
    assert.equal(events.length, 1, "it is told once");
    const tries = pair.world.lines.filter((line) => line.includes("do not add up"));
    assert.equal(tries.length, 3, "each try that was in vain is told");
    await pair.world.timers.advance(500n * SECOND);
    assert.equal(pair.calls.get("BeginDiff"), 3, "not yet");
    pair.instead.clear();
    await pair.world.timers.advance(101n * SECOND);
    await pair.atRest();
    assert.equal(pair.receiver.status.isUnmended, false);
  });
});

/** The same request without the slots. */
async function* emptied(requests: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const request of requests) yield request.subarray(0, 2);
}

describe("two logs that went apart", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  /** The secondary has led for a while, as one does that was promoted and then replaced. */
  async function divided({ epoch = true, entries = 6 } = {}): Promise<void> {
    pair = await apart();
    const { store } = pair.secondary;
    await store.lead();
    if (epoch) await store.startEpoch("b");
    for (let i = 0; i < entries; i++) {
      await store.write((tx) => {
        tx.put(`shared/${i}`, Buffer.from(`own ${i}`));
        tx.put(`shared/own/${i}`, Buffer.from("1"));
        tx.delete(`shared/${20 + i}`);
      });
    }
    await store.follow();
    pair.receive();
  }

  test("stay apart until somebody says which is given up", async () => {
    await divided();
    for (let i = 0; i < 4; i++) await pair.put(`shared/${i * 2}`, "of the primary");
    const before = pair.secondary.engine.rows({ from: "", to: null, limit: 1000 });
    const { index } = pair.secondary.store;
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    await pair.world.timers.advance(120n * SECOND);
    assert.match(pair.receiver.status.lastSyncError!, /goes on to 8, and has only 1 in common/);
    assert.equal(pair.receiver.status.state, "idle");
    assert.equal(pair.secondary.store.index, index);
    assert.deepEqual(pair.secondary.engine.rows({ from: "", to: null, limit: 1000 }), before);
    pair.mayRewind = true;
    pair.receiver.retry();
    await pair.atRest();
    assert.equal(pair.receiver.status.lastSyncError, null);
    assert.equal(pair.givenUp.length, 1);
    assert.equal(pair.givenUp[0]!.before.index, 8n);
    assert.equal(pair.mayRewind, false, "once");
    assert.equal(pair.calls.get("BeginDiff"), undefined);
  });

  test("the same where the primary has lost its last entries, without another epoch", async () => {
    await divided({ epoch: false });
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /goes on to 7, and has only 1 in common/);
    pair.mayRewind = true;
    pair.receiver.retry();
    await pair.atRest();
  });

  test("two that went on from one place in one epoch are not brought together, whoever allows it", async () => {
    await divided({ epoch: false, entries: 3 });
    for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`, "of the primary");
    pair.mayRewind = true;
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /nothing in common/);
    assert.equal(pair.secondary.store.index, 4n);
    assert.equal(pair.givenUp.length, 0);
  });

  test("nor where the secondary has gone further", async () => {
    await divided({ epoch: false, entries: 6 });
    for (let i = 0; i < 3; i++) await pair.put(`shared/${i}`, "of the primary");
    pair.mayRewind = true;
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /nothing in common/);
    assert.equal(pair.secondary.store.index, 7n);
    assert.equal(pair.givenUp.length, 0);
  });

  test("a permission that nobody needed is used up when the log goes on", async () => {
    await divided({ epoch: false, entries: 0 });
    pair.mayRewind = true;
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.mayRewind, false);
    assert.equal(pair.givenUp.length, 0);
  });

  test("where what is given up is not kept any more, all is compared", async () => {
    await divided();
    await trimLog(pair.secondary.store, pair.world, { minEntries: 2n });
    await pair.put("shared/primary");
    pair.mayRewind = true;
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1);
    assert.equal(pair.mayRewind, false);
    assert.deepEqual(
      pair.givenUp.map(({ fork, before }) => [fork, before.index]),
      [[6n, 8n]],
      "what is left of it",
    );
  });

  test("where the primary does not know any more where they parted, what is given up is kept, and allowed, all the same", async () => {
    await divided();
    for (let i = 0; i < 20; i++) await pair.put(`shared/${i}`, "of the primary");
    await trimLog(pair.primary.store, pair.world, { minEntries: 2n });
    const { index } = pair.secondary.store;
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    await pair.world.timers.advance(120n * SECOND);
    assert.match(pair.receiver.status.lastSyncError!, /goes on to 8, and has only 1 in common/);
    assert.equal(pair.secondary.store.index, index);
    pair.mayRewind = true;
    pair.receiver.retry();
    await pair.atRest();
    assert.deepEqual(
      pair.givenUp.map(({ fork, before }) => [fork, before.index]),
      [[1n, 8n]],
    );
    assert.equal(pair.calls.get("BeginDiff"), 1);
    assert.equal(pair.mayRewind, false);
  });

  for (const what of ["says where they parted", "does not know where they parted"]) {
    test(`who has entries and no rows is not one that has nothing: the primary ${what}`, async () => {
      pair = await ReplicatedPair.make();
      await pair.parted(async (store) => {
        await store.write((tx) => tx.put("shared/own", Buffer.from("1")));
        await store.write((tx) => tx.delete("shared/own"));
      });
      for (let i = 0; i < 9; i++) await pair.put(`shared/${i}`);
      if (what.startsWith("does")) {
        await trimLog(pair.primary.store, pair.world, { minEntries: 2n });
      }
      pair.receive();
      pair.receiver.open();
      await until(() => pair.receiver.status.lastSyncError !== null);
      assert.match(pair.receiver.status.lastSyncError!, /goes on to 3, and has only 0 in common/);
      assert.equal(pair.secondary.store.index, 3n);
      pair.mayRewind = true;
      pair.receiver.retry();
      await pair.atRest();
      assert.deepEqual(
        pair.givenUp.map(({ fork, before }) => [fork, before.index]),
        [[0n, 3n]],
      );
    });
  }
});

describe("the power fails", { timeout: 300_000 }, () => {
  /** What happens on the disk of the secondary from opening it to rest, and the same with a failure at each of its
   *  commits: before it, and after it. */
  async function atEveryCommit(
    prepare: () => Promise<ReplicatedPair>,
    busy: (pair: ReplicatedPair) => Promise<void>,
    atMost = Infinity, // comparisons, where the first commit has come to the disk
  ): Promise<void> {
    const first = await prepare();
    first.secondary.engine.batches.length = 0;
    first.receiver.open();
    await busy(first);
    await first.atRest();
    const commits = first.secondary.engine.batches.length;
    await first.close();
    assert.ok(commits >= 4, "the harness");
    const failures = Array.from({ length: commits }, (_, failing) =>
      [false, true].map((landed) => ({ failing, landed })),
    ).flat();
    for (const { failing, landed } of someOf(failures, TRIED)) {
      const pair = await prepare();
      const { engine } = pair.secondary;
      const commit = engine.commit.bind(engine);
      let count = 0;
      let isDown = false;
      engine.commit = async (batch) => {
        if (isDown) throw new EngineError("the power failed");
        if (count++ !== failing) return await commit(batch);
        isDown = true;
        if (landed) await commit(batch);
        throw new EngineError("the power failed");
      };
      pair.receiver.open();
      await busy(pair);
      for (let i = 0; i < 500 && !isDown; i++) await nextTurn();
      await pair.crashSecondary();
      await pair.atRest();
      assert.ok((await pair.secondary.store.check()).ok);
      const isBegun = failing > 0 || landed;
      const begun = pair.calls.get("BeginDiff") ?? 0;
      assert.ok(!isBegun || begun <= atMost, "it goes on where it was");
      await pair.close();
    }
  }

  const writes = async (pair: ReplicatedPair) => {
    for (let i = 0; i < 2; i++) {
      await pair.put(`shared/${i * 7}`, `busy ${i}`);
      await turns(3);
    }
  };

  test("R-92: while rows are copied, at each commit", () =>
    atEveryCommit(
      async () => {
        const pair = await ReplicatedPair.make();
        await pair.primary.store.write((tx) => {
          for (let i = 0; i < 1100; i++) tx.put(`shared/${i}`, Buffer.from(`value ${i}`));
        });
        return pair;
      },
      writes,
      1,
    ));

  test("R-92: while a comparison mends, at each commit", () =>
    atEveryCommit(async () => {
      const pair = await apart(600);
      await pair.primary.store.write((tx) => {
        for (let i = 0; i < 550; i++) {
          if (i % 3 === 0) tx.delete(`shared/${i}`);
          else tx.put(`shared/${i}`, Buffer.from("new"));
        }
      });
      await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
      pair.receive();
      return pair;
    }, writes));

  test("while it goes back, at each commit", () =>
    atEveryCommit(async () => {
      const pair = await apart(600);
      const { store } = pair.secondary;
      await store.lead();
      await store.startEpoch("b");
      await store.write((tx) => {
        for (let i = 0; i < 550; i++) tx.put(`shared/${i}`, Buffer.from("own"));
      });
      await store.follow();
      pair.mayRewind = true;
      pair.receive();
      return pair;
    }, writes));
});
