// Rows that a secondary has taken over from a primary that writes on: until the log has come to where they were read they are of
// no index, and nobody takes them for those of one.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { diskAsOf, ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { until } from "../../../tests/support/until.ts";
import { serveBidirectional } from "@holdfast/shared/grpc/method";
import { trimLog } from "../../storage/trimming.ts";
import { NO_WORDS, streamLog } from "./messages.ts";

const BOUND = { timeout: 120_000 };
const SECOND = 1_000_000_000n;

async function turns(): Promise<void> {
  for (let i = 0; i < 40; i++) await nextTurn();
}

/** The primary has so many rows, all of entry 1. */
async function filled(
  rows = 60,
  options?: Parameters<typeof ReplicatedPair.make>[0],
): Promise<ReplicatedPair> {
  const pair = await ReplicatedPair.make(options);
  await pair.primary.store.write((tx) => {
    for (let i = 0; i < rows; i++) tx.put(`shared/${i}`, Buffer.from(`value ${i}`));
  });
  return pair;
}

/** What comes of a method waits, from the call of this number on, until the test says so. */
function held(pair: ReplicatedPair, method: string, from = 1): { release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  pair.instead.set(method, (real) => ({
    shape: real.shape,
    async *run(requests, call) {
      for await (const answer of real.run(requests, call)) {
        if ((pair.calls.get(method) ?? 0) >= from) await promise;
        yield answer;
      }
    },
  }));
  return { release: resolve };
}

describe("rows that are newer than the log", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  const valueOf = (key: string) => Buffer.from(pair.secondary.store.get(key)!).toString();

  test("where one goes back they are of no index until the log has come to where they were read, also after a crash", async () => {
    pair = await filled();
    await pair.parted((store) => store.write((tx) => tx.put("shared/0", Buffer.from("own"))));
    await pair.put("shared/1", "of entry 2");
    await pair.put("shared/0", "of entry 3");
    const streaming = held(pair, "StreamLog");
    pair.mayRewind = true;
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    assert.equal(pair.givenUp.length, 1);
    const { index, adopting } = pair.secondary.store;
    assert.deepEqual([index, adopting], [1n, null]);
    assert.deepEqual([valueOf("shared/0"), valueOf("shared/1")], ["of entry 3", "value 1"]);
    const before = pair.receiver.status.isConsistent;
    await pair.crashSecondary();
    await turns();
    const after = pair.receiver.status.isConsistent;
    streaming.release();
    assert.deepEqual([before, after], [false, false]);
    await pair.atRest();
    assert.ok(pair.receiver.status.isConsistent);
  });

  test("a head of the index that the log has come to says nothing of them: nothing is compared", async () => {
    pair = await filled();
    const head = Uint8Array.from(pair.primary.store.headBytes!);
    pair.instead.set("CopyScope", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        await pair.put("shared/0", "of entry 2");
        yield* real.run(requests, call);
      },
    }));
    let isSaid = false;
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* (requests) {
        yield { ...NO_WORDS, checkpoint: head };
        isSaid = true;
        for await (const _ of requests) isSaid = true; // until the secondary leaves
      }),
    );
    pair.receiver.open();
    await until(() => isSaid);
    await turns();
    assert.deepEqual([pair.secondary.store.index, valueOf("shared/0")], [1n, "of entry 2"]);
    const { state, isConsistent } = pair.receiver.status;
    assert.deepEqual([state, isConsistent], ["stream-wals", false]);
    assert.deepEqual(
      pair.world.lines.filter((line) => line.includes("corruption-detected")),
      [],
    );
    pair.instead.clear();
    pair.cut();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1, "the copy's");
  });

  test("a copy that goes on has the log kept from where it began, also by a primary that was started anew", async () => {
    pair = await filled(1100);
    const copying = held(pair, "CopyScope", 2);
    pair.receiver.open();
    await until(() => pair.calls.get("CopyScope") === 2);
    await until(() => (pair.secondary.store.adopting?.cursor ?? "") !== "");
    await pair.crashPrimary();
    for (let i = 0; i < 30; i++) await pair.put(`shared/${i}`, "meanwhile");
    await until(async () => {
      await pair.world.timers.advance(SECOND);
      return pair.hellos.length === 2;
    });
    await turns();
    const { retention } = pair.sender;
    await trimLog(pair.primary.store, pair.world, { ...retention, minEntries: 0n });
    copying.release();
    assert.equal(retention.pinned, 2n);
    assert.equal(pair.primary.store.tail!.first, 2n);
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1, "no comparison was needed");
  });
});

for (const kind of ["dr", "performance"] as const) {
  test(`keys are asked for once it is known from where rows are taken, also where there are as many here: ${kind}`, async () => {
    const fetches: (number | undefined)[] = []; // how often such a place was told by then
    const pair: ReplicatedPair = await filled(60, {
      kind,
      receiver: { keys: async () => void fetches.push(pair.calls.get("BeginDiff")) },
    });
    const { primary, keysVersion } = pair;
    pair.receiver.open();
    await pair.atRest();
    await pair.receiver.close();
    for (const n of [0, 1, 2]) await pair.put(`shared/${n}`, "later");
    await trimLog(primary.store, pair.world, { minEntries: 1n });
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
    await pair.close();
    assert.equal(keysVersion.primary, keysVersion.secondary);
    assert.deepEqual(fetches, [1, 2], "of the copy, and of the comparison");
  });
}

describe(
  "rows that are newer than the log when another cluster takes the place of the primary",
  BOUND,
  () => {
    let pair: ReplicatedPair;
    afterEach(() => pair.close());

    const valueOf = (key: string) => Buffer.from(pair.secondary.store.get(key)!).toString();
    const found = () => pair.world.lines.filter((line) => line.includes("corruption-detected"));

    /** The secondary has copied these rows as of two entries that come after the place from which it goes on, and has applied so many of
     *  them. Gives the disk of a cluster that has none. */
    async function copiedAhead(kind: "dr" | "performance", applied: number) {
      pair = await filled(60, { kind });
      const disk = diskAsOf(pair.primary.disk);
      const { store } = pair.primary;
      const from = store.index + 1n;
      pair.instead.set("CopyScope", (real) => ({
        shape: real.shape,
        async *run(requests, call) {
          for (const n of [0, 1]) await pair.put(`shared/${n}`, "lost");
          yield* real.run(requests, call);
        },
      }));
      pair.instead.set("StreamLog", () =>
        serveBidirectional(streamLog, async function* (requests) {
          const entries = store.logs(from, applied).map(({ entry }) => entry);
          if (entries.length > 0) yield { ...NO_WORDS, batch: { entries } };
          for await (const _ of requests); // until the secondary leaves
        }),
      );
      pair.receiver.open();
      const { secondary } = pair;
      await until(() => pair.receiver.status.state === "stream-wals");
      if (kind === "dr") await until(() => secondary.store.index === from - 1n + BigInt(applied));
      await turns();
      assert.deepEqual([valueOf("shared/0"), valueOf("shared/1")], ["lost", "lost"]);
      assert.equal(pair.receiver.status.isConsistent, false);
      pair.instead.clear();
      return disk;
    }

    /** Its log is longer by now than that of the primary before has been. */
    async function replaced(disk: Awaited<ReturnType<typeof copiedAhead>>): Promise<void> {
      await pair.replacePrimary(disk, "c");
      for (const n of [5, 6, 7]) await pair.put(`shared/${n}`, "of the new one");
      await until(async () => {
        await pair.world.timers.advance(SECOND / 10n);
        return pair.receiver.status.isConsistent;
      });
      assert.deepEqual([valueOf("shared/0"), valueOf("shared/1")], ["value 0", "value 1"]);
      await pair.atRest();
      assert.deepEqual(found(), []);
      assert.equal(pair.calls.get("BeginDiff"), 2, "the copy's, and one");
    }

    for (const kind of ["dr", "performance"] as const) {
      test(`they are compared before they count as of one index, though the log goes on: ${kind}`, async () => {
        await replaced(await copiedAhead(kind, 0));
      });
    }

    test("they are compared where entries are given up too, which do not name them", async () => {
      const disk = await copiedAhead("dr", 1);
      pair.mayRewind = true;
      await replaced(disk);
      assert.equal(pair.mayRewind, false);
    });
  },
);

describe("what one has made outside, and is to give up with its log", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  for (const mayRewind of [true, false]) {
    const what = mayRewind
      ? "is handed over before the first row changes, where that was allowed"
      : "is nobody's business where a log of another lineage was never to be given up";
    test(what, async () => {
      const handed: string[] = [];
      pair = await filled(60, {
        receiver: {
          giveUpAll: async () => {
            handed.push(Buffer.from(pair.secondary.store.get("shared/0")!).toString());
          },
        },
      });
      const { store } = pair.secondary;
      await store.lead();
      await store.write((tx) => tx.put("shared/0", Buffer.from("own")));
      await store.follow();
      pair.mayRewind = mayRewind;
      pair.receiver.open();
      await pair.atRest();
      assert.equal(pair.calls.get("BeginDiff"), 1);
      assert.deepEqual(handed, mayRewind ? ["own"] : []);
    });
  }
});
