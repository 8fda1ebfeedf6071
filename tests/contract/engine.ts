// What every storage engine must do (src/storage/engines/engine.ts), as one suite that each engine is run
// through. What only one engine promises is tested beside that engine.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import fc from "fast-check";
import { hex } from "@holdfast/shared/bytes";
import { afterKey, compareKeys } from "../../src/storage/key.ts";
import { InvariantError } from "@holdfast/shared/invariant";
import { CommitConflict, EngineError } from "../../src/storage/engines/engine.ts";
import type { Batch, StorageEngine, Range } from "../../src/storage/engines/engine.ts";
import { assertSameRows, catchUp, followerOf, sent } from "../support/stores/followed-store.ts";
import { adoptRest, anchorOf, keysAfter, rowsAt } from "../support/stores/adopted-store.ts";
import { WatchedEngine } from "../support/stores/watched-engine.ts";
import { madeStore, openedStore, TREE_KEY } from "../support/made/made-store.ts";
import { fakeWorld } from "../support/fake-world.ts";
import { type FilledRow, Filler } from "../../src/storage/generations/filler.ts";
import { EngineModel } from "./engine-model.ts";

export interface EngineUnderTest {
  readonly engine: StorageEngine;
  /** Closes the engine and opens the same storage again. */
  readonly reopen: () => Promise<StorageEngine>;
}

export interface ContractOptions {
  /** How many random histories are tried, each in a storage of its own. Default 100. */
  readonly histories?: number;
}

export const HEAD = "repl/head";

/** A batch that expects no head row and changes nothing but what is given. */
export function batchOf(change: Partial<Batch>): Batch {
  const expect = { name: HEAD, value: null };
  const none = { data: [], leaves: [], sums: [], log: [], meta: [] };
  return { expect, cutLogAbove: null, trimLogBelow: null, ...none, ...change };
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const ALL: Range = { from: "", to: null, limit: 1_000_000 };

export function engineContract(
  name: string,
  make: () => Promise<EngineUnderTest>,
  { histories = 100 }: ContractOptions = {},
): void {
  const started: StorageEngine[] = [];
  const start = async (): Promise<EngineUnderTest> => {
    const { engine, reopen } = await make();
    started.push(engine);
    const reopenAndNote = async () => {
      const again = await reopen();
      started.push(again);
      return again;
    };
    return { engine, reopen: reopenAndNote };
  };

  describe(`engine contract: ${name}`, () => {
    // Also after a failure: an engine that stays open may keep the process from ending.
    afterEach(() => Promise.all(started.splice(0).map((engine) => engine.close())));

    test("an empty store has nothing in any family", async () => {
      const { engine } = await start();
      new EngineModel().compare(engine);
      assert.equal(engine.get("shared/a"), null);
      assert.equal(engine.leaf(0, "shared/a"), null);
      assert.equal(engine.meta(HEAD), null);
      assert.equal(engine.lastLog(), null);
    });

    test("it states its limits and the space that is left", async () => {
      const { engine } = await start();
      assert.ok(engine.kind.length > 0);
      assert.ok(engine.limits.operations >= 1024 && engine.limits.bytes >= 1024 * 1024);
      const free = engine.freeBytes();
      assert.ok(free === null || free > 0);
    });

    test("a value is put, replaced and deleted, and an empty one is not an absent one", async () => {
      const { engine } = await start();
      await engine.commit(
        batchOf({ data: [put("a/1", "one"), put("a/2", ""), put("a/3", "three")] }),
      );
      assert.deepEqual(engine.get("a/1"), bytes("one"));
      assert.deepEqual(engine.get("a/2"), new Uint8Array(0));
      await engine.commit(batchOf({ data: [put("a/1", "uno"), { key: "a/3", value: null }] }));
      assert.deepEqual(engine.get("a/1"), bytes("uno"));
      assert.equal(engine.get("a/3"), null);
      await engine.commit(batchOf({ data: [{ key: "never there", value: null }] }));
      assert.deepEqual(engine.keys(ALL), ["a/1", "a/2"]);
    });

    test("keys are ordered by their UTF-8 bytes", async () => {
      const { engine } = await start();
      // U+FF61 sorts below U+1F600 in UTF-8, and above its surrogates in UTF-16.
      const keys = [
        "é",
        "a",
        "a/b",
        "ab",
        "a\u{1f600}",
        "a\uff61",
        "a\ue000",
        "Z",
        "a/b/c",
        "a b",
        "a-b",
      ];
      await engine.commit(batchOf({ data: keys.map((key) => put(key, key)) }));
      const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(engine.keys(ALL), sorted);
      assert.deepEqual(engine.keys({ ...ALL, reverse: true }), sorted.toReversed());
      const rows = sorted.map((key) => ({ key, value: bytes(key) }));
      assert.deepEqual(engine.rows(ALL), rows);
    });

    test("a range holds its start, not its end, and gives at most its limit from the near end", async () => {
      const { engine } = await start();
      await engine.commit(batchOf({ data: ["a", "b", "c", "d", "e"].map((key) => put(key, key)) }));
      const keys = (from: string, to: string | null, limit = 10, reverse = false) =>
        engine.keys({ from, to, limit, reverse }).join("");
      assert.equal(keys("b", "d"), "bc");
      assert.equal(keys("b", "d", 10, true), "cb");
      assert.equal(keys("b", null, 2), "bc");
      assert.equal(keys("b", null, 2, true), "ed");
      assert.equal(keys("b", "e", 1, true), "d");
      assert.equal(keys(afterKey("b"), null), "cde");
      assert.equal(keys("", "a"), "");
      assert.equal(keys("f", null), "");
      assert.equal(keys("d", "b"), "");
      assert.equal(keys("aa", "ab", 10, true), "");
      assert.equal(engine.keys({ from: "", to: null, limit: Infinity }).length, 5);
      assert.deepEqual(engine.rows({ from: "b", to: "d", limit: 1, reverse: true }), [
        { key: "c", value: bytes("c") },
      ]);
    });

    test("leaves are ordered by slot and then by key, and continue strictly after a place", async () => {
      const { engine } = await start();
      const rows = [
        leafRow(0, "z"),
        leafRow(2, "a"),
        leafRow(2, "a/b"),
        leafRow(2, "b\u{1f600}"),
        leafRow(10, "a"),
        leafRow(0x1ffff, "a"),
      ];
      await engine.commit(
        batchOf({
          leaves: rows.toReversed().map(({ slot, key, hash, scope }) => ({
            slot,
            key,
            leaf: { hash, scope },
          })),
        }),
      );
      assert.deepEqual(engine.leaves(null, 100), rows);
      assert.deepEqual(engine.leaves(null, 2), rows.slice(0, 2));
      assert.deepEqual(engine.leaves({ slot: 2, key: "a" }, 2), rows.slice(2, 4));
      assert.deepEqual(engine.leaves({ slot: 2, key: "zzz" }, 1), rows.slice(4, 5));
      assert.deepEqual(engine.leaves({ slot: 0x1ffff, key: "a" }, 1), []);
      const scopes = rows.map((row) => ({ slot: row.slot, key: row.key, scope: hex(row.scope) }));
      assert.deepEqual(engine.scopes(null, 100), scopes);
      assert.deepEqual(engine.scopes({ slot: 2, key: "a" }, 2), scopes.slice(2, 4));
      assert.deepEqual(engine.scopes({ slot: 0x1ffff, key: "a" }, 1), []);
      const { hash, scope } = leafRow(2, "a/b");
      assert.deepEqual(engine.leaf(2, "a/b"), { hash, scope });
      assert.equal(engine.leaf(3, "a/b"), null);
      await engine.commit(batchOf({ leaves: [{ slot: 2, key: "a/b", leaf: null }] }));
      assert.equal(engine.leaf(2, "a/b"), null);
      assert.equal(engine.leaves(null, 100).length, 5);
    });

    test("a fresh leaf is put where there is none, and fails the commit where there is one", async () => {
      const { engine, reopen } = await start();
      const leaf = { hash: fill(32, 1), scope: fill(16, 1) };
      const fresh = (slot: number) => [{ slot, key: "a", leaf, fresh: true } as const];
      await engine.commit(batchOf({ leaves: fresh(1) }));
      await engine.commit(batchOf({ leaves: fresh(2) }));
      assert.deepEqual(engine.leaf(1, "a"), leaf);
      await engine.commit(batchOf({ leaves: [{ slot: 1, key: "a", leaf: null }] }));
      await engine.commit(batchOf({ leaves: fresh(1) }));
      const other = { hash: fill(32, 2), scope: fill(16, 2) };
      const again = { slot: 2, key: "a", leaf: other, fresh: true } as const;
      const taken = engine.commit(batchOf({ data: [put("b", "b")], leaves: [again] }));
      await assert.rejects(taken, EngineError);
      const reopened = await reopen();
      assert.deepEqual(reopened.leaf(2, "a"), leaf);
      assert.equal(reopened.get("b"), null);
    });

    test("sums are kept per slot, in order of slot", async () => {
      const { engine } = await start();
      const sum = (slot: number, count: number) => ({ slot, sum: fill(32, count), count });
      await engine.commit(batchOf({ sums: [sum(0x1ffff, 1), sum(9, 2), sum(10, 3), sum(0, 4)] }));
      assert.deepEqual(engine.sums(), [sum(0, 4), sum(9, 2), sum(10, 3), sum(0x1ffff, 1)]);
      assert.deepEqual(engine.sums(9, 2), [sum(9, 2), sum(10, 3)]);
      assert.deepEqual(engine.sums(11), [sum(0x1ffff, 1)]);
      await engine.commit(batchOf({ sums: [sum(9, 0xffff_ffff)] }));
      assert.deepEqual(engine.sums()[1], sum(9, 0xffff_ffff));
    });

    test("the log is ordered by index, also beyond 2^53, and trimmed from below", async () => {
      const { engine } = await start();
      const far = 2n ** 62n + 1n;
      const rows = [9n, 10n, 11n, 2n ** 53n + 1n, far].map((index) => ({
        index,
        entry: bytes(`entry ${index}`),
      }));
      await engine.commit(batchOf({ log: rows.toReversed() }));
      assert.deepEqual(engine.logs(0n, 100), rows);
      assert.deepEqual(engine.logs(10n, 2), rows.slice(1, 3));
      assert.deepEqual(engine.logs(12n, 1), rows.slice(3, 4));
      assert.deepEqual(engine.logs(far + 1n, 1), []);
      assert.equal(engine.lastLog(), far);
      await engine.commit(batchOf({ trimLogBelow: 11n }));
      assert.deepEqual(engine.logs(0n, 100), rows.slice(2));
      // Also those of the same commit.
      await engine.commit(
        batchOf({ log: [{ index: 5n, entry: bytes("x") }], trimLogBelow: far + 1n }),
      );
      assert.deepEqual(engine.logs(0n, 100), []);
      assert.equal(engine.lastLog(), null);
    });

    test("the log is cut from above, before what the same commit appends", async () => {
      const { engine, reopen } = await start();
      const rows = (word: string, ...indexes: bigint[]) =>
        indexes.map((index) => ({ index, entry: bytes(`${word} ${index}`) }));
      const far = 2n ** 62n + 1n;
      await engine.commit(batchOf({ log: rows("old", 9n, 10n, 11n, 12n, far) }));
      const lost = { expect: { name: HEAD, value: bytes("none") }, cutLogAbove: 0n };
      await assert.rejects(engine.commit(batchOf(lost)), CommitConflict);
      const log = rows("new", 11n, 13n);
      await engine.commit(batchOf({ cutLogAbove: 10n, log }));
      const left = [...rows("old", 9n, 10n), ...log];
      assert.deepEqual(engine.logs(0n, 100), left);
      assert.equal(engine.lastLog(), 13n);
      await engine.commit(batchOf({ cutLogAbove: far }));
      assert.deepEqual(engine.logs(0n, 100), left);
      // From both ends, and everything.
      await engine.commit(batchOf({ cutLogAbove: 11n, trimLogBelow: 10n }));
      assert.deepEqual(engine.logs(0n, 100), [...rows("old", 10n), ...rows("new", 11n)]);
      await engine.commit(batchOf({ cutLogAbove: 0n, log: rows("next", 3n) }));
      assert.deepEqual((await reopen()).logs(0n, 100), rows("next", 3n));
    });

    test("meta rows are put, replaced and deleted by name", async () => {
      const { engine } = await start();
      const meta = (value: Uint8Array | null) => batchOf({ meta: [{ name: "repl/tail", value }] });
      await engine.commit(meta(bytes("one")));
      await engine.commit(meta(bytes("two")));
      assert.deepEqual(engine.meta("repl/tail"), bytes("two"));
      await engine.commit(meta(null));
      assert.equal(engine.meta("repl/tail"), null);
    });

    test("a commit whose expectation fails changes nothing, and the next one works", async () => {
      const { engine } = await start();
      const model = new EngineModel();
      const first = { ...everything("first"), meta: [{ name: HEAD, value: bytes("h1") }] };
      await engine.commit(batchOf(first));
      model.apply(batchOf(first));
      const attempts = [null, bytes("h2"), bytes("h"), bytes("h11"), new Uint8Array(0)];
      for (const value of attempts) {
        const meta = [{ name: HEAD, value: bytes("lost") }];
        const lost = batchOf({ ...everything("lost"), meta, expect: { name: HEAD, value } });
        await assert.rejects(engine.commit(lost), CommitConflict);
        model.compare(engine);
      }
      const missing = batchOf({
        ...everything("lost"),
        expect: { name: "none", value: bytes("") },
      });
      await assert.rejects(engine.commit(missing), CommitConflict);
      model.compare(engine);
      const second = batchOf({ ...everything("next"), expect: { name: HEAD, value: bytes("h1") } });
      await engine.commit(second);
      model.apply(second);
      model.compare(engine);
    });

    test("bytes given to a commit may be changed as soon as it was called", async () => {
      const { engine } = await start();
      const value = bytes("mine");
      const pooled = Buffer.from("a slice of the shared pool");
      const { hash, scope } = leafRow(1, "k");
      const parts = {
        value,
        hash,
        scope,
        pooled,
        sum: fill(32, 7),
        head: bytes("h"),
        expected: bytes("e"),
      };
      await engine.commit(batchOf({ meta: [{ name: "seen", value: bytes("e") }] }));
      const committed = engine.commit(
        batchOf({
          expect: { name: "seen", value: parts.expected },
          data: [
            { key: "k", value: parts.value },
            { key: "p", value: parts.pooled },
          ],
          leaves: [{ slot: 1, key: "k", leaf: { hash: parts.hash, scope: parts.scope } }],
          sums: [{ slot: 1, sum: parts.sum, count: 1 }],
          log: [{ index: 1n, entry: parts.value }],
          meta: [{ name: HEAD, value: parts.head }],
        }),
      );
      for (const part of Object.values(parts)) part.fill(0xff);
      await committed;
      for (const part of Object.values(parts)) part.fill(0xee);
      assert.deepEqual(engine.get("k"), bytes("mine"));
      assert.equal(Buffer.from(engine.get("p")!).toString(), "a slice of the shared pool");
      const leaf = leafRow(1, "k");
      assert.deepEqual(engine.leaf(1, "k"), { hash: leaf.hash, scope: leaf.scope });
      assert.deepEqual(engine.sums(), [{ slot: 1, sum: fill(32, 7), count: 1 }]);
      assert.deepEqual(engine.logs(0n, 1), [{ index: 1n, entry: bytes("mine") }]);
      assert.deepEqual(engine.meta(HEAD), bytes("h"));
    });

    test("bytes that a read returned may be changed by whoever got them", async () => {
      const { engine } = await start();
      const batch = batchOf({ ...everything("x"), meta: [{ name: HEAD, value: bytes("h") }] });
      await engine.commit(batch);
      const model = new EngineModel();
      model.apply(batch);
      engine.get("a/x")!.fill(0);
      for (const row of engine.rows(ALL)) row.value.fill(0);
      const leaf = engine.leaf(1, "a/x")!;
      leaf.hash.fill(0);
      leaf.scope.fill(0);
      for (const row of engine.leaves(null, 10)) row.hash.fill(row.scope.fill(0).length);
      for (const row of engine.sums()) row.sum.fill(0);
      for (const row of engine.logs(0n, 10)) row.entry.fill(0);
      engine.meta(HEAD)!.fill(0);
      model.compare(engine);
      const view = engine.snapshot();
      view.get("a/x")!.fill(0);
      model.compare(view);
      view.close();
    });

    test("reads see the old state until the commit has resolved, and the new one at once after", async () => {
      const { engine } = await start();
      await engine.commit(batchOf({ data: [put("k", "0")] }));
      for (let round = 1; round <= 20; round++) {
        let settled = false;
        const committed = engine.commit(batchOf({ data: [put("k", `${round}`)] })).then(() => {
          settled = true;
          assert.deepEqual(engine.get("k"), bytes(`${round}`));
          return null;
        });
        while (!settled) {
          assert.deepEqual(engine.get("k"), bytes(`${round - 1}`));
          await turn();
        }
        await committed;
      }
    });

    test("a second commit before the first has settled is refused and does the first no harm", async () => {
      const { engine } = await start();
      const first = engine.commit(batchOf({ data: [put("k", "first")] }));
      await assert.rejects(engine.commit(batchOf({ data: [put("k", "second")] })), InvariantError);
      await first;
      assert.deepEqual(engine.get("k"), bytes("first"));
      await engine.commit(batchOf({ data: [put("k", "third")] }));
      assert.deepEqual(engine.get("k"), bytes("third"));
    });

    test("a snapshot stays what it was while commits go on", async () => {
      const { engine } = await start();
      const views = [];
      const model = new EngineModel();
      for (let round = 0; round < 6; round++) {
        const batch = batchOf(everything(`${round % 4}`, round));
        const committed = engine.commit(batch);
        views.push({ view: engine.snapshot(), model: model.copy() }); // a commit is under way
        await committed;
        model.apply(batch);
        views.push({ view: engine.snapshot(), model: model.copy() });
        for (const each of views) each.model.compare(each.view);
        if (round === 3) views.shift()!.view.close();
      }
      for (const each of views) {
        each.model.compare(each.view);
        each.view.close();
        each.view.close();
        assert.throws(() => each.view.get("a/0"), InvariantError);
      }
      model.compare(engine);
    });

    test("what was committed is there after opening the storage again", async () => {
      const { engine, reopen } = await start();
      const model = new EngineModel();
      for (let round = 0; round < 3; round++) {
        const batch = batchOf(everything(`${round}`));
        await engine.commit(batch);
        model.apply(batch);
      }
      const again = await reopen();
      model.compare(again);
    });

    test("it holds values of a mebibyte and takes as many rows at once as it says", async () => {
      const { engine, reopen } = await start();
      const big = fill(1024 * 1024, 0xa5);
      big[12_345] = 0;
      await engine.commit(
        batchOf({ data: [{ key: "big", value: big }], log: [{ index: 1n, entry: big }] }),
      );
      const keys = Array.from({ length: engine.limits.operations }, (_, i) => `row/${i}`);
      await engine.commit(batchOf({ data: keys.map((key) => put(key, key)) }));
      const again = await reopen();
      assert.ok(Buffer.from(big).equals(again.get("big")!));
      assert.ok(Buffer.from(big).equals(again.logs(1n, 1)[0]!.entry));
      const found = again.rows({ from: "row/", to: "row0", limit: keys.length + 1 });
      assert.equal(found.length, keys.length);
      assert.deepEqual(
        found.map((row) => row.key),
        keys.toSorted(compareKeys),
      );
      assert.ok(found.every((row) => Buffer.from(row.value).toString() === row.key));
    });

    test("a store that follows on it holds what its leader held, also after opening it again", async () => {
      const { engine, reopen } = await start();
      const leader = await madeStore();
      const write = (i: number) =>
        leader.store.write((tx) => {
          tx.put(`shared/${i % 5}`, bytes(`s${i}`));
          tx.put(`local/${i % 3}`, bytes(`l${i}`), Buffer.alloc(16, i));
          if (i % 4 === 3) tx.delete(`shared/${(i - 1) % 5}`);
        });
      for (let i = 0; i < 10; i++) await write(i);
      const follower = await followerOf(leader.engine, engine);
      for (let i = 10; i < 20; i++) await write(i);
      await catchUp(follower, leader.engine); // locked
      follower.store.unlock(TREE_KEY);
      for (let i = 20; i < 30; i++) await write(i);
      await follower.store.apply(sent(leader.engine, 21n, 4));
      await follower.store.write((tx) => tx.put("core/own", bytes("own")));
      await catchUp(follower, leader.engine);
      assertSameRows(follower.engine, leader.engine);
      const again = await reopen();
      assertSameRows(again, leader.engine);
      assert.deepEqual(again.get("core/own"), bytes("own"));
    });

    test("a store on it takes over another one's state, is rewound, and goes on after opening it again", async () => {
      const { engine, reopen } = await start();
      const leader = await madeStore();
      const write = (i: number) =>
        leader.store.write((tx) => {
          tx.put(`shared/${i % 7}`, bytes(`s${i}`), Buffer.alloc(16, i));
          if (i % 3 === 0) tx.delete(`shared/${(i + 2) % 7}`);
        });
      for (let i = 0; i < 10; i++) await write(i);
      const follower = await followerOf(leader.engine, engine);
      follower.store.unlock(TREE_KEY);
      // Entries that the leader never had.
      await follower.store.lead();
      const fork = follower.store.index;
      for (const key of ["shared/0", "shared/lost"]) {
        await follower.store.write((tx) => tx.put(key, bytes("lost")));
      }
      await follower.store.follow();
      const surplus = await follower.store.surplus(fork);
      await follower.store.rewind(surplus, rowsAt(leader.engine, surplus.keys));
      assertSameRows(engine, leader.engine);
      for (let i = 10; i < 20; i++) await write(i);
      await follower.store.beginAdopting(anchorOf(leader));
      const [first] = keysAfter("", leader.engine, engine);
      await follower.store.adopt(rowsAt(leader.engine, [first!]), first!);
      await follower.store.settled();
      const again = openedStore(new WatchedEngine(await reopen()));
      again.store.unlock(TREE_KEY);
      assert.equal(again.store.adopting!.cursor, first);
      await adoptRest(again, leader.engine, { between: () => write(21) });
      await catchUp(again, leader.engine);
      assertSameRows(again.engine, leader.engine);
      assert.ok((await again.store.check()).ok);
    });

    test("a copy of another cluster is filled on it, and taken up after opening it again", async () => {
      const { engine, reopen } = await start();
      const leader = await madeStore();
      await leader.store.write((tx) => {
        for (let i = 0; i < 300; i++) tx.put(`shared/${i}`, bytes(`v${i}`), Buffer.alloc(16, i));
      });
      const world = fakeWorld();
      const begun = await Filler.copy({ engine, ...world }, TREE_KEY, anchorOf(leader));
      const rows = rowsAt(leader.engine, keysAfter("", leader.engine)) as FilledRow[];
      for (const row of rows.slice(0, 100)) await begun.add(row);
      await begun.flush();
      const again = await reopen();
      const filler = await Filler.copy({ engine: again, ...world }, TREE_KEY, anchorOf(leader));
      assert.equal(filler.cursor, rows[99]!.key);
      for (const row of rows.slice(100)) await filler.add(row);
      await filler.finishCopy();
      const { store } = openedStore(new WatchedEngine(again));
      store.unlock(TREE_KEY);
      await store.follow();
      await leader.store.write((tx) => tx.put("local/since", bytes("1")));
      await store.apply(sent(leader.engine, store.index + 1n), leader.engine.meta(HEAD));
      assertSameRows(again, leader.engine);
      assert.ok((await store.check()).ok);
    });

    test("its own commits are not told to its own watchers", async () => {
      const { engine } = await start();
      const stop = engine.watch(() => assert.fail("told of its own commit"));
      await engine.commit(batchOf({ data: [put("k", "v")] }));
      await turn();
      stop();
    });

    test("closing waits for the running commit, may be repeated, and ends every use", async () => {
      const { engine, reopen } = await start();
      const view = engine.snapshot();
      const committed = engine.commit(batchOf({ data: [put("k", "v")] }));
      const closed = Promise.all([engine.close(), engine.close()]);
      await assert.rejects(engine.commit(batchOf({ data: [put("k", "late")] })), EngineError);
      await committed;
      await closed;
      assert.throws(() => engine.get("k"), EngineError);
      assert.throws(() => engine.snapshot(), EngineError);
      await assert.rejects(engine.commit(batchOf({})), EngineError);
      view.close();
      const again = await reopen();
      assert.deepEqual(again.get("k"), bytes("v"));
    });

    test("random histories give what a simple model gives", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
          const under = await start();
          let engine = under.engine;
          const model = new EngineModel();
          const views: { view: ReturnType<StorageEngine["snapshot"]>; model: EngineModel }[] = [];
          try {
            for (const each of steps) {
              if (each.kind === "commit") {
                const expect = { name: HEAD, value: model.meta.get(HEAD) ?? null };
                const batch = batchOf({ ...each.change, expect });
                await engine.commit(batch);
                model.apply(batch);
              } else if (each.kind === "conflict") {
                const expect = { name: HEAD, value: bytes("no such head") };
                const lost = engine.commit(batchOf({ ...each.change, expect }));
                await assert.rejects(lost, CommitConflict);
              } else if (each.kind === "snapshot") {
                views.push({ view: engine.snapshot(), model: model.copy() });
              } else if (each.kind === "release") {
                views.shift()?.view.close();
              } else if (each.kind === "range") {
                model.compareRange(engine, each.range);
              } else {
                for (const { view } of views.splice(0)) view.close();
                engine = await under.reopen();
              }
            }
            model.compare(engine);
            for (const each of views) each.model.compare(each.view);
          } finally {
            await engine.close();
          }
        }),
        { numRuns: histories },
      );
    });
  });
}

function put(key: string, value: string): { key: string; value: Uint8Array } {
  return { key, value: bytes(value) };
}

function fill(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

function leafRow(slot: number, key: string) {
  return { slot, key, hash: fill(32, slot + key.length), scope: fill(16, key.length) };
}

/** A change in each family. */
function everything(word: string, round = 0): Partial<Batch> {
  const { slot, key, hash, scope } = leafRow(1, `a/${word}`);
  return {
    data: [put(key, `value ${word} ${round}`)],
    leaves: [{ slot, key, leaf: { hash, scope } }],
    sums: [{ slot, sum: hash, count: round }],
    log: [{ index: BigInt(round + 1), entry: bytes(word) }],
    meta: [{ name: `name ${word}`, value: bytes(word) }],
  };
}

// Few keys, so that the same rows are written again and again; all orders that could differ.
const key = fc.constantFrom("a", "a/b", "ab", "b", "b/\u{1f600}", "b/\uff61", "c", "é");
const small = fc.uint8Array({ maxLength: 8 });
const change = fc.record({
  data: fc.uniqueArray(fc.record({ key, value: fc.option(small) }), { selector: (row) => row.key }),
  leaves: fc.uniqueArray(
    fc.record({
      slot: fc.constantFrom(0, 1, 255, 256, 0x1ffff),
      key,
      leaf: fc.option(fc.record({ hash: small, scope: small })),
    }),
    { selector: (row) => `${row.slot} ${row.key}` },
  ),
  sums: fc.uniqueArray(
    fc.record({ slot: fc.constantFrom(0, 1, 255, 0x1ffff), sum: small, count: fc.nat() }),
    { selector: (row) => row.slot },
  ),
  log: fc.uniqueArray(fc.record({ index: fc.bigInt({ min: 0n, max: 20n }), entry: small }), {
    selector: (row) => row.index,
  }),
  cutLogAbove: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 20n }) },
  ),
  trimLogBelow: fc.option(fc.bigInt({ min: 0n, max: 21n })),
  meta: fc.uniqueArray(
    fc.record({ name: fc.constantFrom(HEAD, "repl/tail"), value: fc.option(small) }),
    { selector: (row) => row.name },
  ),
});
const range = fc.record({
  from: fc.oneof(key, fc.constant("")),
  to: fc.option(key),
  limit: fc.integer({ min: 1, max: 9 }),
  reverse: fc.boolean(),
});
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("commit" as const), change }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("conflict" as const), change }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("snapshot" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("range" as const), range }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
