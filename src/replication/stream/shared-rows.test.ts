// A secondary that is sent what is shared, and has a log of its own beside it: it copies, follows, goes on after a cut, compares where the log
// is gone, and neither skips nor doubles anything when the power fails. What is local stays where it is, on both sides.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { someOf } from "../../../tests/support/often.ts";
import {
  type PairOptions,
  ReplicatedPair,
} from "../../../tests/support/replication/replicated-pair.ts";
import { FOLLOWERS } from "../../../tests/support/replication/shared-side.ts";
import { tamper } from "../../../tests/support/stores/watched-engine.ts";
import { until } from "../../../tests/support/until.ts";
import { keyMissing } from "../../barrier/failures.ts";
import { serveBidirectional } from "@holdfast/shared/grpc/method";
import { EngineError } from "../../storage/engines/engine.ts";
import { chainEntry, decodeEntry, encodeEntry, sharedPart } from "../../storage/rows/log-entry.ts";
import { slotOf } from "../../storage/rows/merkle.ts";
import { u32 } from "../../storage/rows/row-bytes.ts";
import type { Store } from "../../storage/store.ts";
import { trimLog } from "../../storage/trimming.ts";
import { sharedHeadOf } from "../sending/shared-log.ts";
import * as messages from "./messages.ts";

const BOUND = { timeout: 300_000 };
const SECOND = 1_000_000_000n;
const TRIED = 8;
const DIVERGED = /another log than it said/;

async function turns(count = 40): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

/** What is at the primary before anybody comes. */
async function filled(rows = 60, options: PairOptions = {}): Promise<ReplicatedPair> {
  const pair = await ReplicatedPair.make({ kind: "performance", ...options });
  await pair.primary.store.write((tx) => {
    for (let i = 0; i < rows; i++)
      tx.put(`shared/${i}`, Buffer.from(`value ${i}`), Buffer.alloc(16, i));
    tx.put("local/theirs", Buffer.from("1"));
    tx.put("core/theirs", Buffer.from("1"));
  });
  await pair.secondary.store.write((tx) => tx.put("local/own", Buffer.from("own")));
  return pair;
}

async function following(rows?: number, options?: PairOptions): Promise<ReplicatedPair> {
  const pair = await filled(rows, options);
  pair.receiver.open();
  await pair.atRest();
  return pair;
}

function localKeys({ secondary }: ReplicatedPair): string[] {
  const keys = secondary.store.keys("local/", { limit: 10_000 });
  return keys.filter((key) => !key.startsWith("local/follows/"));
}

describe("shared rows", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  test("an empty secondary copies what is shared and follows it, beside what is its own", async () => {
    pair = await following();
    const { store } = pair.secondary;
    assert.equal(pair.hellos[0]!.isEmpty, true);
    for (let i = 0; i < 50; i++) {
      await pair.put(`shared/${i % 7}`, `again ${i}`, i);
      await store.write((tx) => tx.put(`local/own/${i % 3}`, Buffer.from(`${i}`)));
    }
    await pair.primary.store.write((tx) => tx.delete("shared/20"));
    await pair.atRest();
    assert.equal(pair.hellos.length, 1, "one session");
    assert.equal(pair.calls.get("BeginDiff"), 1);
    assert.deepEqual(localKeys(pair), ["local/own", "local/own/0", "local/own/1", "local/own/2"]);
    assert.equal(store.get("core/theirs"), null);
    const { lastRemoteIndex, highestAnnounced } = pair.receiver.status;
    assert.deepEqual([lastRemoteIndex, highestAnnounced], [52n, 52n]);
    assert.notEqual(store.index, 52n, "its log is its own");
  });

  test("nothing local crosses, in a copy, the log and a comparison; and nothing of it is handed out", async () => {
    const crossed: Buffer[] = [];
    const pass = async (to: string, message: Uint8Array) => {
      if (to === "client") crossed.push(Buffer.from(message));
    };
    pair = await filled(60, { way: { pass } });
    const [key, value] = ["local/hidden-place", "hidden-value"];
    const writes = async (round: string) => {
      for (let i = 0; i < 20; i++) {
        await pair.primary.store.write((tx) => {
          if (i % 2 === 0) tx.put(`shared/seen-${i}`, Buffer.from(`seen ${round} ${i}`));
          if (i % 3 === 0) tx.put(`${key}/${i % 4}`, Buffer.from(`${value} ${round} ${i}`));
          else tx.delete(`${key}/${i % 4}`);
        });
      }
    };
    await writes("before");
    pair.receiver.open();
    await pair.atRest();
    await writes("after");
    await pair.atRest();
    await pair.receiver.close();
    await writes("away");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 2);
    const all = Buffer.concat(crossed);
    for (const round of ["before", "after", "away"]) {
      assert.ok(all.includes(`seen ${round}`), "the harness");
    }
    assert.ok(!all.includes("hidden") && !all.includes("local/"), "nothing of a local row");
    const { index } = pair.primary.store;
    const link = pair.link("primary");
    await link.open({
      ...pair.hellos[0]!,
      clusterId: "0b8e2f3e-0000-4000-8000-00000000000b",
      version: "0.1.0",
    });
    const page = Buffer.from([1, 0]); // the first of the local tree
    const slot = u32(slotOf("local", "local/theirs")!);
    const epoch = 1;
    const refused = { message: /is not there|never leaves/ };
    await assert.rejects(link.call(messages.subpages, { epoch, pages: page }), refused);
    for (const stream of [
      link.stream(messages.leaves, { epoch, slots: slot }),
      link.stream(messages.fetchKeys, { epoch, keys: ["local/theirs"] }),
      link.stream(messages.fetchKeys, { epoch, keys: ["core/theirs"] }),
    ]) {
      await assert.rejects(stream.next(), refused);
    }
    const begun = await link.call(messages.beginDiff, { epoch, isCopy: false, filter: "" });
    assert.deepEqual([begun.head.length, begun.pages.length], [0, 256 * 32]);
    assert.equal(begun.shared?.index, index);
    await link.close();
  });

  test("entries that have nothing for it move the cursor, in few commits", async () => {
    pair = await following();
    const { engine, store } = pair.secondary;
    const before = store.index;
    engine.batches.length = 0;
    for (let i = 0; i < 200; i++) {
      await pair.put(`local/${i}`);
      await pair.world.timers.advance(SECOND / 100n);
    }
    await pair.atRest();
    assert.equal(store.index, before, "its own log has nothing of them");
    assert.ok(engine.batches.length <= 12, `${engine.batches.length} commits`);
    assert.equal(pair.sender.needed(), pair.primary.store.index + 1n);
    assert.equal(pair.calls.get("StreamLog"), 1);
  });

  test("long runs of such entries are passed over, and what comes after them is taken", async () => {
    pair = await following();
    pair.cut();
    await pair.receiver.close();
    await pair.put("shared/first", "1");
    for (let i = 0; i < 700; i++) await pair.put(`local/${i}`);
    await pair.put("shared/last", "2");
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1, "by the log");
  });

  test("after a cut the log goes on where it was, whichever side was away", async () => {
    pair = await following();
    for (let i = 0; i < 4; i++) {
      await pair.put(`shared/more/${i}`);
      pair.cut();
      await pair.put(`shared/0`, `${i}`);
      await pair.put(`local/${i}`);
      await pair.atRest();
      if (i % 2 === 0) await pair.crashSecondary();
      else await pair.crashPrimary();
      await pair.put(`shared/1`, `${i}`);
      await pair.atRest();
    }
    assert.equal(pair.calls.get("BeginDiff"), 1);
    assert.deepEqual(localKeys(pair), ["local/own"]);
  });

  test("where the log is gone what differs is fetched, and what is gone there goes here", async () => {
    pair = await following(2000);
    await pair.receiver.close();
    for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`, "new");
    await pair.put("shared/7", "value 7", 99); // another scope
    await pair.primary.store.write((tx) => tx.delete("shared/100"));
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    const { engine } = pair.secondary;
    engine.batches.length = 0;
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 2);
    const changed = engine.batches.flatMap(({ data }) => data.map(({ key }) => key));
    const shared = changed.filter((key) => key.startsWith("shared/"));
    assert.deepEqual(shared.toSorted(), [
      "shared/0",
      "shared/1",
      "shared/100",
      "shared/2",
      "shared/3",
      "shared/4",
      "shared/7",
    ]);
    assert.deepEqual(localKeys(pair), ["local/own"]);
  });

  for (const [what, stagedBytes] of [
    ["is written when all of it is here", undefined],
    ["and is more than is kept is written as it comes", 200],
  ] as const) {
    test(`what a comparison fetches ${what}: until then those who read see what they saw`, async () => {
      pair = await following(2000, stagedBytes === undefined ? {} : { stagedBytes });
      await pair.receiver.close();
      for (let i = 0; i < 1500; i++) await pair.put(`shared/${i}`, `new ${i}`);
      await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
      const held = Promise.withResolvers<void>();
      let fetched = 0;
      pair.instead.set("FetchKeys", (real) => ({
        shape: real.shape,
        async *run(requests, call) {
          if (++fetched === 2) await held.promise;
          yield* real.run(requests, call);
        },
      }));
      pair.receive();
      pair.receiver.open();
      const { store } = pair.secondary;
      const changed = () => {
        const values = Array.from({ length: 1500 }, (_, i) => store.get(`shared/${i}`));
        return values.filter((value) => Buffer.from(value!).toString().startsWith("new")).length;
      };
      const isStaged = stagedBytes === undefined;
      await until(() => fetched === 2 && (isStaged || changed() > 0));
      await turns();
      assert.equal(pair.receiver.status.isConsistent, isStaged);
      assert.equal(changed() === 0, isStaged);
      held.resolve();
      await pair.atRest();
      assert.ok(pair.receiver.status.isConsistent);
      assert.equal(changed(), 1500);
    });
  }

  test("a copy whose log is gone ends with a comparison", async () => {
    pair = await filled();
    const held = Promise.withResolvers<void>();
    pair.instead.set("CopyScope", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        for await (const answer of real.run(requests, call)) {
          await held.promise;
          yield answer;
        }
      },
    }));
    pair.receiver.open();
    await until(() => pair.calls.get("CopyScope") === 1);
    assert.equal(pair.sender.pinned(), 2n, "the log is kept for it");
    for (let i = 0; i < 30; i++) await pair.put(`shared/${i * 3}`, `meanwhile ${i}`);
    await pair.primary.store.write((tx) => tx.delete("shared/1"));
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n }); // as if the bounds were reached
    held.resolve();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 2);
    assert.deepEqual([pair.sender.pinned(), pair.sender.needed()], [null, 33n]);
  });

  test("one that had shared rows of its own compares, and has those of the primary afterwards", async () => {
    pair = await filled();
    await pair.secondary.store.writeApplied((tx) => {
      FOLLOWERS.apply(tx, { key: "shared/9", value: Buffer.from("x"), scope: Buffer.alloc(16) });
      FOLLOWERS.apply(tx, { key: "shared/own", value: Buffer.from("x"), scope: Buffer.alloc(16) });
    });
    pair.receiver.open();
    await pair.atRest();
    assert.equal(pair.secondary.store.get("shared/own"), null);
    assert.equal(pair.calls.has("CopyScope"), false);
  });

  test("until the log has come to the last read, the rows are of no index, also after a crash", async () => {
    pair = await filled();
    const held = Promise.withResolvers<void>();
    pair.instead.set("StreamLog", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        for await (const answer of real.run(requests, call)) {
          await held.promise;
          yield answer;
        }
      },
    }));
    pair.instead.set("CopyScope", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        await pair.put("shared/0", "after the anchor, and before it is read");
        yield* real.run(requests, call);
      },
    }));
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    assert.equal(pair.receiver.status.isConsistent, false);
    await pair.crashSecondary();
    await turns();
    assert.equal(pair.receiver.status.isConsistent, false);
    held.resolve();
    await pair.atRest();
    assert.ok(pair.receiver.status.isConsistent);
  });

  test("what does not open stops it, and keys are asked for; nothing is skipped", async () => {
    let calls = 0;
    let isHere = false;
    pair = await following(3, {
      receiver: { keys: async () => void calls++ },
      followers: {
        apply: (raw, operation) => {
          if (!isHere && operation.key === "shared/new-term") throw keyMissing();
          FOLLOWERS.apply(raw, operation);
        },
      },
    });
    await pair.receiver.close(); // so that they come in one message
    await pair.primary.store.write((tx) => {
      tx.put("shared/with-it", Buffer.from("1"));
      tx.put("shared/new-term", Buffer.from("1"));
    });
    await pair.put("shared/later");
    await pair.put("local/later");
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    const { lastSyncError, state } = pair.receiver.status;
    assert.match(lastSyncError!, /entry 2 of the primary is sealed under a key that is not here/);
    assert.equal(state, "idle");
    assert.ok(calls > 0);
    const { store } = pair.secondary;
    for (const key of ["with-it", "new-term", "later"]) {
      assert.equal(store.get(`shared/${key}`), null, key);
    }
    isHere = true;
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1);
  });

  test("a disk that is nearly full stops it, and it goes on by itself", async () => {
    pair = await following(3);
    await pair.receiver.close();
    await pair.put("shared/large", "x".repeat(5000));
    await pair.put("shared/small");
    const { engine } = pair.secondary;
    engine.free = 32 * 1024 * 1024 + 3000; // above the half of the reserve that is for revocations
    await pair.world.timers.advance(SECOND);
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /nearly full.*not applied/);
    assert.equal(pair.secondary.store.get("shared/small"), null, "not before the other");
    const { state, connectionState } = pair.receiver.status;
    assert.deepEqual([state, connectionState], ["idle", "ready"]);
    assert.equal(pair.receiver.lacksRoom, true);
    engine.free = null;
    await pair.world.timers.advance(11n * SECOND);
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1);
    assert.equal(pair.receiver.lacksRoom, false);
    assert.equal(pair.receiver.status.state, "stream-wals");
  });

  test("of the reserve of a disk the log has the upper half, and what only deletes all of it", async () => {
    pair = await following(3);
    const { engine, store } = pair.secondary;
    const free = async (bytes: number) => {
      engine.free = bytes;
      await pair.world.timers.advance(SECOND);
    };
    await free(40 * 1024 * 1024);
    await assert.rejects(
      store.write((tx) => tx.put("local/own", Buffer.from("again"))),
      { code: "storage-full" },
    );
    await pair.put("shared/of-the-primary");
    await pair.atRest();
    await free(20 * 1024 * 1024);
    await pair.primary.store.write((tx) => tx.delete("shared/1"));
    await pair.put("local/theirs"); // after which there is a place, and nothing to write
    await pair.atRest();
    assert.equal(store.get("shared/1"), null);
    assert.equal(pair.receiver.lacksRoom, false);
    await pair.put("shared/more");
    await until(() => pair.receiver.lacksRoom);
    assert.equal(store.get("shared/more"), null);
    await free(100 * 1024 * 1024);
    await pair.world.timers.advance(11n * SECOND);
    await pair.atRest();
  });

  test("a primary that went while there was no room keeps nobody waiting when there is some", async () => {
    pair = await following(3);
    const { engine } = pair.secondary;
    engine.free = 1000;
    await pair.world.timers.advance(SECOND);
    await pair.put("shared/more");
    await until(() => pair.receiver.lacksRoom);
    pair.cut();
    await until(() => pair.receiver.status.connectionState !== "ready");
    assert.equal(pair.receiver.lacksRoom, true, "it is known that something is missing");
    engine.free = 100 * 1024 * 1024;
    await until(async () => {
      await pair.world.timers.advance(SECOND);
      return !pair.receiver.lacksRoom;
    });
  });

  test("a key that is handed over when it is asked for is used at once", async () => {
    let isHere = true;
    pair = await following(3, {
      receiver: { keys: async () => void (isHere = true) },
      followers: {
        apply: (raw, operation) => {
          if (!isHere) throw keyMissing();
          FOLLOWERS.apply(raw, operation);
        },
      },
    });
    isHere = false;
    await pair.put("shared/new-term");
    await pair.atRest();
    assert.equal(pair.hellos.length, 1);
  });

  test("entries that are here already change nothing; gaps, parts of entries and others are refused", async () => {
    pair = await following(3);
    await pair.receiver.close();
    for (let i = 0; i < 6; i++) await pair.put(`shared/next/${i}`);
    const whole = pair.primary.store.logs(2n, 6).map(({ entry }) => entry);
    const parts = whole.map((entry) => sharedPart(entry)!);
    const less = encodeEntry({ ...decodeEntry(parts[3]!), operations: [] });
    const wrong = decodeEntry(parts[3]!);
    const operations = [{ ...wrong.operations[0]!, key: "shared//no-key" }];
    const nameless = sharedPart(encodeEntry(chainEntry({ ...wrong, operations }, wrong.chain)))!;
    const batches: [entries: Uint8Array[], skipped: number[], refused: RegExp | null][] = [
      [parts.slice(0, 2), [0, 0], null],
      [parts.slice(0, 3), [0, 0, 0], null],
      [[parts[4]!], [0], /entry 6 after 4/],
      [[parts[3]!], [1], /entry 5 after 4/],
      [[less], [0], /no shared entry/],
      [[whole[3]!], [0], /no shared entry/],
      [[parts[3]!], [], /no entries/],
      [[], [], /no entries/],
      [[nameless], [0], /no such key/],
    ];
    for (const [entries, skipped, refused] of batches) {
      pair.instead.set("StreamLog", () =>
        serveBidirectional(messages.streamLog, async function* () {
          const counts = Buffer.concat(skipped.map((count) => u32(count)));
          yield { ...messages.NO_WORDS, batch: { entries }, skipped: counts };
        }),
      );
      const before = pair.receiver.status.lastRemoteIndex;
      pair.receive();
      pair.receiver.open();
      await until(() => pair.receiver.status.lastSyncError !== null);
      const { lastSyncError, lastRemoteIndex } = pair.receiver.status;
      assert.match(lastSyncError!, refused ?? /has ended the stream/);
      assert.equal(
        lastRemoteIndex,
        refused === null ? 1n + BigInt(entries.length) : 4n,
        String(before),
      );
      await pair.receiver.close();
    }
    pair.instead.clear();
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
  });

  for (const name of ["lineage", "chain"] as const) {
    test(`a head of the same index with another ${name} is one of another log: nothing more is taken`, async () => {
      pair = await following(3);
      await pair.receiver.close();
      const head = sharedHeadOf(pair.primary.store.head!);
      const other = { ...head, [name]: Buffer.alloc(head[name].length, 7) };
      pair.instead.set("StreamLog", () =>
        serveBidirectional(messages.streamLog, async function* () {
          yield { ...messages.NO_WORDS, shared: other };
        }),
      );
      pair.receive();
      pair.receiver.open();
      await until(() => pair.receiver.status.lastSyncError !== null);
      assert.match(pair.receiver.status.lastSyncError!, DIVERGED);
    });
  }

  test("damage of what is shared is found by the next comparison of heads, and mended", async () => {
    pair = await following();
    const { engine, store } = pair.secondary;
    await store.settled();
    const key = "shared/5";
    const slot = slotOf("shared", key)!;
    const leaf = { hash: Buffer.alloc(32, 5), scope: Buffer.alloc(16, 5) };
    await tamper(engine.inner, { leaves: [{ slot, key, leaf }], data: [{ key, value: null }] });
    await pair.put("shared/4", "so that a head is told");
    assert.ok(pair.receiver.mend());
    await until(() => pair.calls.get("BeginDiff") === 2);
    await pair.atRest();
    const report = await store.check({ deep: true });
    assert.ok(report.ok);
  });

  test("whoever gives up its place is answered, also where its last entries have nothing for it", async () => {
    const ended: bigint[] = [];
    pair = await following(3, { receiver: { ended: async ({ index }) => void ended.push(index) } });
    await pair.put("shared/x");
    await pair.put("local/x");
    const { index, acknowledged, missing } = await pair.sender.finish();
    assert.deepEqual([index, acknowledged, missing], [3n, ["paris"], []]);
    assert.deepEqual(ended, [3n]);
  });
});

/** Of a log, from an index on: what each entry has done to shared rows. */
function sharedEntries(store: Store, from: bigint): string[][] {
  return store
    .logs(from, 10_000)
    .map(({ entry }) =>
      decodeEntry(entry).operations.flatMap(({ class: found, key, value }) =>
        found === "shared"
          ? `${key} ${value === null ? "gone" : Buffer.from(value).toString()}`
          : [],
      ),
    )
    .filter((operations) => operations.length > 0);
}

describe("the power fails", BOUND, () => {
  interface Looked {
    /** Comparisons and copies. */
    readonly atMost?: number;
    /** At what is there at rest. */
    readonly look?: (pair: ReplicatedPair) => void;
  }

  /** At each commit of the secondary: before it, and after it. */
  async function atEveryCommit(
    prepare: () => Promise<ReplicatedPair>,
    busy: (pair: ReplicatedPair) => Promise<void>,
    { atMost = Infinity, look = () => {} }: Looked = {},
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
      assert.ok(
        !isBegun || (pair.calls.get("BeginDiff") ?? 0) <= atMost,
        "it goes on where it was",
      );
      look(pair);
      await pair.close();
    }
  }

  const writes = async (pair: ReplicatedPair) => {
    for (let i = 0; i < 4; i++) {
      await pair.put(`shared/${i * 7}`, `busy ${i}`);
      await pair.put(`local/${i}`, `busy ${i}`);
      await turns(3);
    }
  };

  test("while rows are copied, at each commit", () =>
    atEveryCommit(() => filled(600), writes, { atMost: 1 }));

  test("while entries are applied, at each commit: each is applied once", async () => {
    const copied = new Map<ReplicatedPair, bigint>(); // where the log of the secondary was after the copy
    const prepare = async () => {
      const pair = await following();
      await pair.receiver.close();
      copied.set(pair, pair.secondary.store.index);
      for (let i = 0; i < 20; i++) {
        await pair.put(`shared/${i}`, `away ${i}`);
        if (i % 3 === 0) await pair.put(`local/${i}`);
      }
      pair.receive();
      pair.calls.clear();
      return pair;
    };
    const busy = async (pair: ReplicatedPair) => {
      for (let i = 0; i < 6; i++) {
        await writes(pair);
        await pair.world.timers.advance(SECOND / 2n);
      }
    };
    const look = (pair: ReplicatedPair) => {
      const own = sharedEntries(pair.secondary.store, copied.get(pair)! + 1n);
      assert.deepEqual(own, sharedEntries(pair.primary.store, 2n));
    };
    await atEveryCommit(prepare, busy, { atMost: 0, look });
  });

  test("while an entry is applied in parts, since it is too large for one transaction here, at each commit", async () => {
    const prepare = async () => {
      const pair = await filled(60);
      pair.secondary.limits = { operations: 12, bytes: 2 * 1024 * 1024 }; // two for each row, and the place
      await pair.crashSecondary();
      await pair.atRest();
      await pair.receiver.close();
      await pair.primary.store.write((tx) => {
        for (let i = 0; i < 30; i++) tx.put(`shared/${i}`, Buffer.from("together"));
        for (let i = 30; i < 40; i++) tx.delete(`shared/${i}`);
      });
      pair.receive();
      pair.calls.clear();
      return pair;
    };
    let wasHalf = false;
    const busy = async (pair: ReplicatedPair) => {
      for (let i = 0; i < 200; i++) {
        await nextTurn();
        wasHalf ||= !pair.receiver.status.isConsistent;
      }
      await writes(pair);
    };
    const look = ({ secondary }: ReplicatedPair) => {
      const sizes = secondary.store.logs(1n, 1000).map(({ entry }) => decodeEntry(entry));
      assert.ok(sizes.every(({ operations }) => operations.length <= 12));
    };
    await atEveryCommit(prepare, busy, { atMost: 0, look });
    assert.ok(wasHalf, "a part of an entry is of no index");
  });

  test("while a comparison mends, at each commit", () =>
    atEveryCommit(async () => {
      const pair = await following(300);
      await pair.receiver.close();
      await pair.primary.store.write((tx) => {
        for (let i = 0; i < 280; i++) {
          if (i % 3 === 0) tx.delete(`shared/${i}`);
          else tx.put(`shared/${i}`, Buffer.from("new"));
        }
      });
      await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
      pair.receive();
      return pair;
    }, writes));
});
