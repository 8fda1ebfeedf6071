// A snapshot is everything stored at one index, however long it takes to read it.

import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock, FakeTimers, nextTurn } from "../../tests/support/fake-world.ts";
import { bytes, madeStore, openedStore } from "../../tests/support/made/made-store.ts";
import { tamper, WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { hex } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import type { ReadView, Row } from "./engines/engine.ts";
import { TIMELINE_ROW } from "./rows/head.ts";
import { Snapshot } from "./snapshot.ts";

async function collect(snapshot: Snapshot): Promise<string[]> {
  const rows: string[] = [];
  for await (const chunk of snapshot.rows()) {
    rows.push(...chunk.map(({ key, value }) => `${key}=${hex(value)}`));
  }
  return rows;
}

async function filled() {
  const made = await madeStore();
  await made.store.write((tx) => {
    for (let i = 0; i < 100; i++) tx.put(`shared/${i}`, bytes(`s${i}`));
    for (let i = 0; i < 50; i++) tx.put(`local/${i}`, bytes(`l${i}`));
    tx.put("core/keyring", bytes("k"));
  });
  return made;
}

test("it has all data rows of every class in order, and no others", async () => {
  const { store, engine } = await filled();
  const snapshot = store.snapshot();
  const rows = await collect(snapshot);
  const all = engine.rows({ from: "", to: null, limit: 1000 });
  assert.equal(rows.length, 151);
  assert.deepEqual(
    rows,
    all.map(({ key, value }) => `${key}=${hex(value)}`),
  );
  assert.equal(snapshot.head.index, 1n);
  assert.equal(snapshot.timeline.epochs[0]?.cluster, "test");
  snapshot.close();
});

test("writes that go on do not show in it, and two passes are equal", async () => {
  const { store } = await filled();
  const snapshot = store.snapshot();
  const before = await collect(snapshot);
  let i = 0;
  const rows: Row[] = [];
  for await (const chunk of snapshot.rows()) {
    rows.push(...chunk);
    await store.write((tx) => {
      tx.put(`shared/${i}`, bytes("changed"));
      tx.delete(`local/${i}`);
      tx.put(`shared/new/${i++}`, bytes("1"));
    });
  }
  assert.ok(i > 3);
  assert.deepEqual(
    rows.map(({ key, value }) => `${key}=${hex(value)}`),
    before,
  );
  assert.deepEqual(await collect(snapshot), before);
  assert.equal(snapshot.head.index, 1n);
  snapshot.close();
});

test("it is read in small chunks, and others have their turn in between", async () => {
  const { engine } = await filled();
  let elapsed = 0n;
  const clock = { now: () => 0n, elapsed: () => (elapsed += 6_000_000n) };
  const timers = new FakeTimers(new FakeClock());
  const snapshot = new Snapshot(engine.snapshot(), { clock, timers });
  let largest = 0;
  for await (const chunk of snapshot.rows()) largest = Math.max(largest, chunk.length);
  assert.ok(largest <= 16, "a chunk of the largest entries stays small");
  assert.ok(timers.turns >= 9);
  snapshot.close();
});

test("a signal ends the reading", async () => {
  const { store } = await filled();
  const snapshot = store.snapshot();
  const stop = new AbortController();
  const read = async () => {
    for await (const _ of snapshot.rows(stop.signal)) stop.abort();
  };
  await assert.rejects(read(), { name: "AbortError" });
  snapshot.close();
});

test("a store without head or timeline has no snapshot, and no view is left open", async () => {
  const { store, engine } = await filled();
  await tamper(engine.inner, { meta: [{ name: TIMELINE_ROW, value: null }] });
  const open = new Set<ReadView>();
  const snapshot = engine.snapshot.bind(engine);
  engine.snapshot = () => {
    const view = snapshot();
    const close = view.close.bind(view);
    open.add(view);
    view.close = () => {
      open.delete(view);
      close();
    };
    return view;
  };
  const damaged = (error: unknown) => error instanceof Failure && error.kind === "damaged";
  assert.throws(() => store.snapshot(), damaged);
  assert.equal(open.size, 0);
  const { store: fresh } = openedStore(new WatchedEngine());
  assert.throws(() => fresh.snapshot(), damaged);
  await nextTurn();
});
