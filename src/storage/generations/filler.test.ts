// A filled storage is a store: it adds up, goes on where it was told to, and nothing of it is one before the end.

import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import {
  bytes,
  IDENTITY,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { classOf } from "../key.ts";
import type { Reads } from "../engines/engine.ts";
import { MemoryEngine } from "../engines/memory.ts";
import { HEAD_ROW } from "../rows/head.ts";
import { slotOf } from "../rows/merkle.ts";
import type { Store } from "../store.ts";
import { type Beginning, type FilledRow, Filler } from "./filler.ts";

const SCOPE = Buffer.alloc(16, 9);
const BEGINNING: Beginning = {
  lineage: Buffer.alloc(16, 5),
  epoch: 4,
  index: 1000n,
  cluster: "test",
  origin: { restored: { lineage: "a", epoch: 3, index: "7" }, replaced: null },
};

async function source() {
  const made = await madeStore();
  for (let from = 0; from < 300; from += 100) {
    await made.store.write((tx) => {
      for (let i = from; i < from + 100; i++) tx.put(`shared/${i}`, bytes(`s${i}`), SCOPE);
      for (let i = from; i < from + 50; i++) tx.put(`local/${i}`, bytes(`l${i}`));
      tx.put(`core/${from}`, bytes("k"));
    });
  }
  return made;
}

function rowsOf(engine: Reads): FilledRow[] {
  return engine.rows({ from: "", to: null, limit: 10_000 }).map(({ key, value }) => {
    const slot = slotOf(classOf(key), key);
    const scope = slot === null ? Buffer.alloc(16) : engine.leaf(slot, key)!.scope;
    return { key, scope, value };
  });
}

async function checks(store: Store): Promise<void> {
  const report = await store.check();
  assert.equal(
    report.ok,
    true,
    JSON.stringify(report, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v)),
  );
}

for (const keyed of [true, false]) {
  test(`rows in order make a store that adds up and goes on (${keyed ? "with" : "without"} the key of its trees)`, async () => {
    const { engine: original } = await source();
    const rows = rowsOf(original);
    const engine = new WatchedEngine(new MemoryEngine());
    const filler = new Filler({ engine, ...fakeWorld() }, keyed ? TREE_KEY : null);
    for (const row of rows) await filler.add(row);
    assert.equal(openedStore(engine).store.initialised, false, "nothing before the end");
    const copied = original.meta(HEAD_ROW)!;
    assert.equal(filler.isCopyOf(copied), true);
    if (keyed) {
      await filler.put({ key: "local/x", scope: SCOPE, value: bytes("first") });
      assert.equal(filler.isCopyOf(copied), false);
      await filler.put({ key: "local/x", scope: SCOPE, value: bytes("second") });
    }
    await filler.put({ key: "core/0", scope: SCOPE, value: bytes("carried over") });
    await filler.finish(BEGINNING, copied);
    const { store } = openedStore(engine);
    assert.equal(store.initialised, true);
    if (!keyed) {
      assert.throws(() => store.unlock(TREE_KEY), /head/);
      await store.complete(TREE_KEY);
    }
    assert.equal(store.unhashed, null);
    store.unlock(TREE_KEY);
    await checks(store);
    assert.equal(store.index, 1000n);
    assert.equal(store.head?.epoch, 4);
    assert.deepEqual(store.timeline, {
      lineage: "05050505-0505-0505-0505-050505050505",
      epochs: [
        {
          epoch: 4,
          first: "1001",
          chain: Buffer.from(store.head!.chain).toString("hex"),
          cluster: "test",
        },
      ],
      origin: BEGINNING.origin,
    });
    assert.equal(engine.lastLog(), null, "no log entries");
    const again = rowsOf(engine).filter(({ key }) => key !== "local/x" && key !== "core/0");
    assert.deepEqual(
      again,
      rows.filter(({ key }) => key !== "core/0"),
    );
    await store.write((tx) => tx.put("shared/1", bytes("changed")));
    await store.write((tx) => tx.delete("local/1"));
    assert.equal(store.index, 1002n);
    await checks(store);
    await store.close();
  });
}

test("the leaves are those that the store itself would make", async () => {
  const { engine: original, store } = await source();
  const engine = new MemoryEngine();
  const filler = new Filler({ engine, ...fakeWorld() }, TREE_KEY);
  for (const row of rowsOf(original)) await filler.add(row);
  const head = await filler.finish({ ...BEGINNING, ...IDENTITY });
  assert.deepEqual(engine.leaves(null, 1000), original.leaves(null, 1000));
  assert.deepEqual(engine.sums(), original.sums());
  assert.deepEqual([head.shared, head.local], [store.head?.shared, store.head?.local]);
});

test("a copy that was changed before its keys came is not opened", async () => {
  const { engine: original } = await source();
  for (const change of ["value", "missing", "head"]) {
    const engine = new MemoryEngine();
    const filler = new Filler({ engine, ...fakeWorld() }, null);
    for (const row of rowsOf(original)) {
      if (row.key !== "shared/7") await filler.add(row);
      else if (change === "value") await filler.add({ ...row, value: bytes("other") });
      else if (change === "head") await filler.add(row);
    }
    const head = Buffer.from(original.meta(HEAD_ROW)!);
    if (change === "head") head[30]! ^= 1;
    await filler.finish(BEGINNING, head);
    const { store } = openedStore(new WatchedEngine(engine));
    await assert.rejects(store.complete(TREE_KEY), /does not add up to what the snapshot/, change);
    assert.throws(() => store.unlock(TREE_KEY), /head/);
  }
});

test("rows out of order are refused", async () => {
  const filler = new Filler({ engine: new MemoryEngine(), ...fakeWorld() }, TREE_KEY);
  await filler.add({ key: "shared/b", scope: SCOPE, value: bytes("1") });
  await assert.rejects(filler.add({ key: "shared/a", scope: SCOPE, value: bytes("1") }), /order/);
  await assert.rejects(filler.add({ key: "shared/b", scope: SCOPE, value: bytes("1") }), /order/);
});
