// The store on the default engine, with files and a thread: the same model, checks and repairs, and
// what is there after a start.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
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
import { EngineError } from "./engines/engine.ts";
import { SqliteEngine } from "./engines/sqlite.ts";
import type { SnapshotSource } from "./snapshot.ts";
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

test("a snapshot that is read apart is the same, byte by byte, whatever is written beside it", async () => {
  const { store, world } = await opened(place());
  const large = Buffer.alloc(300_000, 7); // more than one piece has room for
  for (let i = 0; i < 40; i++) {
    await store.write((tx) => {
      tx.put(`shared/${i}`, i % 3 === 0 ? large : bytes(`${i}`));
      tx.put(`local/${i}/below`, bytes("local"));
    });
  }
  await store.write((tx) => {
    tx.put("core/left/out", bytes("out"));
    for (let i = 0; i < 300; i++) tx.put(`shared/many/${i}`, Buffer.alloc(5000, i));
  });
  const [here, apart] = [store.snapshot(), await store.snapshotApart()];
  assert.notEqual(here.constructor, apart.constructor);
  assert.deepEqual([apart.headRow, apart.timelineRow], [here.headRow, here.timelineRow]);
  const read = async (snapshot: SnapshotSource, each = async () => {}) => {
    const [sum, counts] = [createHash("sha256"), [] as number[]];
    for await (const packed of snapshot.packed(["core/left", "shared/7"])) {
      await each(); // what comes next is read meanwhile, into other memory
      sum.update(packed.bytes);
      counts.push(packed.count);
    }
    return { sum: sum.digest("hex"), count: counts.reduce((a, b) => a + b, 0) };
  };
  let turns = 0;
  const beside = async () => {
    turns++;
    await store.write((tx) => {
      for (let i = 0; i < 40; i++) tx.put(`shared/${i}`, bytes("changed"));
      tx.delete("local/3/below");
    });
    await trimLog(store, world, { minEntries: 2n });
  };
  const found = await read(apart, beside);
  assert.ok(turns > 2, "it comes in pieces");
  assert.deepEqual(found, await read(here));
  assert.equal(found.count, 379);
  here.close();
  await apart.close();
  await apart.close();
  assert.ok((await store.check()).ok);
  await store.close();
});

test("who gives a snapshot apart up does not wait for it", async () => {
  const { store } = await opened(place());
  await store.write((tx) => {
    for (let i = 0; i < 5000; i++) tx.put(`shared/${i}`, bytes(`${i}`));
  });
  const giveUp = new AbortController();
  const snapshot = await store.snapshotApart();
  const reading = (async () => {
    for await (const packed of snapshot.packed([], giveUp.signal)) assert.fail(`${packed.count}`);
  })();
  giveUp.abort(new Error("given up"));
  await assert.rejects(reading, /given up/);
  await snapshot.close();
  await store.close();
});

test("commits that run when a snapshot apart begins are in it whole or not at all", async () => {
  const { store } = await opened(place());
  let last = 0;
  const writing = (async () => {
    for (let i = 1; i <= 200; i++) {
      await store.write((tx) => {
        tx.put("shared/a", bytes(`${i}`));
        tx.put("local/b", bytes(`${i}`));
      });
      last = i;
    }
  })();
  for (let n = 0; n < 5; n++) {
    const atLeast = last;
    const snapshot = await store.snapshotApart();
    assert.ok(snapshot.head.index >= BigInt(atLeast), "what was acknowledged before is in it");
    let count = 0;
    for await (const packed of snapshot.packed([])) count += packed.count;
    assert.equal(count, snapshot.head.index === 0n ? 0 : 2);
    await snapshot.close();
  }
  await writing;
  await store.close();
});

test("a store that is closed takes the snapshots apart with it", async () => {
  const at = place();
  const { store } = await opened(at);
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  const one = await store.snapshotApart();
  const refused = assert.rejects(store.snapshotApart(), /closed/);
  await store.close();
  await assert.rejects(async () => {
    for await (const packed of one.packed([])) assert.fail(`${packed.count}`);
  }, EngineError);
  await refused;
  await one.close();
  const again = await opened(at);
  assert.ok((await again.store.check()).ok);
  await again.store.close();
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
