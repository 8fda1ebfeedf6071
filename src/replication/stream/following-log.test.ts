// What a secondary does with what has come while its disk was busy: what goes to the disk together, and how much may wait.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { until } from "../../../tests/support/until.ts";
import { serveBidirectional } from "@holdfast/shared/grpc/method";
import {
  BATCH_ENTRIES,
  CHUNK_BYTES,
  CREDIT,
  NO_WORDS,
  type Place,
  streamLog,
  type ToReceiver,
} from "./messages.ts";
import { Outbox } from "./outbox.ts";

const BOUND = { timeout: 120_000 };
const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;
const KIB = 1024;
const TOO_MUCH = /more than may wait for an answer/;

describe("what waits at a secondary", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  /** Is at rest at index 1. */
  async function apart(options?: Parameters<typeof ReplicatedPair.make>[0]): Promise<void> {
    pair = await ReplicatedPair.make(options);
    await pair.put("shared/first");
    pair.receiver.open();
    await pair.atRest();
    await pair.receiver.close();
    pair.cut();
  }

  /** Follows a primary that says this and nothing more. Resolves when all was said that the secondary takes. */
  async function sent(messages: Iterable<ToReceiver> | AsyncIterable<ToReceiver>): Promise<void> {
    let isOver = false;
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* (requests, { signal }) {
        signal.addEventListener("abort", () => (isOver = true), { once: true });
        try {
          yield* messages;
        } finally {
          isOver = true;
        }
        for await (const _ of requests) isOver = true; // until the secondary leaves
      }),
    );
    pair.receive();
    pair.receiver.open();
    await until(() => isOver);
    for (let i = 0; i < 40; i++) await nextTurn();
  }

  /** The entries from index 2 on, each in a message of its own. */
  const each = () => pair.primary.store.logs(2n, 1000).map(({ entry }) => batchOf(entry));

  /** While the first of the messages is on its way to the disk the others come; then how many went there at a time. */
  async function written(messages: readonly ToReceiver[]): Promise<number[]> {
    const { engine } = pair.secondary;
    const before = engine.batches.length;
    const release = engine.hold();
    await sent(
      (async function* () {
        const [first, ...others] = messages;
        yield first!;
        await until(() => engine.batches.slice(before).some(({ log }) => log.length > 0));
        yield* others;
      })(),
    );
    release();
    const sizes = () =>
      engine.batches
        .slice(before)
        .map(({ log }) => log.length)
        .filter((size) => size > 0);
    const all = messages.filter(({ batch }) => batch !== null).length;
    await until(
      () =>
        sizes().reduce((sum, size) => sum + size, 0) === all ||
        pair.receiver.status.lastSyncError !== null,
    );
    return sizes();
  }

  test("goes to the disk together, as many entries as a message may have", async () => {
    await apart();
    for (let i = 0; i < BATCH_ENTRIES + 10; i++) await pair.put(`shared/${i}`);
    assert.deepEqual(await written(each()), [1, BATCH_ENTRIES, 9]);
  });

  test("counts as behind what a primary says to have, before it has come, and for as long as that was known", async () => {
    await apart();
    for (let i = 0; i < 3; i++) await pair.put(`shared/${i}`);
    const [first, ...others] = each();
    await sent([{ ...first!, head: 20n }]);
    await until(() => pair.receiver.status.lastRemoteIndex === 2n);
    const { highestAnnounced, behindFor } = pair.receiver.status;
    assert.deepEqual([highestAnnounced, behindFor !== null], [20n, true]);
    assert.equal(others.length, 2);
  });

  test("counts as behind what was told with entries that went to the disk with others", async () => {
    await apart();
    for (let i = 0; i < 3; i++) await pair.put(`shared/${i}`);
    const [first, second, third] = each();
    assert.deepEqual(await written([first!, second!, { ...third!, head: 20n }]), [1, 2]);
    await until(() => pair.receiver.status.lastRemoteIndex === 4n);
    assert.equal(pair.receiver.status.highestAnnounced, 20n);
  });

  test("what says more than its entries goes by itself: nothing of that is lost", async () => {
    await apart();
    for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`);
    const leases = { id: 1n, mount: "m", place: "p", isRevoked: false };
    const said: ToReceiver[] = each().map((one, i) => (i === 2 ? { ...one, leases } : one));
    assert.deepEqual(await written(said), [1, 1, 1, 2]);
  });

  test("goes together up to the bytes that a message may have", async () => {
    await apart();
    const large = new Uint8Array(300 * KIB);
    for (let i = 0; i < 7; i++)
      await pair.primary.store.write((tx) => tx.put(`shared/${i}`, large));
    assert.equal(Math.floor(CHUNK_BYTES / large.length), 3);
    assert.deepEqual(await written(each()), [1, 3, 3]);
  });

  test("what does not come next is judged by itself: what is right before it is taken", async () => {
    await apart();
    for (let i = 0; i < 4; i++) await pair.put(`shared/${i}`);
    const [two, three, , five] = each();
    assert.deepEqual(await written([two!, three!, five!]), [1, 1]);
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /log entry 5 does not follow/);
    assert.equal(pair.secondary.store.index, 3n);
  });

  test("what is said between entries keeps its place", async () => {
    await apart();
    for (let i = 0; i < 4; i++) await pair.put(`shared/${i}`);
    const [two, three, four, five] = each();
    const final = { index: 3n, chain: new Uint8Array(32) };
    await written([two!, three!, { ...NO_WORDS, final }, four!, five!]);
    await until(() => pair.secondary.store.index === 5n);
    const sizes = pair.secondary.engine.batches.map(({ log }) => log.length).filter(Boolean);
    assert.deepEqual(sizes.slice(-3), [1, 1, 2]);
  });

  test("that a primary has given up its place is kept before it is answered, and once its last entry is here", async () => {
    const [kept, going] = [[] as bigint[], Promise.withResolvers<void>()];
    const ended = async ({ index }: Place) => {
      kept.push(index);
      await going.promise;
    };
    await apart({ receiver: { ended } });
    for (let i = 0; i < 2; i++) await pair.put(`shared/${i}`);
    const final = { index: 3n, chain: new Uint8Array(32) };
    const [two, three] = each();
    let answers = 0; // that the end was heard of
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* (requests) {
        yield { ...NO_WORDS, final }; // before what it speaks of
        yield two!;
        yield three!;
        yield { ...NO_WORDS, final };
        for await (const { ack } of requests) if (ack?.credit === 0n) answers++;
      }),
    );
    pair.receive();
    pair.receiver.open();
    await until(() => kept.length > 0);
    for (let i = 0; i < 40; i++) await nextTurn();
    const before = [kept.length, pair.secondary.store.index, answers];
    going.resolve();
    assert.deepEqual(before, [1, 3n, 1]);
    assert.deepEqual(kept, [3n]);
    await until(() => answers === 2);
  });

  for (const [what, message, most] of [
    ["heads", { checkpoint: new Uint8Array(16 * KIB) }, 1100],
    ["last entries", { final: { index: 1n, chain: new Uint8Array(16 * KIB) } }, 1100],
    ["entries without bytes", { batch: { entries: Array(64).fill(new Uint8Array(0)) } }, 4100],
    ["questions", { heal: { id: 1n, keys: ["shared/1"], slots: new Uint8Array(0) } }, 10],
    ["entries beyond the credit", { batch: { entries: [new Uint8Array(CREDIT / 4)] } }, 6],
  ] as const) {
    test(`a primary that sends ${what} without end is cut off, also while the disk is full`, async () => {
      await apart();
      for (let i = 0; i < 2; i++) await pair.put(`shared/${i}`);
      const first = each()[0]!;
      pair.secondary.engine.free = 1000;
      await pair.world.timers.advance(SECOND);
      let count = 0;
      await sent(
        (function* () {
          yield first;
          for (; count < 2 * most; count++) yield { ...NO_WORDS, ...message };
        })(),
      );
      assert.ok(count <= most, `${count} were taken`);
      await until(() => TOO_MUCH.test(pair.receiver.status.lastSyncError ?? ""));
      assert.equal(pair.secondary.store.index, 1n);
      pair.instead.clear();
      pair.secondary.engine.free = null;
      pair.receiver.retry();
      await pair.atRest();
    });
  }
});

describe("what a secondary answers", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  /** Follows a primary that says what a test says. */
  async function begun() {
    pair = await ReplicatedPair.make();
    await pair.put("shared/first");
    pair.receiver.open();
    await pair.atRest();
    await pair.receiver.close();
    pair.cut();
    const words = new Outbox<ToReceiver>();
    const answers: { durable: bigint; credit: bigint }[] = [];
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* (requests, { signal }) {
        void (async () => {
          for await (const { ack } of requests) {
            if (ack !== null) answers.push({ durable: ack.durable, credit: ack.credit });
          }
        })().catch(() => {});
        signal.addEventListener("abort", () => words.end(), { once: true });
        yield* words;
      }),
    );
    pair.receive();
    pair.receiver.open();
    const say = async (...messages: ToReceiver[]) => {
      for (const message of messages) words.push(message);
      for (let i = 0; i < 40; i++) await nextTurn();
    };
    const pass = async (time: bigint) => {
      await pair.world.timers.advance(time);
      for (let i = 0; i < 40; i++) await nextTurn();
    };
    return { answers, say, pass, durable: () => answers.map(({ durable }) => durable) };
  }

  const written = (from: bigint) => pair.primary.store.logs(from, 1000).map(({ entry }) => entry);

  test("comes at once; for what is durable within 25 ms after it, together and then", async () => {
    const { answers, say, pass, durable } = await begun();
    for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`);
    const [two, three, four, five, six] = written(2n) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ];
    await say(batchOf(two));
    assert.deepEqual(durable(), [2n]);
    await say(batchOf(three));
    await say(batchOf(four));
    assert.equal(pair.secondary.store.index, 4n);
    await pass(100n * MILLISECOND - 1n);
    assert.deepEqual(durable(), [2n]);
    await pass(1n);
    assert.deepEqual(durable(), [2n, 4n]);
    assert.equal(answers[1]!.credit, BigInt(three.length + four.length));
    await say(batchOf(five));
    assert.deepEqual(durable(), [2n, 4n], "the next waits as long");
    await pass(100n * MILLISECOND);
    await pass(100n * MILLISECOND);
    assert.deepEqual(durable(), [2n, 4n, 5n], "without anything to tell nothing is said");
    await say(batchOf(six));
    assert.deepEqual(durable(), [2n, 4n, 5n, 6n]);
  });

  test("does not wait for a mebibyte, nor for what was the last of all", async () => {
    const { say, durable } = await begun();
    const large = new Uint8Array(CREDIT / 16);
    for (let i = 0; i < 4; i++) {
      await pair.primary.store.write((tx) => tx.put(`shared/${i}`, large));
    }
    const [two, three, four, five] = written(2n);
    await say(batchOf(two!));
    await say(batchOf(three!));
    assert.deepEqual(durable(), [2n]);
    await say(batchOf(four!));
    assert.deepEqual(durable(), [2n, 4n]);
    const { index, chain } = pair.primary.store.head!;
    await say(batchOf(five!), { ...NO_WORDS, final: { index, chain } });
    assert.deepEqual(durable(), [2n, 4n, 5n]);
  });
});

function batchOf(entry: Uint8Array): ToReceiver {
  return { ...NO_WORDS, batch: { entries: [entry] } };
}
