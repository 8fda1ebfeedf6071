import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import { Recurring, type RecurringOptions } from "./recurring.ts";

const SECOND = 1_000_000_000n;

class Stage {
  readonly #world = fakeWorld();
  readonly timers = this.#world.timers;
  readonly lines = this.#world.lines;
  runs = 0;
  failing = false;
  /** Runs end at once unless somebody holds them. */
  hold: Promise<void> | null = null;
  readonly job: Recurring;

  constructor(options: Partial<RecurringOptions> = {}) {
    const { timers, log } = this.#world;
    const run = async () => {
      this.runs++;
      await this.hold;
      if (this.failing) throw new Error("it is not for the log");
    };
    this.job = new Recurring({ trouble: "could not do it", run, timers, log, ...options });
  }

  async after(seconds: bigint): Promise<number> {
    await this.timers.advance(seconds * SECOND);
    await nextTurn();
    return this.runs;
  }
}

test("every so often, from the end of one run to the next, at once or not", async () => {
  const stage = new Stage({ period: 10n * SECOND });
  stage.job.open();
  assert.equal(await stage.after(0n), 1);
  assert.equal(await stage.after(9n), 1);
  assert.equal(await stage.after(1n), 2);
  const held = Promise.withResolvers<void>();
  stage.hold = held.promise;
  assert.equal(await stage.after(60n), 3, "one at a time");
  stage.hold = null;
  held.resolve();
  await nextTurn();
  assert.equal(await stage.after(9n), 3);
  assert.equal(await stage.after(1n), 4);
  await stage.job.close();
  assert.equal(stage.timers.armed, 0);
  assert.equal(await stage.after(60n), 4);
  const later = new Stage({ period: 10n * SECOND, atOnce: false });
  later.job.open();
  assert.equal(await later.after(9n), 0);
  assert.equal(await later.after(1n), 1);
  await later.job.close();
});

test("without a period when it opens and when it is woken; woken during a run, once more after it", async () => {
  const stage = new Stage();
  stage.job.wake();
  assert.equal(await stage.after(1n), 0, "it is not open");
  stage.job.open();
  assert.equal(await stage.after(3600n), 1);
  const held = Promise.withResolvers<void>();
  stage.hold = held.promise;
  stage.job.wake();
  await nextTurn();
  for (let i = 0; i < 5; i++) stage.job.wake();
  assert.equal(stage.runs, 2);
  stage.hold = null;
  held.resolve();
  assert.equal(await stage.after(1n), 3);
  stage.job.wakeIn(30n * SECOND);
  assert.equal(await stage.after(29n), 3);
  assert.equal(await stage.after(1n), 4);
  await stage.job.close();
});

test("a run that fails is told and comes again after a pause that grows until one ends well", async () => {
  const pause = { first: SECOND, max: 3n * SECOND };
  const stage = new Stage({ period: 100n * SECOND, pause });
  stage.failing = true;
  stage.job.open();
  await stage.after(0n);
  const seen: number[] = [];
  for (let i = 0; i < 9; i++) seen.push(await stage.after(1n));
  assert.deepEqual(seen, [2, 2, 3, 3, 3, 4, 4, 4, 5]);
  assert.equal(stage.lines.length, 5);
  assert.match(stage.lines[0] ?? "", /could not do it/);
  assert.doesNotMatch(stage.lines.join(""), /not for the log/);
  stage.failing = false;
  await stage.after(3n);
  assert.equal(stage.runs, 6);
  assert.equal(await stage.after(99n), 6);
  stage.failing = true;
  assert.equal(await stage.after(1n), 7);
  assert.equal(await stage.after(1n), 8, "from the first pause on");
  await stage.job.close();
});

test("woken during a run that fails, the pause comes first all the same", async () => {
  const stage = new Stage({ pause: { first: 5n * SECOND, max: 5n * SECOND } });
  const held = Promise.withResolvers<void>();
  [stage.failing, stage.hold] = [true, held.promise];
  stage.job.open();
  await nextTurn();
  stage.job.wake();
  stage.hold = null;
  held.resolve();
  await nextTurn();
  assert.equal(await stage.after(4n), 1);
  assert.equal(await stage.after(1n), 2);
  await stage.job.close();
});

test("one that is opened again begins with the first pause, also where a run failed while it closed", async () => {
  const pause = { first: SECOND, max: 60n * SECOND };
  for (const whileClosing of [false, true]) {
    const stage = new Stage({ pause });
    stage.failing = true;
    stage.job.open();
    for (const wait of [0n, 1n, 2n]) await stage.after(wait);
    assert.equal(stage.runs, 3);
    const held = Promise.withResolvers<void>();
    if (whileClosing) {
      stage.hold = held.promise;
      assert.equal(await stage.after(4n), 4);
    }
    stage.hold = null;
    const closing = stage.job.close();
    held.resolve();
    await closing;
    const before = stage.runs;
    stage.job.open();
    assert.equal(await stage.after(0n), before + 1);
    assert.equal(await stage.after(1n), before + 2);
    await stage.job.close();
  }
});

test("whoever waits for the run is told how it ended; closing waits for it, and it is told to stop", async () => {
  const stage = new Stage();
  await stage.job.now(); // not open: nothing to wait for
  assert.equal(stage.runs, 0);
  stage.job.open();
  await stage.after(0n);
  stage.failing = true;
  await assert.rejects(stage.job.now());
  await assert.rejects(Promise.all([stage.job.now(), stage.job.now()]));
  assert.equal(stage.runs, 3, "they wait for one");
  const held = Promise.withResolvers<void>();
  const states: boolean[] = [];
  const long = new Stage({
    run: async (isOpen) => {
      states.push(isOpen());
      await held.promise;
      states.push(isOpen());
    },
  });
  long.job.open();
  await nextTurn();
  let closed = false;
  const closing = long.job.close().then(() => void (closed = true));
  await nextTurn();
  assert.equal(closed, false);
  held.resolve();
  await closing;
  assert.deepEqual(states, [true, false]);
  await stage.job.close();
});
