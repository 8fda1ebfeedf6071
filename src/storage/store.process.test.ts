// The store on the default engine, with files and a thread: the same model, checks and repairs, and
// what is there after a start.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import fc from "fast-check";
import { bytes, IDENTITY, openedStore, TREE_KEY } from "../../tests/support/made/made-store.ts";
import type { MadeStore } from "../../tests/support/made/made-store.ts";
import { type ModelChange, StoreModel } from "../../tests/support/stores/store-model.ts";
import { tamper, WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { hex, text } from "@holdfast/shared/bytes";
import { SystemFs } from "../system/fs.ts";
import { slotOf } from "./rows/merkle.ts";
import { reindexStore } from "./repair/reindex.ts";
import { SqliteEngine } from "./engines/sqlite.ts";
import { trimLog } from "./trimming.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-store-"));
after(() => rmSync(root, { recursive: true }));
let directories = 0;

interface Place {
  readonly directory: string;
}

function place(): Place {
  return { directory: join(root, `${directories++}`) };
}

/** Opens the store of a place; makes it if there is none. */
async function opened({ directory }: Place): Promise<MadeStore> {
  const inner = await SqliteEngine.open({ directory, fs: new SystemFs() });
  const made = openedStore(new WatchedEngine(inner), { reserveBytes: 0 });
  if (made.store.initialised) made.store.unlock(TREE_KEY);
  else await made.store.create(TREE_KEY, IDENTITY, () => {});
  made.engine.batches.length = 0;
  return made;
}

const change: fc.Arbitrary<ModelChange> = fc.record({
  key: fc.constantFrom("shared/a", "shared/ü", "shared/c/\u{1f600}", "local/a", "core/a"),
  value: fc.option(fc.string({ maxLength: 3 }), { freq: 3 }),
  scope: fc.integer({ min: 0, max: 2 }),
});
const round = fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 10 });

test("after any history, and after every start, the files hold what the model says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
      const at = place();
      const model = new StoreModel();
      for (const transactions of rounds) {
        const { store, engine } = await opened(at);
        assert.equal(store.index, model.index);
        const writes = transactions.map((changes) =>
          store.write((tx) => {
            for (const { key, value, scope } of changes) {
              if (value === null) tx.delete(key);
              else tx.put(key, bytes(value), Buffer.alloc(16, scope));
            }
            model.apply(changes);
          }),
        );
        await Promise.all(writes);
        model.compare(engine);
        assert.ok((await store.check()).ok);
        await store.close();
      }
    }),
    { numRuns: 6 },
  );
});

test("reads see a commit when it is acknowledged and not before", async () => {
  const { store, engine } = await opened(place());
  await store.write((tx) => tx.put("shared/a", bytes("old")));
  const open = engine.hold();
  const write = store.write((tx) => tx.put("shared/a", bytes("new")));
  assert.equal(text(store.get("shared/a")!), "old");
  open();
  await write;
  assert.equal(text(store.get("shared/a")!), "new");
  assert.equal(store.index, 2n);
  await store.close();
});

test("groups form by themselves while the disk is busy", async () => {
  const { store, engine } = await opened(place());
  const writes = Array.from({ length: 300 }, (_, i) =>
    store.write((tx) => tx.put(`shared/${i}`, bytes(`${i}`))),
  );
  await Promise.all(writes);
  assert.ok(engine.batches.length <= 3, `${engine.batches.length} commits for 300 writes`);
  assert.equal(store.index, 300n);
  assert.ok((await store.check()).ok);
  await store.close();
});

test("tampered rows are found and mended in the files as well", async () => {
  const at = place();
  const { store, engine, world } = await opened(at);
  await store.write((tx) => {
    for (let i = 0; i < 500; i++) tx.put(`shared/${i}`, bytes(`${i}`));
  });
  const slot = slotOf("shared", "shared/3")!;
  await tamper(engine.inner, {
    data: [
      { key: "shared/1", value: bytes("forged") },
      { key: "shared/2", value: null },
    ],
    leaves: [{ slot, key: "shared/3", leaf: null }],
  });
  const report = await store.check();
  assert.deepEqual(report.different, ["shared/1"]);
  assert.deepEqual(report.missing, ["shared/2"]);
  assert.deepEqual(report.surplus, ["shared/3"]);
  assert.throws(() => store.get("shared/2"), { code: "storage-entry-missing" });
  const mended = await reindexStore(store, world);
  assert.deepEqual(mended.mended.keys, ["shared/1", "shared/3"]);
  assert.deepEqual(mended.removed.keys, ["shared/2"]);
  assert.ok((await store.check()).ok);
  await store.close();
  const again = await opened(at);
  assert.ok((await again.store.check()).ok);
  await again.store.close();
});

test("a snapshot is not disturbed by writes and trims beside it", async () => {
  const { store, engine, world } = await opened(place());
  for (let i = 0; i < 40; i++) await store.write((tx) => tx.put(`shared/${i}`, bytes(`${i}`)));
  const snapshot = store.snapshot();
  const expected = engine.rows({ from: "", to: null, limit: 1000 });
  const rows: string[] = [];
  for await (const chunk of snapshot.rows()) {
    rows.push(...chunk.map(({ key, value }) => `${key}=${hex(value)}`));
    await store.write((tx) => {
      for (let i = 0; i < 40; i++) tx.put(`shared/${i}`, bytes("changed"));
    });
    await trimLog(store, world, { minEntries: 2n });
  }
  assert.deepEqual(
    rows,
    expected.map(({ key, value }) => `${key}=${hex(value)}`),
  );
  assert.equal(snapshot.head.index, 40n);
  snapshot.close();
  assert.ok((await store.check()).ok);
  await store.close();
});

test("a check that is running when the store is closed ends without calling it a failure", async () => {
  const { store, world } = await opened(place());
  await store.write((tx) => {
    for (let i = 0; i < 2000; i++) tx.put(`shared/${i}`, bytes(`${i}`));
  });
  let elapsed = 0n;
  world.clock.elapsed = () => (elapsed += 6_000_000n); // every slice is used up at once
  const checking = assert.rejects(store.check(), { code: "store-closed" });
  await store.close();
  await checking;
  assert.ok(!world.lines.join("").includes("failed"));
});
