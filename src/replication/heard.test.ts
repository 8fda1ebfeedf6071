// What a secondary remembers of its primary.

import assert from "node:assert/strict";
import test from "node:test";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { Heard } from "./heard.ts";

async function stage() {
  const { barrier, store, world, engine } = await madeBarrier();
  const { clock, log } = world;
  const view = barrier.view("core/replication/dr/");
  const made = () => new Heard({ view, store, clock, log });
  return { made, view, clock, engine };
}

test("one that was not tried yet is not silent, however long ago it was heard of", async () => {
  const { made, clock } = await stage();
  const first = made();
  assert.deepEqual([first.silence, first.unheard, first.timeThere], [0n, 0n, null]);
  first.try();
  clock.pass(3n * SECOND);
  assert.deepEqual([first.silence, first.unheard], [3n * SECOND, 3n * SECOND]);
  first.note(1000n * SECOND, 0n);
  clock.pass(SECOND);
  assert.deepEqual([first.silence, first.timeThere], [SECOND, 1001n * SECOND]);
  await first.keep();
  clock.pass(HOUR);
  const second = made();
  second.load();
  assert.deepEqual([second.silence, second.unheard], [0n, HOUR + SECOND]);
  second.try();
  clock.pass(2n * SECOND);
  assert.deepEqual([second.silence, second.unheard], [2n * SECOND, HOUR + 3n * SECOND]);
  second.note(0n, 0n);
  assert.deepEqual([second.silence, second.unheard], [0n, 0n]);
});

test("the highest index is kept: at once where something is missing here, else once a minute", async () => {
  const { made, clock, engine } = await stage();
  const heard = made();
  const commits = async (word: bigint) => {
    engine.batches.length = 0;
    heard.note(0n, word);
    await heard.kept;
    return engine.batches.length;
  };
  assert.equal(await commits(0n), 1);
  assert.equal(await commits(0n), 0);
  clock.pass(MINUTE);
  assert.equal(await commits(0n), 1);
  assert.equal(await commits(70n), 1);
  assert.equal(await commits(60n), 1, "there is more than is here");
  assert.equal(heard.announced, 70n);
  const later = made();
  later.load();
  assert.equal(later.announced, 70n);
});

test("of another primary nothing is known", async () => {
  const { made, view } = await stage();
  const heard = made();
  heard.note(0n, 70n);
  await heard.kept;
  await view.write((tx) => heard.forgetIn(tx));
  heard.forget();
  assert.deepEqual([heard.announced, heard.timeThere], [0n, null]);
  const later = made();
  later.load();
  assert.equal(later.announced, 0n);
});

test("who refuses is not silent; what it has said for good outlives its end and a start, until it takes this cluster", async () => {
  const { made, clock } = await stage();
  const first = made();
  first.try();
  clock.pass(20n * SECOND);
  first.called({ kind: "refuses", reason: "not now", forGood: false });
  assert.deepEqual([first.silence, first.unheard, first.refusal], [0n, 20n * SECOND, "not now"]);
  first.called({ kind: "nobody" });
  clock.pass(SECOND);
  assert.deepEqual([first.silence, first.refusal], [SECOND, null]);
  first.called({ kind: "refuses", reason: "revoked", forGood: true });
  first.called({ kind: "refuses", reason: "not now", forGood: false });
  first.called({ kind: "nobody" });
  assert.equal(first.refusal, "revoked");
  await first.kept;
  const second = made();
  second.load();
  assert.equal(second.refusal, "revoked");
  second.called({ kind: "takes" });
  assert.deepEqual([second.silence, second.refusal], [0n, null]);
  first.forget();
  assert.equal(first.refusal, null);
});

test("that replication was ended is kept, and over where another primary is followed", async () => {
  const { made } = await stage();
  const first = made();
  first.called({ kind: "refuses", reason: "revoked", forGood: true });
  assert.equal(first.hasEnded, false);
  first.forget();
  first.called({ kind: "refuses", reason: "ended", forGood: true, isOver: true });
  first.called({ kind: "nobody" });
  await first.kept;
  const second = made();
  second.load();
  assert.deepEqual([second.hasEnded, second.lastRefusal], [true, "ended"]);
  second.forget();
  assert.deepEqual([second.hasEnded, second.lastRefusal], [false, null]);
});

test("that the data differs is kept until a comparison finds the same, or another primary is followed", async () => {
  const { made } = await stage();
  const first = made();
  assert.equal(first.differs, false);
  first.compared(false);
  await first.kept;
  const second = made();
  second.load();
  assert.equal(second.differs, true);
  second.compared(true);
  await second.kept;
  const third = made();
  third.load();
  assert.equal(third.differs, false);
  first.forget();
  assert.equal(first.differs, false);
});

test("that one refuses for good is kept without saying that it was heard of", async () => {
  const { made, clock } = await stage();
  const first = made();
  first.called({ kind: "refuses", reason: "revoked", forGood: true });
  assert.equal(first.isHeard, true);
  await first.kept;
  clock.pass(HOUR);
  const second = made();
  second.load();
  assert.deepEqual([second.refusal, second.last, second.isHeard], ["revoked", null, false]);
});

test("what answers in the place of the primary is what the last call found that was not cut short", async () => {
  const { made, clock } = await stage();
  const heard = made();
  const sighting = { kind: "sealed", address: "https://a:8201", text: "sealed" } as const;
  assert.equal(heard.seen, null);
  heard.called({ kind: "nobody", seen: sighting });
  clock.pass(59n * SECOND);
  heard.called({ kind: "nobody", isLate: true });
  assert.deepEqual(heard.seen, sighting);
  clock.pass(SECOND);
  heard.called({ kind: "nobody", isLate: true });
  assert.equal(heard.seen, null, "that is too long ago");
  heard.called({ kind: "nobody", seen: sighting });
  heard.called({ kind: "nobody" });
  assert.equal(heard.seen, null);
  heard.called({ kind: "nobody", seen: sighting });
  heard.called({ kind: "takes" });
  assert.equal(heard.seen, null);
});
