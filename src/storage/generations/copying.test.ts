// A copy of another cluster is filled while that goes on writing, is taken up after a crash where it was, and
// becomes a store that goes on with the other one's log.

import assert from "node:assert/strict";
import test from "node:test";
import { hex } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import {
  bytes,
  type MadeStore,
  madeStore,
  openedStore,
  TREE_KEY,
} from "../../../tests/support/made/made-store.ts";
import { anchorOf, keysAfter, rowsAt } from "../../../tests/support/stores/adopted-store.ts";
import { assertSameRows, sent } from "../../../tests/support/stores/followed-store.ts";
import { RecordedEngine } from "../../../tests/support/stores/recorded-engine.ts";
import { WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import { MemoryDisk } from "../engines/memory.ts";
import type { MemoryRows } from "../engines/memory-rows.ts";
import type { StorageEngine } from "../engines/engine.ts";
import { HEAD_ROW, TAIL_ROW } from "../rows/head.ts";
import { SYNC_ROW } from "../rows/sync.ts";
import { Filler } from "./filler.ts";

const MANY = 4500; // more than one portion of leaves

async function leading(rows: number): Promise<MadeStore> {
  const leader = await madeStore();
  for (let from = 0; from < rows; from += 1000) {
    await leader.store.write((tx) => {
      for (let i = from; i < Math.min(from + 1000, rows); i++) {
        const place = i % 3 === 0 ? "local" : "shared";
        tx.put(`${place}/${String(i).padStart(6, "0")}`, bytes(`v${i}`), Buffer.alloc(16, i));
      }
    });
  }
  return leader;
}

function begun(engine: StorageEngine, leader: MadeStore): Promise<Filler> {
  return Filler.copy({ engine, ...fakeWorld() }, TREE_KEY, anchorOf(leader));
}

/** The rows above the cursor as they are now. `meanwhile` is called before some of them. */
async function fill(
  filler: Filler,
  { engine }: MadeStore,
  meanwhile: (key: string) => Promise<void> = async () => {},
): Promise<void> {
  for (const key of keysAfter(filler.cursor, engine)) {
    await meanwhile(key);
    const [row] = rowsAt(engine, [key]);
    if (row!.value !== null) await filler.add({ ...row!, value: row!.value });
  }
}

/** Opens what was filled, applies what the leader has written since, and compares. */
async function assertGoesOn(engine: StorageEngine, leader: MadeStore): Promise<void> {
  const opened = openedStore(new WatchedEngine(engine));
  const { store } = opened;
  assert.equal(store.adopting, null);
  store.unlock(TREE_KEY);
  assert.ok((await store.check()).ok, "nothing lies there without a leaf");
  await store.follow();
  await store.apply(sent(leader.engine, store.index + 1n), leader.engine.meta(HEAD_ROW));
  assertSameRows(engine, leader.engine);
  assert.ok((await store.check()).ok);
}

/** What a process finds that starts on what the disk held. */
function diskOf(moment: MemoryRows): RecordedEngine {
  return new RecordedEngine(new MemoryDisk(moment.copy()));
}

test("a copy that is filled while the leader writes goes on with its log", async () => {
  const leader = await leading(MANY);
  const engine = new RecordedEngine();
  const filler = await begun(engine, leader);
  const anchor = leader.store.index;
  let count = 0;
  await fill(filler, leader, async (key) => {
    if (++count % 700 !== 0) return;
    await leader.store.write((tx) => {
      tx.delete(key);
      tx.put("local/000000", bytes(`again ${count}`));
      tx.put(`shared/999${count}`, bytes("new"));
    });
  });
  const head = await filler.finishCopy();
  filler.wipe();
  assert.equal(head.index, anchor);
  assert.equal(engine.meta(SYNC_ROW), null);
  assert.ok(leader.store.index > anchor);
  await assertGoesOn(engine, leader);
});

test("after a power cut at any commit it is taken up where it was, whatever has changed since", async () => {
  const leader = await leading(MANY);
  const first = new RecordedEngine();
  await first.commit({
    expect: { name: HEAD_ROW, value: null },
    data: [{ key: "core/node", value: bytes("carried over") }],
    leaves: [],
    sums: [],
    cutLogAbove: null,
    log: [],
    trimLogBelow: null,
    meta: [],
  });
  first.moments.length = 0;
  const filler = await begun(first, leader);
  await fill(filler, leader);
  await filler.finishCopy();
  assert.ok(first.moments.length >= 8);
  // Rows that lie behind the cursor, and some before it, are gone when the copy goes on.
  await leader.store.write((tx) => {
    for (let i = 1; i < MANY; i += 40) {
      const place = i % 3 === 0 ? "local" : "shared";
      tx.delete(`${place}/${String(i).padStart(6, "0")}`);
    }
  });
  for (const [i, moment] of first.moments.entries()) {
    const engine = diskOf(moment);
    const last = i === first.moments.length - 1;
    assert.equal(engine.meta(HEAD_ROW) !== null, last);
    if (!last) {
      const again = await begun(engine, leader);
      assert.deepEqual(hex(again.anchor!.head), hex(filler.anchor!.head));
      await fill(again, leader);
      await again.finishCopy();
    }
    await assertGoesOn(engine, leader);
    assert.deepEqual(engine.get("core/node"), new Uint8Array(bytes("carried over")));
  }
  const cursors = first.moments.map((moment) => moment.meta(SYNC_ROW)?.length);
  assert.ok(new Set(cursors).size > 1, "the cursor moves on the way");
});

test("a copy that is not whole is no new store, cannot be unlocked and does not lead", async () => {
  const leader = await leading(10);
  const engine = new RecordedEngine();
  const filler = await begun(engine, leader);
  await fill(filler, leader);
  await filler.flush();
  const { store } = openedStore(new WatchedEngine(engine));
  assert.ok(store.initialised && store.following);
  const half = (error: unknown) => error instanceof Failure && error.code === "store-half-adopted";
  assert.throws(() => store.unlock(TREE_KEY), half);
  await assert.rejects(store.lead(), half);
  await assert.rejects(
    store.create(TREE_KEY, { lineage: Buffer.alloc(16), cluster: "new" }, () => {}),
    (error) => error instanceof Failure && error.code === "already-initialised",
  );
});

test("where the log goes on was vouched for with the key of the trees", async () => {
  const leader = await leading(10);
  const { head, timeline } = anchorOf(leader);
  const forged = Buffer.from(head);
  forged[30]! ^= 1;
  for (const anchor of [
    { head: forged, timeline },
    { head, timeline: { ...timeline, epochs: [] } },
  ]) {
    const engine = new RecordedEngine();
    const filler = await Filler.copy({ engine, ...fakeWorld() }, TREE_KEY, anchor);
    await assert.rejects(
      filler.finishCopy(),
      (error) => error instanceof Failure && error.code === "adoption-anchor-refused",
    );
    assert.equal(engine.meta(TAIL_ROW), null);
  }
});

test("a copy ends as one, and what is no copy does not", async () => {
  const leader = await leading(1);
  const { engine } = leader;
  await assert.rejects(begun(engine, leader), /a store is not filled/);
  const plain = new Filler({ engine: new RecordedEngine(), ...fakeWorld() }, TREE_KEY);
  assert.equal(plain.anchor, null);
  await assert.rejects(plain.finishCopy(), /no copy was begun/);
  const origin = { restored: { lineage: "a", epoch: 1, index: "1" }, replaced: null };
  const copy = await begun(new RecordedEngine(), leader);
  const beginning = { lineage: Buffer.alloc(16), epoch: 1, index: 1n, cluster: "c", origin };
  await assert.rejects(copy.finish(beginning), /goes on with the log/);
});
