// Damage in the storage of a primary is healed from a secondary that is connected, and never spread to one; damage of a
// secondary is fetched from its primary. Cases of docs/cases/replication.md by their numbers.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { hex } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Clock } from "@holdfast/shared/world";
import { healed, type Healed } from "../../../src/replication/stream/messages.ts";
import { TreeWork } from "../../../src/replication/tree-work.ts";
import type { StorageEngine } from "../../../src/storage/engines/engine.ts";
import { slotOf } from "../../../src/storage/rows/merkle.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { ReplicatedPair } from "../../support/replication/replicated-pair.ts";
import { assertSameRows } from "../../support/stores/followed-store.ts";
import { tamper } from "../../support/stores/watched-engine.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };
const SECOND = 1_000_000_000n;
const KEY = "shared/7";
const SLOT = slotOf("shared", KEY)!;
const PAGE = String((SLOT >> 8) & 255);

/** Both hold the same. */
async function following(options?: Parameters<typeof ReplicatedPair.make>[0]) {
  const pair = await ReplicatedPair.make(options);
  for (let i = 0; i < 20; i++) await pair.put(`shared/${i}`, `value ${i}`, i);
  await pair.put("local/x");
  pair.receiver.open();
  await pair.atRest();
  return pair;
}

/** The checks of the primary. */
function checksOf(pair: ReplicatedPair): TreeWork {
  return new TreeWork({
    store: pair.primary.store,
    ...pair.world,
    hasReplicas: () => pair.known.length > 0,
    replicas: () => pair.sender.replicas(),
    follows: () => false,
    refetch: () => false,
  });
}

/** Those of the secondary. */
function checksThere(pair: ReplicatedPair): TreeWork {
  return new TreeWork({
    store: pair.secondary.store,
    ...pair.world,
    hasReplicas: () => true,
    replicas: () => [],
    follows: () => pair.receiver.status.state === "stream-wals",
    refetch: () => pair.receiver.mend(),
  });
}

/** By a new session, with what the test has put in the place of the primary's methods. */
async function reconnected(pair: ReplicatedPair): Promise<void> {
  const before = pair.hellos.length;
  pair.cut();
  while (pair.hellos.length === before) await pair.world.timers.advance(SECOND);
  await until(
    () => pair.receiver.status.state === "stream-wals" && pair.sender.replicas().length === 1,
  );
}

function flipped(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte));
}

const DAMAGES: Readonly<Record<string, (engine: StorageEngine) => Promise<void>>> = {
  "a bit of a value": (engine) =>
    tamper(engine, { data: [{ key: KEY, value: flipped(engine.get(KEY)!) }] }),
  "a bit of a leaf": (engine) => {
    const { hash, scope } = engine.leaf(SLOT, KEY)!;
    return tamper(engine, {
      leaves: [{ slot: SLOT, key: KEY, leaf: { hash: flipped(hash), scope } }],
    });
  },
  "a bit of a scope": (engine) => {
    const { hash, scope } = engine.leaf(SLOT, KEY)!;
    return tamper(engine, {
      leaves: [{ slot: SLOT, key: KEY, leaf: { hash, scope: flipped(scope) } }],
    });
  },
  "a row": (engine) => tamper(engine, { data: [{ key: KEY, value: null }] }),
  "a row and its leaf": (engine) =>
    tamper(engine, {
      data: [{ key: KEY, value: null }],
      leaves: [{ slot: SLOT, key: KEY, leaf: null }],
    }),
};

/** Somebody between them changes what the secondary answers. */
function forging(pair: ReplicatedPair, forge: (answer: Healed) => Healed): void {
  pair.instead.set("Healed", (real) => ({
    shape: real.shape,
    run: (requests, call) =>
      real.run(
        (async function* () {
          for await (const bytes of requests) {
            yield healed.request.encode(forge(healed.request.decode(bytes)));
          }
        })(),
        call,
      ),
  }));
}

describe("a primary", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  for (const [what, damage] of Object.entries(DAMAGES)) {
    test(`that has lost ${what} gets it back, also after a restart, and nobody else is changed`, async () => {
      pair = await following();
      const root = hex(pair.primary.store.trees.compositeRoot());
      await pair.crashPrimary();
      await damage(pair.primary.engine.inner);
      await reconnected(pair);
      pair.secondary.engine.batches.length = 0;
      const trees = checksOf(pair);
      const { report, warnings } = await trees.check(true);
      assert.equal(report["corrupted_root"], true);
      assert.equal(report["healed_keys_count"], 1);
      assert.match(warnings.join(), /1 damaged records were healed/);
      assert.deepEqual([trees.corrupted, trees.healed], [false, 1]);
      assert.equal(hex(pair.primary.store.trees.compositeRoot()), root);
      assert.equal(pair.secondary.engine.batches.length, 0, "the secondary was only asked");
      await pair.put("shared/after");
      await pair.atRest();
      assert.equal(pair.calls.get("BeginDiff"), 1, "the copy's: no comparison was needed");
      assert.ok((await pair.primary.store.check()).ok);
    });
  }

  test("makes no leaves from what is damaged: a reindex heals first, and is refused where nobody can", async () => {
    for (const damage of Object.values(DAMAGES)) {
      pair = await following();
      await damage(pair.primary.engine.inner);
      const trees = checksOf(pair);
      await trees.reindex({ force: false, diff: false });
      await trees.close();
      await pair.put("shared/after");
      await pair.atRest();
      assert.ok((await pair.primary.store.check()).ok);
      await pair.receiver.close();
      pair.cut();
      await until(() => pair.sender.replicas().length === 0);
      await tamper(pair.primary.engine.inner, { data: [{ key: KEY, value: Buffer.from("x") }] });
      await assert.rejects(trees.reindex({ force: false, diff: false }), {
        code: "replication-reindex-drops",
      });
      assert.equal(trees.reindexing, null);
      await pair.close();
    }
  });

  test("takes from a secondary nothing but what it had: whoever sends something else is named", async () => {
    const forgeries: readonly ((answer: Healed) => Healed)[] = [
      (answer) => ({
        ...answer,
        rows: answer.rows.map((row) => ({ ...row, value: Buffer.from("forged") })),
      }),
      (answer) => ({
        ...answer,
        rows: answer.rows.map((row) => ({ ...row, scope: Buffer.alloc(16, 9) })),
      }),
      (answer) => ({ ...answer, rows: answer.rows.map((row) => ({ ...row, isAbsent: true })) }),
      (answer) => ({ ...answer, rows: answer.rows.map((row) => ({ ...row, key: "shared/8" })) }),
      (answer) => ({ ...answer, rows: [] }),
    ];
    for (const [i, forge] of forgeries.entries()) {
      pair = await following();
      await DAMAGES["a bit of a value"]!(pair.primary.engine.inner);
      const [before] = pair.primary.engine.rows({ from: KEY, to: null, limit: 1 });
      forging(pair, forge);
      await reconnected(pair);
      const trees = checksOf(pair);
      const { report } = await trees.check(true);
      assert.equal(report["healed_keys_count"], 0);
      assert.equal(trees.corrupted, true);
      const [after] = pair.primary.engine.rows({ from: KEY, to: null, limit: 1 });
      assert.deepEqual(after, before, "nothing was taken");
      const line = pair.world.lines.find((one) => one.includes("heal-refused"));
      assert.equal(line !== undefined, i < 2);
      const isSilent = pair.world.lines.some((one) => one.includes("could not be asked"));
      assert.equal(isSilent, i === 3, "an answer to another question is none");
      if (line !== undefined) assert.ok(line.includes("paris") && line.includes(KEY), line);
      await pair.close();
    }
  });

  test("does not wait for ever for an answer, and asks again the next time", async () => {
    pair = await following();
    await DAMAGES["a row"]!(pair.primary.engine.inner);
    pair.instead.set("Healed", (real) => ({
      shape: real.shape,
      async *run(requests, call) {
        await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
        yield* real.run(requests, call);
      },
    }));
    await reconnected(pair);
    const trees = checksOf(pair);
    let isOver = false;
    const checking = trees.check(true).finally(() => (isOver = true));
    while (!isOver) await pair.world.timers.advance(SECOND);
    assert.equal((await checking).report["healed_keys_count"], 0);
    assert.ok(pair.world.lines.some((line) => line.includes("could not be asked")));
    pair.instead.clear();
    await reconnected(pair);
    assert.equal((await trees.check(true)).report["healed_keys_count"], 1);
  });

  test("is answered by one who has applied what was written before", async () => {
    pair = await following();
    const release = pair.secondary.engine.hold();
    await pair.put(KEY, "newer", 3);
    await DAMAGES["a row"]!(pair.primary.engine.inner);
    const checking = checksOf(pair).check(false);
    for (let i = 0; i < 20; i++) await nextTurn();
    release();
    assert.equal((await checking).report["healed_keys_count"], 1);
    assert.equal(Buffer.from(pair.primary.store.get(KEY)!).toString(), "newer");
    await pair.atRest();
  });
});

describe("checks", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  function tupleOf(report: JsonObject): unknown {
    const map = report["corrupted_tree_map"] as Record<string, Record<string, unknown>>;
    return map["1"]!["corrupted_index_tuples_map"];
  }

  test("R-100: a subpage whose stored sum is wrong is named, and mended", async () => {
    for (const checks of [checksOf, checksThere]) {
      pair = await following();
      const node = checks === checksOf ? pair.primary : pair.secondary;
      await tamper(node.engine.inner, {
        sums: [{ slot: SLOT, sum: Buffer.alloc(32, 9), count: 1 }],
      });
      const { report } = await checks(pair).check(false);
      assert.deepEqual(tupleOf(report), { [PAGE]: { corrupted: false, subpages: [SLOT & 255] } });
      await pair.atRest();
      assert.ok((await node.store.check()).ok);
      await pair.close();
    }
  });

  test("R-101: what is damaged on a secondary is found by a deep check, and fetched by a comparison", async () => {
    for (const damage of Object.values(DAMAGES)) {
      pair = await following();
      await damage(pair.secondary.engine.inner);
      const trees = checksThere(pair);
      const { report, warnings } = await trees.check(true);
      assert.equal(report["corrupted_root"], true);
      assert.match(warnings.join(), /fetched from the primary/);
      await until(() => pair.calls.get("BeginDiff") === 2); // the first was the copy's
      await pair.atRest();
      assert.ok((await pair.secondary.store.check()).ok);
      assert.ok((await pair.primary.store.check()).ok);
      await pair.close();
    }
  });

  test("R-101: a reindex on a secondary is followed by the comparison as well", async () => {
    pair = await following();
    await DAMAGES["a bit of a value"]!(pair.secondary.engine.inner);
    const trees = checksThere(pair);
    await trees.reindex({ force: false, diff: true });
    await trees.close();
    await until(() => pair.calls.get("BeginDiff") === 2);
    await pair.atRest();
    assert.ok((await pair.secondary.store.check()).ok);
  });

  test("R-102: a page whose hash in memory is wrong is named without subpages", async () => {
    pair = await following();
    const { trees } = pair.primary.store;
    const root = hex(trees.compositeRoot());
    trees.shared.pageHash(Number(PAGE))[0]! ^= 1;
    const { report } = await checksOf(pair).check(false);
    assert.equal(report["corrupted_root"], true);
    assert.deepEqual(tupleOf(report), { [PAGE]: { corrupted: true, subpages: [] } });
    assert.equal(hex(trees.compositeRoot()), root, "it is made anew");
    const again = await checksOf(pair).check(false);
    assert.equal(again.report["corrupted_root"], false);
  });

  test("R-104: a reindex under writes that is cut off in any stage leaves nothing wrong, and ends when it is run again", async () => {
    const stages: readonly ((trees: TreeWork) => boolean)[] = [
      ({ reindexing }) => reindexing?.stage === "scanning",
      ({ reindexing }) => reindexing?.stage === "building" && reindexing.done > 0,
      ({ reindexing }) => (reindexing?.done ?? 0) > 131_072, // sums are done, and leaves follow
    ];
    for (const isThere of stages) {
      pair = await following();
      for (const key of [KEY, "shared/3", "local/x"]) {
        const slot = slotOf(key.startsWith("shared") ? "shared" : "local", key)!;
        await tamper(pair.primary.engine.inner, {
          sums: [{ slot, sum: Buffer.alloc(32, 9), count: 1 }],
        });
      }
      const trees = hurried(pair);
      await trees.reindex({ force: true, diff: false });
      await assert.rejects(trees.reindex({ force: true, diff: false }), {
        code: "replication-reindex-running",
        kind: "invalid",
      });
      // A write and a look at every turn: a stage that lasts a turn is not missed, on whatever machine.
      for (let i = 0; !isThere(trees); i++) {
        assert.notEqual(trees.reindexing, null, `it has ended: ${String(isThere)}`);
        void pair.put(`shared/${i % 30}`, `while it runs ${i}`).catch(() => {});
        await nextTurn();
      }
      await pair.crashPrimary();
      await trees.close();
      await pair.atRest();
      const root = hex(pair.primary.store.trees.compositeRoot());
      const again = hurried(pair);
      await again.reindex({ force: false, diff: false });
      await again.close();
      assert.equal(hex(pair.primary.store.trees.compositeRoot()), root);
      assert.equal(hex(pair.secondary.store.trees.compositeRoot()), root);
      assert.ok((await pair.primary.store.check()).ok);
      assertSameRows(pair.secondary.engine, pair.primary.engine);
      await pair.close();
    }
  });

  /** Every look at its clock uses up a slice, so that others come in between. */
  function hurried({ primary, world }: ReplicatedPair): TreeWork {
    let elapsed = 0n;
    const clock: Clock = { now: () => 0n, elapsed: () => (elapsed += 6_000_000n) };
    return new TreeWork({
      store: primary.store,
      ...world,
      clock,
      hasReplicas: () => false,
      replicas: () => [],
      follows: () => false,
      refetch: () => false,
    });
  }
});
