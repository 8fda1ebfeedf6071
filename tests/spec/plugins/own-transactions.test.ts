// Transactions of engines in other processes, without the processes: several storages of plugins over one of the host, by the
// messages that go between them.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import { DrivenWorld, MemoryStorage } from "@holdfast/plugin-sdk/testing";
import {
  hostService,
  type Transacted,
  type WireTransaction,
} from "@holdfast/plugin-sdk/wire/host-service";
import { RemoteStorage } from "../../../plugin-sdk/remote/remote-storage.ts";
import { Failure } from "@holdfast/shared/failure";
import { Transactions } from "../../../src/plugins/own/transactions.ts";

const codec = jsonCodec<number>();
const KEYS = ["a", "a/b", "a/c", "b", "c/d/e", "c/f"];
const PREFIXES = ["", "a", "a/", "c/"];

interface Step {
  readonly does: "get" | "put" | "delete" | "keys" | "list" | "records" | "bump";
  readonly key: string;
  readonly prefix: string;
  readonly limit: number;
  readonly after: string | null;
  readonly reverse: boolean;
  readonly value: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.constantFrom("get", "put", "delete", "keys", "list", "records", "bump"),
  key: fc.constantFrom(...KEYS),
  prefix: fc.constantFrom(...PREFIXES),
  limit: fc.integer({ min: 1, max: 4 }),
  after: fc.option(fc.constantFrom("a", "a/b", "c", "d/")),
  reverse: fc.boolean(),
  value: fc.integer({ min: 0, max: 9 }),
});

/** What it has seen: the same in the same state, and in no other order of things. */
function perform(tx: EngineTx, steps: readonly Step[]): unknown[] {
  return steps.map(({ does, key, prefix, limit, after, reverse, value }) => {
    const page = { limit, ...(after === null ? {} : { after }) };
    switch (does) {
      case "get":
        return tx.get(key, codec);
      case "put":
        return tx.put(key, value, codec);
      case "bump":
        return tx.put(key, (tx.get(key, codec) ?? 0) + 1, codec);
      case "delete":
        return tx.delete(key);
      case "keys":
        return tx.keys(prefix, { ...page, reverse });
      case "records":
        return tx.records(prefix, codec, { ...page, reverse });
      case "list":
        return tx.list(prefix, page);
    }
  });
}

async function failureCode(tried: Promise<unknown>): Promise<string> {
  const error = await tried.then(
    () => null,
    (cause: unknown) => cause,
  );
  return error instanceof Failure ? error.code : "none";
}

class Host {
  readonly world = new DrivenWorld();
  readonly storage = new MemoryStorage(this.world);
  readonly #transactions: Transactions;
  isReady = true;
  calls = 0;
  /** How often a transaction, or a look, has asked storage for something, and how many keys it was given. */
  lookups = 0;
  keysSeen = 0;

  constructor() {
    const { clock, timers } = this.world;
    const needs = { storage: this.#counted(), clock, timers } as unknown as EngineNeeds;
    const isReady = () => this.isReady;
    this.#transactions = new Transactions({ needs, isReady, undoes: (kind) => kind === "thing" });
  }

  #counted(): EngineStorage {
    const { storage } = this;
    return {
      writtenElsewhere: false,
      get: async (key, of) => this.#count(await storage.get(key, of)),
      records: async (...page) => this.#count(await storage.records(...page)),
      keys: async (...page) => this.#count(await storage.keys(...page)),
      list: async (...page) => this.#count(await storage.list(...page)),
      write: (fn) =>
        storage.write((tx) =>
          fn({
            time: tx.time,
            get: (key, of) => this.#count(tx.get(key, of)),
            records: (...page) => this.#count(tx.records(...page)),
            keys: (...page) => this.#count(tx.keys(...page)),
            list: (...page) => this.#count(tx.list(...page)),
            put: (...one) => tx.put(...one),
            delete: (key) => tx.delete(key),
            settle: (id) => tx.settle(id),
            begin: (...one) => tx.begin(...one),
          }),
        ),
    };
  }

  #count<T>(found: T): T {
    this.lookups++;
    if (Array.isArray(found)) this.keysSeen += found.length;
    return found;
  }

  /** Through the bytes of the wire. `pause`: what may come between. */
  remote(
    pause: () => Promise<void> = async () => {},
    committed: () => void = () => {},
  ): RemoteStorage {
    const { transact } = hostService;
    return new RemoteStorage({
      clock: this.world.clock,
      random: this.world.random,
      local: false,
      writtenElsewhere: () => false,
      transact: async (sent) => {
        this.calls++;
        await pause();
        const request = transact.request.decode(transact.request.encode(sent));
        const answer = await this.#transactions.run(request);
        if (answer.committed) committed();
        await pause();
        return transact.response.decode(transact.response.encode(answer));
      },
    });
  }

  send(changes: Partial<WireTransaction>): Promise<Transacted> {
    return this.#transactions.run({
      commit: true,
      deletion: false,
      time: null,
      reads: [],
      ranges: [],
      puts: [],
      settles: [],
      begins: [],
      local: false,
      ...changes,
    });
  }
}

test("whatever several processes write at once, it is as if they had done so one after the other, in the order of their commits", async () => {
  const programs = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 10,
  });
  await fc.assert(
    fc.asyncProperty(programs, fc.infiniteStream(fc.nat(3)), async (all, pauses) => {
      const host = new Host();
      const order: number[] = [];
      const pause = async () => {
        for (let left = pauses.next().value ?? 0; left > 0; left--) await Promise.resolve();
      };
      const seen = await Promise.all(
        all.map((steps, i) =>
          host.remote(pause, () => order.push(i)).write((tx) => perform(tx, steps)),
        ),
      );
      assert.equal(order.length, all.length);
      const again = new MemoryStorage(new DrivenWorld());
      for (const i of order) {
        assert.deepEqual(await again.write((tx) => perform(tx, all[i]!)), seen[i]);
      }
      const everything = { limit: 1000 };
      assert.deepEqual(
        await host.storage.records("", codec, everything),
        await again.records("", codec, everything),
      );
    }),
    { numRuns: 300 },
  );
});

test("one process that writes the same key again and again loses nothing, and takes turns after the first conflict", async () => {
  const host = new Host();
  const turn = () => host.world.timers.turn();
  const storage = host.remote(turn);
  const bump = () => storage.write((tx) => tx.put("n", (tx.get("n", codec) ?? 0) + 1, codec));
  await Promise.all(Array.from({ length: 50 }, bump));
  assert.equal(await storage.get("n", codec), 50);
  const before = host.calls;
  for (let i = 0; i < 10; i++) await bump();
  assert.equal(host.calls - before, 20, "a look and a commit each");
});

test("what is thrown undoes everything, and is thrown of a state that there was", async () => {
  const host = new Host();
  const storage = host.remote();
  const thrown = storage.write((tx) => {
    tx.put("a", 1, codec);
    throw new Error("no");
  });
  await assert.rejects(thrown, /no/);
  assert.equal(await storage.get("a", codec), null);
  // Between its two reads somebody writes both: it never sees the one without the other.
  await storage.write((tx) => (tx.put("a", 0, codec), tx.put("b", 0, codec)));
  let reads = 0;
  const slow = host.remote(async () => {
    if (++reads === 3) {
      await host.storage.write((tx) => (tx.put("a", 1, codec), tx.put("b", 1, codec)));
    }
  });
  const compared = await slow.write((tx) => {
    const [a, b] = [tx.get("a", codec), tx.get("b", codec)];
    if (a !== b) throw new Error(`${a} and ${b} were never there together`);
    return a;
  });
  assert.equal(compared, 1);
});

test("the time that a transaction looks at is the server's: an old, a later and an earlier one are refused", async () => {
  const host = new Host();
  const { clock } = host.world;
  const storage = host.remote();
  assert.equal(await storage.write((tx) => tx.time), clock.now());
  await host.world.advance(5n * SECOND);
  assert.equal(await storage.write((tx) => tx.time), clock.now());
  const now = clock.now();
  for (const time of [now - SECOND - 1n, now + 1n, 0n]) {
    const { committed } = await host.send({ time, puts: [{ key: "t", value: new Uint8Array(1) }] });
    assert.equal(committed, false, String(time - now));
  }
  assert.equal((await host.send({ time: now })).committed, true);
  assert.equal((await host.send({ time: now - 1n })).committed, false, "before another one");
  assert.equal(await host.storage.get("t", codec), null);
});

test("keys, prefixes, ids and kinds that no engine of ours could write are refused, and nothing is written", async () => {
  const host = new Host();
  const id = "01234567-89ab-4cde-8f01-23456789abcd";
  const value = new Uint8Array(1);
  const bad: readonly Partial<WireTransaction>[] = [
    ...["", "/a", "a/", "a//b", "a\u0000b", "a\nb", "\ud800", "x".repeat(3000)].flatMap((key) => [
      { puts: [{ key, value }] },
      { reads: [{ key, seen: value }] },
    ]),
    {
      puts: [
        { key: "a", value },
        { key: "a", value: null },
      ],
    },
    { settles: ["../../core/x"] },
    { settles: ["a"] },
    { begins: [{ id: "../x", kind: "thing", data: "{}" }] },
    { begins: [{ id, kind: "other", data: "{}" }] },
    { begins: [{ id, kind: "thing", data: "[]" }] },
    {
      ranges: [{ kind: "rows", prefix: "", after: null, limit: 1, reverse: false, seen: null }],
    },
    {
      ranges: [{ kind: "keys", prefix: "/..", after: null, limit: 1, reverse: false, seen: null }],
    },
  ];
  for (const one of bad) {
    const tried = host.send({ ...one, puts: [...(one.puts ?? []), { key: "also", value }] });
    assert.match(
      await failureCode(tried),
      /^(?:plugin-transaction-refused|body-malformed)$/,
      JSON.stringify(one),
    );
  }
  assert.deepEqual(await host.storage.keys("", { limit: 10 }), []);
  host.isReady = false;
  assert.equal(await failureCode(host.send({ puts: [{ key: "a", value }] })), "plugin-not-ready");
});

test("write-ahead records begin and are settled with the transaction, by ids that the process has drawn", async () => {
  const host = new Host();
  const storage = host.remote();
  const data: JsonObject = { name: "x" };
  const id = await storage.write((tx) => tx.begin("thing", data));
  assert.deepEqual(
    host.storage.noted.map((one) => [one.id, one.kind, one.data]),
    [[id, "thing", data]],
  );
  await assert.rejects(host.send({ begins: [{ id, kind: "thing", data: "{}" }] }));
  await storage.write((tx) => (tx.put("made", 1, codec), tx.settle(id)));
  assert.deepEqual(host.storage.noted, []);
});

test("what one transaction reads and writes has a bound, told before anything is looked at", async () => {
  const host = new Host();
  const seen = new Uint8Array(1);
  const range = { kind: "keys", prefix: "n/", after: null, limit: 1, reverse: false, seen };
  const id = "01234567-89ab-4cde-8f01-23456789abcd";
  const too: readonly Partial<WireTransaction>[] = [
    { ranges: Array.from({ length: 60_000 }, () => range) },
    { reads: Array.from({ length: 60_000 }, (_, i) => ({ key: `k${i}`, seen })) },
    {
      ranges: Array.from({ length: 501 }, () => range),
      reads: Array.from({ length: 500 }, (_, i) => ({ key: `k${i}`, seen })),
    },
    { puts: Array.from({ length: 60_000 }, (_, i) => ({ key: `k${i}`, value: seen })) },
    { settles: Array.from({ length: 60_000 }, () => id) },
  ];
  for (const one of too) {
    for (const commit of [true, false]) {
      const tried = host.send({ ...one, commit });
      assert.equal(await failureCode(tried), "plugin-transaction-refused");
    }
  }
  assert.deepEqual([host.lookups, await host.storage.keys("", { limit: 1 })], [0, []]);
  await host.send({ ranges: Array.from({ length: 1000 }, () => range) });
  assert.equal(host.lookups, 1000, "as many as there may be");
});

test("keys that a transaction looks at have a bound, and those that are only read are read in parts", async () => {
  const host = new Host();
  const many = 17_000;
  await host.storage.write((tx) => {
    for (let i = 0; i < many; i++) tx.put(`n/${String(i).padStart(5, "0")}`, i, codec);
  });
  const seen = new Uint8Array(1);
  const all = { prefix: "n/", after: null, limit: 4_000_000, reverse: false, seen };
  for (const kind of ["keys", "list"]) {
    host.keysSeen = 0;
    const tried = host.send({ ranges: [{ ...all, kind }] });
    assert.equal(await failureCode(tried), "plugin-transaction-refused", kind);
    assert.ok(host.keysSeen < many, `${kind}: ${host.keysSeen} keys were looked at`);
  }
  const storage = host.remote();
  for (const names of [
    await storage.keys("n/", { limit: 3000 }),
    (await storage.list("n/", { limit: 3000 })).map((name) => `n/${name}`),
    (await storage.records("n/", codec, { limit: 3000 })).map(({ key }) => key),
  ]) {
    assert.deepEqual(names, await host.storage.keys("n/", { limit: 3000 }));
  }
  host.lookups = 0;
  await storage.keys("n/", { limit: 3000, reverse: true });
  assert.equal(host.lookups, 3, "in parts");
});
