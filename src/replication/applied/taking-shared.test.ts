// Shared rows that a secondary takes over: they are held against what their primary has said of them, and are of no index until the log has come to
// the last of them.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import {
  type PairOptions,
  ReplicatedPair,
} from "../../../tests/support/replication/replicated-pair.ts";
import { until } from "../../../tests/support/until.ts";
import { serveBidirectional, serveUnary } from "@holdfast/shared/grpc/method";
import { sharedPart } from "../../storage/rows/log-entry.ts";
import { u32 } from "../../storage/rows/row-bytes.ts";
import { trimLog } from "../../storage/trimming.ts";
import {
  type CopiedChunk,
  copyScope,
  fetchKeys,
  leaves,
  NO_WORDS,
  streamLog,
  type ToReceiver,
  withheld as withheldThere,
} from "../stream/messages.ts";
import type { WithheldHere } from "../filters/withheld-here.ts";

const BOUND = { timeout: 300_000 };

async function filled(options: PairOptions = {}): Promise<ReplicatedPair> {
  const pair = await ReplicatedPair.make({ kind: "performance", ...options });
  await pair.primary.store.write((tx) => {
    for (let i = 0; i < 60; i++) tx.put(`shared/${i}`, Buffer.from(`value ${i}`));
    tx.put("local/theirs", Buffer.from("1"));
  });
  return pair;
}

/** What a copy sends is something else. */
function copying(pair: ReplicatedPair, change: (chunk: CopiedChunk) => CopiedChunk): void {
  pair.instead.set("CopyScope", (real) => ({
    shape: real.shape,
    async *run(requests, call) {
      for await (const bytes of real.run(requests, call)) {
        yield copyScope.response.encode(change(copyScope.response.decode(bytes)));
      }
    },
  }));
}

describe("shared rows that are taken over", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  const lines = (text: string) => pair.world.lines.filter((line) => line.includes(text));
  /** How often rows were compared before the log was first asked for. */
  const comparedBefore = () => {
    const counts: number[] = [];
    pair.instead.set("StreamLog", (real) => ({
      shape: real.shape,
      run: (requests, call) => {
        counts.push(pair.calls.get("BeginDiff") ?? 0);
        return real.run(requests, call);
      },
    }));
    return counts;
  };

  test("a copy that does not add up to what the primary has is compared before anybody takes it for that", async () => {
    pair = await filled();
    const counts = comparedBefore();
    copying(pair, (chunk) => ({
      ...chunk,
      rows: chunk.rows.filter(({ key }) => key !== "shared/7"),
    }));
    pair.receiver.open();
    await pair.atRest();
    assert.equal(counts[0], 2);
    assert.equal(lines("do not add up").length, 1);
    assert.deepEqual(lines("corruption-detected"), []);
  });

  test("so is what a comparison has fetched", async () => {
    pair = await filled();
    pair.receiver.open();
    await pair.atRest();
    await pair.receiver.close();
    await pair.put("shared/7", "new");
    await pair.put("shared/8", "new");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    const counts = comparedBefore();
    let isLess = true;
    pair.instead.set("FetchKeys", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        if (isLess) await pair.secondary.store.writeApplied((tx) => tx.delete("shared/9"));
        isLess = false;
        yield* real.run(requests, call);
      },
    }));
    pair.receive();
    pair.receiver.open();
    await pair.atRest();
    assert.equal(counts[0], 3);
    assert.equal(lines("do not add up").length, 1);
  });

  for (const [what, key, scope] of [
    ["a local row", "local/theirs", 16],
    ["a row of the node", "core/theirs", 16],
    ["what is no key", "shared//7", 16],
    ["a row without a scope", "shared/more", 3],
  ] as const) {
    test(`${what} is not taken from a primary, nor anything beside it`, async () => {
      pair = await filled();
      const row = { key, scope: Buffer.alloc(scope), value: Buffer.from("1"), isAbsent: false };
      copying(pair, (chunk) => {
        const rows = [...chunk.rows, row];
        rows.sort((a, b) => (a.key < b.key ? -1 : 1));
        return { ...chunk, rows };
      });
      pair.receiver.open();
      await until(() => pair.receiver.status.lastSyncError !== null);
      assert.match(pair.receiver.status.lastSyncError!, /rows that are not shared/);
      const { engine } = pair.secondary;
      const put = engine.batches.flatMap(({ data }) => data.map((one) => one.key));
      assert.ok(!put.includes(key) && !put.includes("shared/7"), put.join());
      assert.equal(pair.receiver.status.isConsistent, false);
    });
  }

  test("nor is one that a comparison fetches; and those who read go on with the rows of one index", async () => {
    pair = await filled();
    pair.receiver.open();
    await pair.atRest();
    await pair.receiver.close();
    await pair.put("shared/7", "new");
    await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
    pair.instead.set("FetchKeys", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        for await (const bytes of real.run(requests, call)) {
          const { rows, index } = fetchKeys.response.decode(bytes);
          const without = rows.map((row) => ({ ...row, scope: Buffer.alloc(3) }));
          yield fetchKeys.response.encode({ rows: without, index });
        }
      },
    }));
    const before = Buffer.from(pair.secondary.store.get("shared/7")!);
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /rows that are not shared/);
    assert.equal(pair.receiver.status.isConsistent, true);
    assert.deepEqual(Buffer.from(pair.secondary.store.get("shared/7")!), before);
  });

  for (const name of ["Leaves", "FetchKeys"] as const) {
    test(`what a comparison is told of a later index by ${name} is of no index until the log has come there`, async () => {
      pair = await filled();
      pair.receiver.open();
      await pair.atRest();
      await pair.receiver.close();
      assert.equal(pair.receiver.status.isConsistent, true);
      await pair.put("shared/7", "new");
      await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
      pair.instead.set(name, (real) => ({
        shape: real.shape,
        async *run(requests, call) {
          const codec: { encode(value: object): Uint8Array; decode(bytes: Uint8Array): object } =
            name === "Leaves" ? leaves.response : fetchKeys.response;
          for await (const bytes of real.run(requests, call)) {
            const sent = codec.decode(bytes) as { readonly index: bigint };
            yield codec.encode({ ...sent, index: sent.index + 2n });
          }
        },
      }));
      pair.receive();
      pair.receiver.open();
      await until(() => pair.receiver.status.state === "stream-wals");
      assert.equal(pair.receiver.status.isConsistent, false);
      pair.instead.clear();
      for (const key of ["shared/8", "shared/9"]) await pair.put(key, "later");
      await pair.atRest();
      assert.equal(pair.receiver.status.isConsistent, true);
    });
  }

  for (const isSame of [true, false]) {
    test(`what a comparison finds gone ${isSame ? "goes when that is told of" : "stays where something else is withheld by now"}`, async () => {
      const going: (Uint8Array | null)[] = [];
      const withheld = {
        version: "",
        isDue: false,
        install: async () => {},
        remains: async function* () {},
        purge: async () => {},
        going: async () => void going.push(pair.secondary.store.get("shared/7")),
      } as unknown as WithheldHere;
      pair = await filled({ withheld: () => withheld });
      pair.receiver.open();
      await pair.atRest();
      await pair.receiver.close();
      await pair.primary.store.write((tx) => tx.delete("shared/7"));
      await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
      let questions = 0;
      pair.instead.set("Withheld", () =>
        serveUnary(withheldThere, async ({ version }) => {
          const isFirst = questions++ === 0; // before anything is compared
          return { version, isSame: isFirst || isSame, mounts: [], namespaces: [] };
        }),
      );
      pair.receive();
      pair.receiver.open();
      if (isSame) {
        await pair.atRest();
        assert.equal(going.length, 1);
        assert.notEqual(going[0], null, "before the row goes");
        assert.equal(pair.secondary.store.get("shared/7"), null);
        return;
      }
      await until(() => pair.receiver.status.lastSyncError !== null);
      assert.match(pair.receiver.status.lastSyncError!, /something else is withheld/);
      assert.notEqual(pair.secondary.store.get("shared/7"), null);
      assert.deepEqual(going, []);
    });
  }

  test("a copy that does not add up since something else is withheld by now is no damage, and is not compared for it", async () => {
    const withheld = { version: "", isDue: false } as unknown as WithheldHere;
    pair = await filled({ withheld: () => withheld });
    copying(pair, (chunk) => ({
      ...chunk,
      rows: chunk.rows.filter(({ key }) => key !== "shared/7"),
    }));
    let questions = 0;
    pair.instead.set("Withheld", () =>
      serveUnary(withheldThere, async ({ version }) => {
        const isFirst = questions++ === 0; // before anything is copied
        return { version, isSame: isFirst, mounts: [], namespaces: [] };
      }),
    );
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /something else is withheld/);
    assert.deepEqual(lines("do not add up"), []);
    assert.equal(pair.receiver.status.isConsistent, false);
  });

  test("what a cluster wrote while it led is over when the rows here are the primary's: not before, and not where a comparison was cut off", async () => {
    let hasLed = false;
    const over: string[] = [];
    const { secondary } = (pair = await filled({
      surplus: {
        keep: async () => hasLed,
        over: async () => {
          over.push(String(Buffer.from(secondary.store.get("shared/7")!)));
          hasLed = false;
        },
      },
    }));
    const again = async () => {
      await pair.receiver.close();
      pair.receive();
      pair.receiver.open();
    };
    pair.receiver.open();
    await pair.atRest();
    await secondary.store.writeApplied((tx) => tx.put("shared/7", Buffer.from("own")));
    hasLed = true;
    let isCut = true;
    pair.instead.set("FetchKeys", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        if (isCut) pair.cut();
        yield* real.run(requests, call);
      },
    }));
    await again();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.deepEqual(over, []);
    isCut = false;
    await pair.atRest();
    assert.deepEqual(over, ["value 7"]);
    const compared = pair.calls.get("BeginDiff");
    await again();
    await pair.atRest();
    assert.deepEqual([over.length, pair.calls.get("BeginDiff")], [1, compared]);
  });

  test("so many rows are one transaction, and so many bytes: nobody else has a turn meanwhile", async (t) => {
    pair = await filled();
    await pair.primary.store.write((tx) => {
      for (let i = 60; i < 200; i++) tx.put(`shared/${i}`, Buffer.from("x"));
      for (let i = 0; i < 4; i++) tx.put(`shared/large/${i}`, Buffer.alloc(100 * 1024, i));
    });
    const taken: { rows: number; bytes: number }[] = [];
    const { store } = pair.secondary;
    const write = store.writeApplied.bind(store);
    t.mock.method(store, "writeApplied", ((run, options) => {
      const one = { rows: 0, bytes: 0 };
      taken.push(one);
      return write((tx) => {
        const put = tx.put.bind(tx);
        t.mock.method(tx, "put", ((key, value, ...more) => {
          one.rows++;
          one.bytes += value.length;
          put(key, value, ...more);
        }) satisfies typeof tx.put);
        return run(tx);
      }, options);
    }) satisfies typeof store.writeApplied);
    pair.receiver.open();
    await pair.atRest();
    const rows = taken.reduce((sum, one) => sum + one.rows, 0);
    assert.ok(rows >= 204, `${rows} rows`);
    // A row follows from each, and the place after them.
    assert.ok(Math.max(...taken.map((one) => one.rows)) <= 2 * 64 + 1, JSON.stringify(taken));
    const most = Math.max(...taken.map((one) => one.bytes));
    assert.ok(most <= 2 * 256 * 1024 + 1024, JSON.stringify(taken));
  });

  test("keys that were made before the place that they are taken from are fetched before the first row", async () => {
    pair = await filled();
    pair.instead.set("BeginDiff", (real) => ({
      shape: real.shape,
      run: (requests, call) => {
        pair.keysVersion.primary = "2";
        return real.run(requests, call);
      },
    }));
    const echoing = Promise.withResolvers<void>(); // which would tell of them as well
    pair.instead.set("Echo", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        await echoing.promise;
        yield* real.run(requests, call);
      },
    }));
    const versions: string[] = [];
    copying(pair, (chunk) => {
      versions.push(pair.keysVersion.secondary);
      return chunk;
    });
    pair.receiver.open();
    await until(() => pair.receiver.status.state === "stream-wals");
    echoing.resolve();
    assert.equal(versions[0], "2");
  });

  test("they are of no index until the last entry has come that was there when they were read, also where some have come and others had nothing for it", async () => {
    pair = await filled();
    const words: ((word: ToReceiver) => void)[] = [];
    const next = () => new Promise<ToReceiver>((resolve) => words.push(resolve));
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* () {
        for (;;) yield await next();
      }),
    );
    let isRead = false;
    copying(pair, (chunk) => chunk);
    const copied = pair.instead.get("CopyScope")!;
    pair.instead.set("CopyScope", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        // Entries 2 to 5, of which the third has nothing that is shared.
        for (const key of ["shared/0", "shared/1", "local/2", "shared/3"]) {
          if (!isRead) await pair.put(key, "after the anchor, and before it is read");
        }
        isRead = true;
        yield* copied(real).run(requests, call);
      },
    }));
    pair.receiver.open();
    await until(() => words.length === 1);
    const say = async (word: Partial<ToReceiver>, index: bigint) => {
      words.shift()!({ ...NO_WORDS, ...word });
      await until(() => pair.receiver.status.lastRemoteIndex === index && words.length === 1);
      for (let i = 0; i < 10; i++) await nextTurn();
      return pair.receiver.status.isConsistent;
    };
    const entry = (index: bigint) => {
      const [row] = pair.primary.store.logs(index, 1);
      return { batch: { entries: [sharedPart(row!.entry)!] }, skipped: u32(0) };
    };
    const found = [
      await say(entry(2n), 2n),
      await say(entry(3n), 3n),
      await say({ skip: { index: 4n, chain: Buffer.alloc(32, 1) } }, 4n),
      await say(entry(5n), 5n),
    ];
    assert.deepEqual(found, [false, false, false, true]);
  });
});
