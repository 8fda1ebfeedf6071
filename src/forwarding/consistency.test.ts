import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import type { Head, Timeline } from "../storage/rows/head.ts";
import { type SharingSet, StateMarks } from "./consistency.ts";
import type { Primary } from "./primary.ts";

const KEY = createSecretKey(Buffer.alloc(32, 7));
const none = new AbortController().signal;

interface Stage {
  lineage: number;
  epoch: number;
  index: bigint;
  /** Null: this one is the primary. */
  applied: bigint | null;
  /** First indexes of epochs, from the first on. */
  epochs: readonly bigint[];
  /** The last index with something shared. Null: all of it is. */
  lastShared: bigint | null;
  set: SharingSet | null;
  origin: Timeline["origin"];
}

function staged(stage: Partial<Stage> = {}, key = KEY) {
  const at: Stage = {
    lineage: 1,
    epoch: 1,
    index: 10n,
    applied: null,
    epochs: [1n],
    lastShared: null,
    set: null,
    origin: undefined,
    ...stage,
  };
  const waiting = new Set<() => void>();
  const world = fakeWorld();
  const marks = new StateMarks({
    log: {
      get head() {
        return {
          lineage: Buffer.alloc(16, at.lineage),
          epoch: at.epoch,
          index: at.index,
          lastPerf: at.lastShared ?? at.index,
        } as unknown as Head;
      },
      get timeline() {
        const epochs = at.epochs.map((first, i) => ({
          epoch: i + 1,
          first: String(first),
          chain: "",
          cluster: "",
        }));
        const { origin } = at;
        return {
          lineage: "",
          epochs,
          ...(origin === undefined ? {} : { origin }),
        } satisfies Timeline;
      },
      onIndex: (index, call) => {
        const look = () => {
          if (at.index >= index) call();
        };
        waiting.add(look);
        return () => waiting.delete(look);
      },
    },
    primary: () => {
      const { applied } = at;
      if (applied === null) return null;
      const appliedUpTo = async (index: bigint) => applied >= index;
      return { applied, appliedUpTo } as unknown as Primary;
    },
    set: () => at.set,
    timers: world.timers,
  });
  marks.open(key);
  const write = (index: bigint) => {
    at.index = index;
    for (const look of waiting) look();
  };
  return {
    at,
    marks,
    world,
    write,
    waiting,
    mark: (written = 0n, by = 0) => marks.mark(written, by) ?? assert.fail(),
  };
}

test("what was seen of a cluster is reached there when its own log is so far", () => {
  const { at, marks, mark } = staged();
  const seen = mark();
  assert.equal(marks.judge(seen), "reached");
  at.index = 9n;
  assert.equal(marks.judge(seen), "behind");
  at.index = 11n;
  assert.equal(marks.judge(seen), "reached");
  assert.notEqual(mark(), seen);
});

test("a mark is the same until something is written", () => {
  const { at, mark } = staged();
  const first = mark();
  assert.equal(mark(), first);
  at.index = 11n;
  assert.notEqual(mark(), first);
});

test("a mark is another one where the set or its primary is, or the key, though nothing was written", () => {
  const { at, marks, mark } = staged({ set: setOf(1) });
  const first = mark();
  at.set = setOf(2, 11n);
  const second = mark();
  assert.notEqual(second, first);
  at.set = { ...setOf(2, 11n), id: "another set" };
  assert.notEqual(mark(), second);
  at.set = setOf(1);
  assert.equal(mark(), first);
  marks.open(createSecretKey(Buffer.alloc(32, 8)));
  assert.equal(marks.judge(mark()), "reached");
  assert.equal(marks.judge(first), "unknown");
});

test("what a later primary has shared is reached nowhere before that one is heard of, whatever the index is", () => {
  const taken = staged({ lineage: 2, index: 8n, set: setOf(2, 6n) });
  const third = staged({ lineage: 3, index: 1n, applied: 20n, set: setOf(1) });
  assert.equal(third.marks.judge(taken.mark()), "behind");
  third.at.set = setOf(2, 6n);
  assert.equal(third.marks.judge(taken.mark()), "reached");
});

test("what was seen of the primary is reached elsewhere when that is applied, whatever the index is there", () => {
  const primary = staged({ lineage: 1, index: 50n });
  const other = staged({ lineage: 2, index: 7n, applied: 49n });
  assert.equal(other.marks.judge(primary.mark()), "behind");
  other.at.applied = 50n;
  assert.equal(other.marks.judge(primary.mark()), "reached");
});

test("what was seen of a secondary is reached at the primary, and at a third by what both have of it", () => {
  const primary = staged({ lineage: 1, index: 50n });
  const second = staged({ lineage: 2, index: 700n, applied: 49n });
  const third = staged({ lineage: 3, index: 1n, applied: 48n });
  assert.equal(primary.marks.judge(second.mark()), "reached");
  assert.equal(third.marks.judge(second.mark()), "behind");
  third.at.applied = 49n;
  assert.equal(third.marks.judge(second.mark()), "reached");
});

test("what was sent on and has not come back is not reached where it was asked", () => {
  const second = staged({ lineage: 2, index: 7n, applied: 49n });
  const seen = second.mark(50n);
  assert.equal(second.marks.judge(seen), "behind");
  second.at.applied = 50n;
  assert.equal(second.marks.judge(seen), "reached");
});

test("R-89: what a former primary has written before the fork is reached; what it wrote after it never is", () => {
  const before = staged({ index: 20n });
  const [below, above] = [before.mark(), ((before.at.index = 21n), before.mark())];
  const after = staged({ epoch: 2, epochs: [1n, 21n], index: 30n });
  assert.equal(after.marks.judge(below), "reached");
  assert.equal(after.marks.judge(above), "lost");
  assert.equal(before.marks.judge(after.mark()), "behind", "the former one has not seen the later");
  before.at.index = 40n;
  assert.equal(before.marks.judge(after.mark()), "behind", "nor by writing on");
});

function setOf(epoch: number, ...firsts: readonly bigint[]): SharingSet {
  const forks = firsts.map((first, i) => ({ number: i + 2, first: String(first) }));
  return { id: "the set", epoch, forks, isWrittenHere: false, of: 0 };
}

test("R-89: what a primary has shared before another took its place is reached there and with everybody; what it shared after the fork never is", () => {
  const before = staged({ index: 20n, set: setOf(1) });
  const [below, above] = [before.mark(), ((before.at.index = 21n), before.mark())];
  const taken = staged({ lineage: 2, index: 30n, set: setOf(2, 21n) });
  assert.equal(taken.marks.judge(below), "reached");
  assert.equal(taken.marks.judge(above), "lost");
  assert.equal(before.marks.judge(taken.mark()), "behind", "the former one has not heard of it");
  // It follows now: its own log goes on, and has what it wrote there.
  Object.assign(before.at, { index: 40n, applied: 30n, set: setOf(2, 21n) });
  assert.equal(before.marks.judge(below), "reached");
  assert.equal(before.marks.judge(above), "lost");
  const third = staged({ lineage: 3, index: 50n, set: setOf(3, 21n, 26n) });
  assert.equal(third.marks.judge(above), "lost");
  assert.equal(third.marks.judge(below), "reached");
  taken.at.index = 25n;
  assert.equal(third.marks.judge(taken.mark()), "reached");
});

test("R-89: what a former primary shared after the fork is lost also where it is still there, with who has heard of the next; and what that one shares is not there yet", () => {
  const taken = staged({ lineage: 2, index: 30n, set: setOf(2, 21n) });
  const third = staged({ lineage: 3, applied: 40n, set: { ...setOf(2, 21n), of: 1 } });
  assert.equal(taken.marks.judge(third.mark()), "lost");
  assert.equal(third.marks.judge(third.mark()), "lost");
  assert.equal(third.marks.judge(taken.mark()), "behind");
  third.at.applied = 20n;
  assert.equal(taken.marks.judge(third.mark()), "reached", "from before the fork");
  const late = third.mark(25n, 1); // sent on, and answered when the next one had been heard of
  Object.assign(third.at, { applied: 30n, set: { ...setOf(2, 21n), of: 2 } });
  for (const { marks } of [taken, third]) assert.equal(marks.judge(late), "lost");
  assert.equal(taken.marks.judge(third.mark(25n, 1)), "lost");
  assert.equal(taken.marks.judge(third.mark(20n, 1)), "reached");
  assert.equal(third.marks.judge(third.mark(30n, 2)), "reached");
});

test("R-89: what a primary has written of its own alone is not lost to others", () => {
  const before = staged({ index: 25n, lastShared: 20n, set: setOf(1) });
  const taken = staged({ lineage: 2, index: 30n, set: setOf(2, 21n) });
  assert.equal(taken.marks.judge(before.mark()), "reached");
  // When it was demoted it counts as having applied all of its own log.
  Object.assign(before.at, { applied: 25n, set: { ...setOf(1), isWrittenHere: true } });
  assert.equal(taken.marks.judge(before.mark()), "reached");
});

test("a state of a set that was left is none here, but for what was written here", () => {
  const primary = staged({ lineage: 1, index: 5n, set: setOf(1) });
  const left = staged({ lineage: 2, index: 9n, applied: 5n, set: setOf(1) });
  const own = left.mark();
  Object.assign(left.at, { applied: null, set: null });
  assert.equal(left.marks.judge(primary.mark()), "unknown");
  assert.equal(left.marks.judge(own), "reached");
  left.at.set = { ...setOf(1), id: "another set" };
  assert.equal(left.marks.judge(primary.mark()), "unknown");
});

test("R-89: after a restore what was seen before the snapshot is reached, and what was written after it never is", () => {
  const server = staged({ index: 20n });
  const [below, above] = [server.mark(), ((server.at.index = 21n), server.mark())];
  const old = "01010101-0101-0101-0101-010101010101";
  const restored = { lineage: old, epoch: 1, index: "20" };
  const origin = { restored, replaced: { ...restored, index: "21" } };
  Object.assign(server.at, { lineage: 2, epoch: 2, index: 22n, origin, epochs: [22n] });
  assert.equal(server.marks.judge(below), "reached");
  assert.equal(server.marks.judge(above), "lost");
  server.at.origin = { ...origin, restored: { ...restored, lineage: "of an older log" } };
  assert.equal(server.marks.judge(below), "lost");
});

test("R-87: what is no mark of the set is told from one", () => {
  const { marks, mark } = staged();
  const text = mark();
  const other = text.startsWith("A") ? "B" : "A";
  const forged = [
    "",
    "x",
    `${text}A`,
    text.slice(0, -1),
    other + text.slice(1),
    `${text.slice(0, 40)}${text[40] === "A" ? "B" : "A"}${text.slice(41)}`,
    staged({}, createSecretKey(Buffer.alloc(32, 8))).mark(),
  ];
  for (const one of forged) assert.equal(marks.judge(one), "unknown");
  marks.close();
  assert.equal(marks.judge(text), "unknown");
  assert.equal(marks.mark(0n), null);
});

test("who waits is answered when it is reached, and not after its time", async () => {
  const { at, marks, mark, world, write } = staged();
  const seen = mark();
  at.index = 9n;
  const waiting = marks.reaches(seen, 2n * SECOND, none);
  write(10n);
  assert.equal(await waiting, true);
  at.index = 9n;
  const inVain = marks.reaches(seen, 2n * SECOND, none);
  await world.timers.advance(2n * SECOND);
  assert.equal(await inVain, false);
  assert.equal(world.timers.armed, 0);
});

test("who waits for what was written here waits for the own log, and who has seen it elsewhere does not", async () => {
  const second = staged({ lineage: 2, index: 10n, applied: 20n });
  const own = second.mark();
  second.at.index = 9n;
  let isOver = false;
  const waiting = second.marks.reaches(own, 2n * SECOND, none).finally(() => (isOver = true));
  for (let i = 0; i < 5; i++) await nextTurn();
  assert.equal(isOver, false, "the primary's is here, and its own is not");
  second.write(10n);
  assert.equal(await waiting, true);
  const third = staged({ lineage: 3, index: 900n, applied: 20n });
  const elsewhere = second.marks.reaches(third.mark(), 2n * SECOND, none);
  for (let i = 0; i < 5; i++) await nextTurn();
  assert.equal(second.waiting.size, 0, "an index of that log says nothing of this one");
  assert.equal(await elsewhere, true);
});

test("who goes away while it waits is not waited for", async () => {
  const { at, marks, mark, world, waiting: watchers } = staged();
  const seen = mark();
  at.index = 9n;
  const leaving = new AbortController();
  const waiting = marks.reaches(seen, 2n * SECOND, leaving.signal);
  leaving.abort();
  assert.equal(await waiting, false);
  assert.equal(world.timers.armed, 0);
  assert.equal(watchers.size, 0, "nobody looks for it any more");
});
