// Healing: what is damaged comes back from another cluster, and nothing else does, whoever sends it.

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import {
  bytes,
  type MadeStore,
  openedStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { assertSameRows, copyRows } from "../../../tests/support/stores/followed-store.ts";
import { filledStore, tamperings, VICTIM } from "../../../tests/support/stores/tampering.ts";
import { tamper, WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { hex } from "@holdfast/shared/bytes";
import type { StorageEngine } from "../engines/engine.ts";
import { classOf } from "../key.ts";
import { LOST_SCOPE } from "../rows/log-entry.ts";
import { slotOf } from "../rows/merkle.ts";
import type { AdoptedRow } from "../store.ts";
import { healStore, type Replica } from "./heal.ts";

const SLOT = slotOf("shared", VICTIM)!;
/** Sums that were changed with what they sum up: nothing says which. The store does not open with them again. */
const UNNAMED = [
  "a row put back from an older day with its leaf and sum",
  "row, leaf and sum all removed",
];

interface Stage extends MadeStore {
  /** As it was before anything was damaged. */
  readonly whole: StorageEngine;
  readonly old: Awaited<ReturnType<typeof filledStore>>["old"];
}

async function stage(): Promise<Stage> {
  const made = await filledStore();
  const whole = new WatchedEngine();
  await copyRows(made.engine, whole.inner);
  return { ...made, whole: whole.inner };
}

/** Another cluster that has everything, but for what it is made to say. */
function replicaOf(
  engine: StorageEngine,
  forge: (row: AdoptedRow) => AdoptedRow | null = (row) => row,
): Replica & { questions: string[] } {
  const questions: string[] = [];
  return {
    name: "site-b",
    questions,
    keys: async (slots) =>
      slots.flatMap((slot) =>
        engine
          .leaves({ slot, key: "" }, 100)
          .filter((leaf) => leaf.slot === slot)
          .map(({ key }) => key),
      ),
    rows: async (keys) => {
      questions.push(...keys);
      return keys
        .map((key) => {
          const leaf = engine.leaf(slotOf(classOf(key), key)!, key);
          return forge({ key, scope: leaf?.scope ?? new Uint8Array(16), value: engine.get(key) });
        })
        .filter((row) => row !== null);
    },
  };
}

describe("healing", () => {
  for (const { name, act, mended } of tamperings) {
    if (mended === null || UNNAMED.includes(name)) continue;
    test(`${name}: it is as it was before, and so is the root`, async () => {
      const { store, engine, world, whole, old } = await stage();
      const root = hex(store.trees.compositeRoot());
      await act(engine.inner, old);
      await healStore(store, await store.check(), [replicaOf(whole)], world);
      assert.ok((await store.check()).ok);
      assertSameRows(engine, whole);
      assert.equal(hex(store.trees.compositeRoot()), root);
      const again = openedStore(new WatchedEngine(engine.inner));
      again.store.unlock(TREE_KEY);
      assert.equal(again.engine.batches.length, 0, "nothing is left to be mended");
    });
  }

  test("a row whose leaf is gone too is found by the place that it had", async () => {
    const { store, engine, world, whole } = await stage();
    await tamper(engine.inner, {
      data: [{ key: VICTIM, value: null }],
      leaves: [{ slot: SLOT, key: VICTIM, leaf: null }],
    });
    const found = await store.check();
    assert.deepEqual(found.missing, []);
    const { healed } = await healStore(store, found, [replicaOf(whole)], world);
    assert.deepEqual(healed, { count: 1, keys: [VICTIM] });
    assertSameRows(engine, whole);
  });

  test("a wrong leaf beside a whole row needs nobody", async () => {
    const { store, engine, world, whole } = await stage();
    const { hash, scope } = engine.leaf(SLOT, VICTIM)!;
    const leaf = { hash: hash.map((byte) => byte ^ 1), scope };
    await tamper(engine.inner, { leaves: [{ slot: SLOT, key: VICTIM, leaf }] });
    const { healed } = await healStore(store, await store.check(), [], world);
    assert.deepEqual(healed.keys, [VICTIM]);
    assertSameRows(engine, whole);
  });

  test("a wrong value is not what anybody else says it is: another one, another scope, none", async () => {
    const forged: readonly ((row: AdoptedRow) => AdoptedRow | null)[] = [
      (row) => ({ ...row, value: bytes("forged") }),
      (row) => ({ ...row, scope: LOST_SCOPE }),
      (row) => ({ ...row, scope: new Uint8Array(3) }),
      (row) => ({ ...row, value: null }),
      (row) => ({ ...row, key: "shared/kv/18" }),
      () => null,
    ];
    const damages: ((engine: StorageEngine) => Promise<void>)[] = [
      (engine) => tamper(engine, { data: [{ key: VICTIM, value: bytes("damaged") }] }),
      (engine) => tamper(engine, { data: [{ key: VICTIM, value: null }] }),
      (engine) =>
        tamper(engine, {
          data: [{ key: VICTIM, value: null }],
          leaves: [{ slot: SLOT, key: VICTIM, leaf: null }],
        }),
    ];
    for (const [i, forge] of forged.entries()) {
      for (const damage of damages) {
        const { store, engine, world, whole } = await stage();
        await damage(engine.inner);
        const before = engine.batches.length;
        const report = await healStore(
          store,
          await store.check(),
          [replicaOf(whole, forge)],
          world,
        );
        assert.equal(report.healed.count, 0);
        assert.equal(engine.batches.length, before, "nothing was written");
        const isNamed = i < 2;
        assert.deepEqual(report.refused, isNamed ? [{ replica: "site-b", key: VICTIM }] : []);
        // One that tells the truth comes after it.
        const replicas = [replicaOf(whole, forge), replicaOf(whole)];
        await healStore(store, await store.check(), replicas, world);
        assertSameRows(engine, whole);
      }
    }
  });

  test("whoever does not answer is passed over", async () => {
    const { store, engine, world, whole } = await stage();
    await tamper(engine.inner, { data: [{ key: VICTIM, value: null }] });
    const gone: Replica = {
      name: "gone",
      keys: () => Promise.reject(new Error("gone")),
      rows: () => Promise.reject(new Error("gone")),
    };
    const report = await healStore(store, await store.check(), [gone, replicaOf(whole)], world);
    assert.deepEqual(
      report.silent.map(({ replica }) => replica),
      ["gone"],
    );
    assertSameRows(engine, whole);
  });

  test("what is written meanwhile stays", async () => {
    const { store, engine, world, whole } = await stage();
    await tamper(engine.inner, { data: [{ key: VICTIM, value: null }] });
    const slow = replicaOf(whole);
    const replica: Replica = {
      ...slow,
      rows: async (keys) => {
        const rows = await slow.rows(keys);
        await store.write((tx) => tx.put(VICTIM, bytes("newest")));
        return rows;
      },
    };
    const { refused } = await healStore(store, await store.check(), [replica], world);
    assert.deepEqual(refused, [], "it was right when it was read");
    assert.equal(Buffer.from(store.get(VICTIM)!).toString(), "newest");
    assert.ok((await store.check()).ok);
  });

  test("whoever keeps values in memory is told of those that came back", async () => {
    const { store, engine, world, whole } = await stage();
    const changed: string[] = [];
    store.onForeign((keys) => void changed.push(...keys));
    await tamper(engine.inner, { data: [{ key: VICTIM, value: bytes("damaged") }] });
    const replica = replicaOf(whole);
    await healStore(store, await store.check(), [replica], world);
    assert.deepEqual([changed, replica.questions], [[VICTIM], [VICTIM]]);
  });
});
