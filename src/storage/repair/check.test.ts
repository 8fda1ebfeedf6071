// The check finds every way in which stored rows can stop adding up, and names what is wrong.

import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { bytes, madeStore, TREE_KEY } from "../../../tests/support/made/made-store.ts";
import { filledStore, tamperings, VICTIM } from "../../../tests/support/stores/tampering.ts";
import { tamper, WatchedEngine } from "../../../tests/support/stores/watched-engine.ts";
import type { Clock } from "@holdfast/shared/world";
import { checkStore } from "./check.ts";
import { TAIL_ROW } from "../rows/head.ts";

test("an untouched store is clean, in depth and by keys", async () => {
  const { store } = await filledStore();
  for (const deep of [true, false]) {
    const { ok, ...report } = await store.check({ deep });
    assert.ok(ok);
    assert.deepEqual(report, {
      index: 10n,
      entries: { shared: 30, local: 31 },
      headAuthentic: true,
      totalsMatch: true,
      wrongSubpages: [],
      missing: [],
      surplus: [],
      different: [],
      damaged: 0,
      brokenLogAt: null,
      timelineFits: true,
      halfAdopted: false,
    });
  }
});

test("an empty store is clean", async () => {
  const { store } = await madeStore();
  assert.ok((await store.check()).ok);
});

for (const { name, act, found, shallow } of tamperings) {
  test(`the check finds ${name}`, async () => {
    const { store, engine, old } = await filledStore();
    await act(engine.inner, old);
    const report = await store.check();
    assert.equal(report.ok, false);
    for (const [field, value] of Object.entries(found)) {
      assert.deepEqual(report[field as keyof typeof report], value, field);
    }
    const quick = await store.check({ deep: false });
    assert.equal(quick.ok, !shallow, "without hashing the values again");
  });
}

test("a check by keys names a key that vanished", async () => {
  const { store, engine } = await filledStore();
  await tamper(engine.inner, { data: [{ key: VICTIM, value: null }] });
  const report = await store.check({ deep: false });
  assert.deepEqual(report.missing, [VICTIM]);
  assert.equal(report.damaged, 1);
});

test("an entry beyond the head is found wherever the reading of the log happens to end", async () => {
  for (let count = 14; count <= 18; count++) {
    const { store, engine } = await madeStore();
    for (let i = 0; i < count; i++) await store.write((tx) => tx.put("shared/a", bytes(`${i}`)));
    const { entry } = engine.logs(1n, 1)[0]!;
    await tamper(engine.inner, { log: [{ index: BigInt(count + 1), entry }] });
    assert.equal((await store.check()).brokenLogAt, BigInt(count + 1));
  }
});

test("a damaged tail is a broken log", async () => {
  const { store, engine } = await filledStore();
  await tamper(engine.inner, { meta: [{ name: TAIL_ROW, value: bytes("x") }] });
  const report = await store.check();
  assert.equal(report.brokenLogAt, 0n);
  assert.equal(report.ok, false);
});

test("rows whose slot or length no tree has do not end the check", async () => {
  const { store, engine } = await filledStore();
  await tamper(engine.inner, {
    sums: [
      { slot: 131_072, sum: new Uint8Array(32), count: 1 },
      { slot: 7, sum: new Uint8Array(3), count: 1 },
    ],
    leaves: [
      { slot: 131_072, key: "x", leaf: { hash: Buffer.alloc(32), scope: Buffer.alloc(16) } },
    ],
  });
  assert.ok((await store.check()).ok, "they are part of nothing");
});

test("more than a thousand damaged keys are counted, and a thousand named", async () => {
  const { store, engine } = await madeStore();
  const keys = Array.from({ length: 1500 }, (_, i) => `shared/${i}`);
  await store.write((tx) => {
    for (const key of keys) tx.put(key, bytes("1"));
  });
  await tamper(engine.inner, { data: keys.map((key) => ({ key, value: null })) });
  const report = await store.check();
  assert.equal(report.missing.length, 1000);
  assert.equal(report.damaged, 1500);
});

/** A clock on which time passes with every look: each slice is used up at once. */
function hurrying(): Clock {
  let elapsed = 0n;
  return { now: () => 0n, elapsed: () => (elapsed += 6_000_000n) };
}

test("the check works in slices: others have their turn, and their writes do not disturb it", async () => {
  const { store, engine } = await filledStore();
  const { timers } = fakeWorld();
  const view = engine.snapshot();
  const checking = checkStore({ view, treeKey: TREE_KEY, clock: hurrying(), timers }, {});
  let written = 0;
  const state = { done: false };
  const finished = checking.finally(() => void (state.done = true));
  while (!state.done) {
    await store.write((tx) => {
      tx.put(`shared/during/${written}`, bytes("1"));
      tx.delete(`shared/kv/${written % 30}`);
    });
    written++;
    await nextTurn();
  }
  const report = await finished;
  view.close();
  assert.ok(report.ok, "one consistent view");
  assert.equal(report.index, 10n);
  assert.ok(timers.turns > 60, `${timers.turns} turns`);
  assert.ok(written > 3, `${written} writes went on`);
  assert.ok((await store.check()).ok);
});

test("with time to spare the check takes no turns", async () => {
  const { store, world } = await filledStore();
  await store.check();
  assert.equal(world.timers.turns, 0);
});

test("a signal ends the check, and the view is closed", async () => {
  const { store, engine } = await filledStore();
  const stop = new AbortController();
  stop.abort();
  let open = 0;
  const snapshot = engine.snapshot.bind(engine);
  engine.snapshot = () => {
    const view = snapshot();
    const close = view.close.bind(view);
    open++;
    view.close = () => {
      open--;
      close();
    };
    return view;
  };
  await assert.rejects(store.check({ signal: stop.signal }), { name: "AbortError" });
  assert.equal(open, 0);
  await store.check();
  assert.equal(open, 0);
});

test("a read that fails during the check stops the store", async () => {
  const { store, engine } = await filledStore();
  const inner = new WatchedEngine(engine.inner);
  engine.snapshot = () => Object.assign(inner, { close: async () => {} });
  inner.failReads = true;
  await assert.rejects(store.check(), { code: "storage-failed" });
  assert.match(String(await store.failed), /does not answer/);
});
