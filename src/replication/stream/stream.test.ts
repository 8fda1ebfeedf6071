// A secondary takes the log of its primary: what is acknowledged is durable, what does not continue the log is refused,
// and no commit of the primary waits for anybody. The secondary may be sealed, slow, full or damaged.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { TREE_KEY } from "../../../tests/support/made/made-store.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { tamper } from "../../../tests/support/stores/watched-engine.ts";
import { until } from "../../../tests/support/until.ts";
import { serveBidirectional, serveUnary } from "@holdfast/shared/grpc/method";
import { slotOf } from "../../storage/rows/merkle.ts";
import { type Batch, CREDIT, echo, NO_WORDS, streamLog } from "./messages.ts";

const BOUND = { timeout: 300_000 };
const SECOND = 1_000_000_000n;
const MIB = 1024 * 1024;

/** Has copied what is there, and follows. */
async function following(options?: Parameters<typeof ReplicatedPair.make>[0]) {
  const pair = await ReplicatedPair.make(options);
  for (let i = 0; i < 20; i++) await pair.put(`shared/${i}`, `value ${i}`, i);
  await pair.put("local/x");
  pair.receiver.open();
  await pair.atRest();
  return pair;
}

async function turns(count = 40): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

describe("the log", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  test("an empty secondary copies, then follows the log as it is written", async () => {
    pair = await following();
    assert.equal(pair.hellos[0]!.isEmpty, true);
    for (let i = 0; i < 50; i++) await pair.put(`shared/${i % 7}`, `again ${i}`, i);
    await pair.atRest();
    assert.equal(pair.hellos.length, 1, "one session");
    assert.equal(pair.secondary.store.tail!.first, 22n, "the log goes on after the copy");
    assert.equal(pair.receiver.status.lastRemoteIndex, 71n);
  });

  test("how far the primary is comes with its first answer: what is missing is known to be, also where it ends before it says more", async () => {
    const heard: bigint[] = [];
    pair = await following({ receiver: { heard: (time) => void heard.push(time) } });
    await pair.receiver.close();
    for (let i = 0; i < 10; i++) await pair.put(`shared/next/${i}`);
    const nothing = new Promise<never>(() => {});
    pair.instead.set("Echo", () => serveUnary(echo, () => nothing));
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* () {
        yield await nothing;
      }),
    );
    heard.length = 0;
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    pair.cut();
    await until(() => pair.receiver.status.state === "idle");
    const { highestAnnounced, behindFor } = pair.receiver.status;
    assert.deepEqual([pair.secondary.store.index, highestAnnounced, behindFor], [21n, 31n, 0n]);
    assert.deepEqual(heard, [pair.world.clock.now()]);
  });

  test("an echo whose answer stands behind the log on a slow line ends nothing; one after which nothing comes does", async () => {
    pair = await following();
    await pair.receiver.close();
    const nothing = new Promise<never>(() => {});
    pair.instead.set("Echo", () => serveUnary(echo, () => nothing));
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    const sessions = pair.hellos.length;
    const isEqual = () => pair.secondary.store.index === pair.primary.store.index;
    for (let i = 0; i < 4; i++) {
      await pair.put(`shared/slow/${i}`, "x".repeat(8192));
      await until(isEqual);
      await pair.world.timers.advance(10n * SECOND);
      await turns();
    }
    assert.equal(pair.receiver.status.state, "stream-wals");
    assert.equal(pair.hellos.length, sessions, "one session");
    assert.equal(
      pair.sender.members()[0]!.isConnected,
      true,
      "what it acknowledges is a word of it",
    );
    await pair.world.timers.advance(10n * SECOND);
    await until(() => pair.receiver.status.state !== "stream-wals");
  });

  test("only what is durable is acknowledged", async () => {
    pair = await following();
    const acknowledged = () => pair.sender.members()[0]!.acknowledged;
    const before = acknowledged();
    const release = pair.secondary.engine.hold();
    await pair.put("shared/later");
    await until(() => pair.secondary.engine.batches.at(-1)?.log.length === 1);
    await turns();
    const [member] = pair.sender.members();
    release();
    assert.deepEqual(
      [member!.acknowledged, member!.lag],
      [before, 1n],
      "it was on its way to the disk",
    );
    await until(() => acknowledged() === pair.primary.store.index);
    assert.equal(pair.secondary.store.index, pair.primary.store.index);
  });

  test("what is written while a secondary is at work goes to it together, and onto its disk as one", async () => {
    pair = await following();
    const release = pair.secondary.engine.hold();
    await pair.put("shared/first");
    await until(() => pair.secondary.engine.batches.at(-1)?.log.length === 1);
    const before = pair.secondary.engine.batches.length;
    for (let i = 0; i < 30; i++) {
      await pair.put(`shared/more/${i}`);
      await turns(3);
    }
    release();
    await pair.atRest();
    const batches = pair.secondary.engine.batches.slice(before);
    const sizes = batches.map(({ log }) => log.length).filter((size) => size > 0);
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      30,
    );
    assert.ok(sizes.length <= 3, sizes.join(" "));
  });

  test("a secondary that is slow holds up nobody, and little is on its way to it", async () => {
    let sent = 0;
    pair = await following({
      way: {
        pass: async (to, { length }) => {
          if (to === "client") sent += length;
        },
      },
    });
    const release = pair.secondary.engine.hold();
    sent = 0;
    for (let i = 0; i < 40; i++) {
      await pair.primary.store.write((tx) =>
        tx.put(`shared/large/${i}`, new Uint8Array(MIB - 100)),
      );
    }
    await turns(100);
    const before = sent;
    release();
    const isFew = before > CREDIT / 2 && before < CREDIT + 2 * MIB;
    assert.ok(isFew, `${before} bytes for a credit of ${CREDIT}`);
    await pair.atRest();
    assert.ok(sent > 40 * (MIB - 100));
    assert.equal(pair.hellos.length, 1);
  });

  test("R-91: entries that are here already change nothing; gaps, other entries and forged ones are refused", async () => {
    pair = await following();
    pair.instead.set("StreamLog", () => {
      const batches: ((entries: Uint8Array[]) => Uint8Array[])[] = [
        (entries) => entries.slice(0, 2),
        (entries) => entries.slice(0, 3), // again
        (entries) => [entries[1]!, entries[1]!],
        (entries) => entries.slice(4),
      ];
      return serveBidirectional(streamLog, async function* () {
        const entries = pair.primary.store.logs(22n, 10).map(({ entry }) => entry);
        for (const pick of batches) yield { ...NO_WORDS, batch: batchOf(pick(entries)) };
      });
    });
    pair.cut();
    await pair.receiver.close();
    for (let i = 0; i < 6; i++) await pair.put(`shared/next/${i}`);
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /log entry 26 does not follow/);
    assert.equal(pair.secondary.store.index, 24n);
    // Another entry of an index that is here, and one that is not chained to it.
    for (const [forge, says] of [
      [(bytes: Uint8Array) => forged(bytes, 24n), /another entry 24/],
      [(bytes: Uint8Array) => forged(bytes, 25n), /log entry 25 belongs to another log/],
      [() => new Uint8Array(10), /no entry/],
    ] as const) {
      pair.instead.set("StreamLog", () =>
        serveBidirectional(streamLog, async function* () {
          const [row] = pair.primary.store.logs(23n, 1);
          yield { ...NO_WORDS, batch: batchOf([forge(row!.entry)]) };
        }),
      );
      await pair.receiver.close();
      pair.receive();
      pair.receiver.open();
      await until(() => says.test(pair.receiver.status.lastSyncError ?? ""));
      assert.equal(pair.secondary.store.index, 24n);
    }
    pair.instead.clear();
    await pair.atRest();
  });

  test("a secondary that is sealed takes nothing, and goes on where it was when it is unsealed", async () => {
    pair = await following();
    await pair.secondary.store.lock();
    for (let i = 0; i < 10; i++) await pair.put(`shared/${i}`, "new");
    await pair.world.timers.advance(SECOND / 100n);
    await until(() => pair.receiver.status.lastSyncError !== null);
    await pair.world.timers.advance(2n * SECOND);
    assert.match(pair.receiver.status.lastSyncError!, /sealed, and takes nothing.*unseal it/);
    assert.equal(pair.receiver.status.state, "idle");
    assert.equal(pair.secondary.store.index, 21n);
    assert.equal(pair.hellos.length, 1, "it does not connect");
    pair.secondary.store.unlock(TREE_KEY);
    pair.receiver.retry();
    await pair.atRest();
    assert.equal(pair.calls.get("BeginDiff"), 1, "the copy's: it went on by the log");
  });

  test("a disk that is nearly full stops the log, and it goes on by itself", async () => {
    pair = await following();
    pair.secondary.engine.free = 1000;
    await pair.world.timers.advance(SECOND);
    for (let i = 0; i < 5; i++) await pair.put(`shared/full/${i}`);
    await until(() => pair.receiver.status.lastSyncError !== null);
    await pair.world.timers.advance(60n * SECOND);
    assert.match(pair.receiver.status.lastSyncError!, /nearly full/);
    const { state, connectionState } = pair.receiver.status;
    assert.deepEqual([state, connectionState], ["idle", "ready"]);
    pair.secondary.engine.free = null;
    await pair.world.timers.advance(11n * SECOND);
    await pair.atRest();
    assert.equal(pair.receiver.status.state, "stream-wals");
    assert.equal(pair.hellos.length, 1, "it stayed connected");
  });

  test("a control record that does not open waits for the keys", async () => {
    let fetched = 0;
    pair = await following({
      receiver: {
        keys: async () => {
          fetched++;
        },
      },
    });
    fetched = 0; // those of the copy
    const read: string[] = [];
    pair.secondary.store.onControl(1, ({ body }) => {
      if (fetched === 0) return null;
      return () => void read.push(Buffer.from(body).toString());
    });
    await pair.primary.store.write((tx) => {
      tx.control({ type: 1, body: Buffer.from("term 2") });
      tx.put("shared/sealed", Buffer.from("under it"));
    });
    await pair.atRest();
    assert.deepEqual([fetched, read], [1, ["term 2"]]);
  });

  test("another version of the keys at the primary is fetched, at the hello and by an echo", async () => {
    pair = await following();
    pair.keysVersion.primary = "2";
    await pair.world.timers.advance(5n * SECOND);
    await until(() => pair.keysVersion.secondary === "2");
    pair.keysVersion.primary = "3";
    pair.cut();
    await pair.atRest();
    assert.equal(pair.keysVersion.secondary, "3");
  });

  test("a wrong sum is found by the next head, and mended here", async () => {
    pair = await following();
    const slot = slotOf("shared", "shared/3")!;
    const leaf = { hash: Buffer.alloc(32, 5), scope: Buffer.alloc(16) };
    await pair.crashSecondary();
    await tamper(pair.secondary.engine.inner, { leaves: [{ slot, key: "shared/3", leaf }] });
    await pair.put("shared/3", "new"); // subtracts a leaf that was never added
    await pair.atRest();
    await pair.world.timers.advance(11n * SECOND);
    await pair.put("shared/4", "new");
    await pair.atRest();
    assert.ok(pair.world.lines.some((line) => line.includes("differs from the primary's")));
    assert.ok((await pair.secondary.store.check()).ok);
    assert.equal(pair.calls.get("BeginDiff"), 1, "the copy's: nothing had to be fetched");
  });

  test("a damaged value is found with it, and fetched", async () => {
    pair = await following();
    await pair.crashSecondary();
    const inner = pair.secondary.engine.inner;
    const slot = slotOf("shared", "shared/3")!;
    const leaf = { hash: Buffer.alloc(32, 5), scope: Buffer.alloc(16) };
    await tamper(inner, { leaves: [{ slot, key: "shared/3", leaf }] });
    await tamper(inner, { data: [{ key: "shared/7", value: Buffer.from("damaged") }] });
    await tamper(inner, { data: [{ key: "shared/8", value: null }] });
    await pair.put("shared/3", "new");
    await pair.world.timers.advance(11n * SECOND);
    await pair.put("shared/4", "new");
    await pair.atRest();
    assert.equal(Buffer.from(pair.secondary.store.get("shared/7")!).toString(), "value 7");
    assert.equal(Buffer.from(pair.secondary.store.get("shared/8")!).toString(), "value 8");
    assert.ok((await pair.secondary.store.check()).ok);
  });

  test("a primary that gives up its place says which entry is the last, and who has it", async () => {
    pair = await following();
    pair.known.push("rome");
    await pair.put("shared/last");
    const finishing = pair.sender.finish();
    await until(() => pair.receiver.status.final !== null);
    await pair.world.timers.advance(10n * SECOND);
    const finished = await finishing;
    assert.deepEqual(finished, {
      index: 22n,
      acknowledged: ["paris"],
      missing: ["rome"],
      filtered: [],
    });
    assert.equal(pair.receiver.status.final!.index, 22n);
    pair.known.pop();
    assert.deepEqual((await pair.sender.finish()).missing, [], "nobody is waited for");
  });

  test("it waits until who follows has kept that it was the last, and not only the entry", async () => {
    const kept: bigint[] = [];
    pair = await following({ receiver: { ended: async ({ index }) => void kept.push(index) } });
    const finished = await pair.sender.finish();
    assert.deepEqual(kept, [finished.index]);
  });

  test("who has all but the last entry on its disk is said to lack it", async () => {
    pair = await following();
    const release = pair.secondary.engine.hold();
    await pair.put("shared/last");
    const finishing = pair.sender.finish();
    await pair.world.timers.advance(10n * SECOND);
    const finished = await finishing;
    release();
    assert.deepEqual(finished, { index: 22n, acknowledged: [], missing: ["paris"], filtered: [] });
  });
});

function batchOf(entries: Uint8Array[]): Batch {
  return { entries };
}

/** The same with another index in its header. */
function forged(entry: Uint8Array, index: bigint): Uint8Array {
  const copy = Buffer.from(entry);
  copy.writeBigUInt64BE(index, 5);
  return copy;
}
