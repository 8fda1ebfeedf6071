import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import { until } from "../../tests/support/until.ts";
import { Attempt } from "./attempt.ts";
import type { Sink } from "./devices/sink.ts";
import { Writer } from "./writer.ts";

const SECOND = 1_000_000_000n;

type Behaviour = "works" | "fails" | "hangs";

/** A way out that does as it is told. */
function setUp({ max = 1_000_000, maxQueuedBytes = 1_000_000 } = {}) {
  const world = fakeWorld();
  const behaviours = { open: "works" as Behaviour, write: "works" as Behaviour };
  const batches: string[][] = [];
  const counts = { opened: 0, closed: 0, abandoned: 0 };
  let release: (() => void)[] = [];
  const does = async (behaviour: Behaviour) => {
    if (behaviour === "fails") throw new Error("out of order");
    if (behaviour === "hangs") await new Promise<void>((resolve) => release.push(resolve));
  };
  const source = {
    maxBytes: max,
    async open(): Promise<Sink> {
      counts.opened++;
      await does(behaviours.open);
      return {
        broken: false,
        async write(records) {
          const { write } = behaviours;
          await does(write);
          batches.push([...records]);
        },
        abandon: () => void counts.abandoned++,
        close: async () => void counts.closed++,
      };
    },
  };
  const writes: boolean[] = [];
  const writer = new Writer({
    ...world,
    device: "one",
    source,
    timeout: 10n * SECOND,
    maxQueuedBytes,
    wrote: (_, ok) => void writes.push(ok),
  });
  const made: string[] = []; // records, in the order of their making
  const push = (record: string, attempt = new Attempt(1)) => {
    writer.push(() => {
      made.push(record);
      return record;
    }, attempt);
    return attempt.done.then(
      () => "taken",
      () => "failed",
    );
  };
  const letGo = () => {
    for (const one of release) one();
    release = [];
  };
  return { ...world, behaviours, batches, counts, writer, writes, made, push, letGo };
}

test("what comes while a write is under way goes out together in the next one", async () => {
  const { writer, behaviours, push, batches, letGo, writes } = setUp();
  assert.equal(await writer.start(), true);
  behaviours.write = "hangs";
  const first = push("a");
  await until(() => writer.pending === 1);
  await nextTurn();
  behaviours.write = "works";
  const rest = [push("b"), push("c"), push("d")];
  letGo();
  assert.deepEqual(await Promise.all([first, ...rest]), ["taken", "taken", "taken", "taken"]);
  assert.deepEqual(batches, [["a"], ["b", "c", "d"]]);
  assert.deepEqual(writes, [true, true]);
  await writer.close();
});

test("records of one turn go out in one write, in their order", async () => {
  const { writer, push, batches } = setUp();
  await writer.start();
  await Promise.all(["a", "b", "c"].map((record) => push(record)));
  assert.deepEqual(batches, [["a", "b", "c"]]);
  await writer.close();
});

test("a write that hangs fails its records at the time-out, and what follows at once", async () => {
  const { writer, behaviours, push, timers, counts, lines, letGo } = setUp();
  await writer.start();
  behaviours.write = "hangs";
  const stuck = push("a");
  await nextTurn();
  const waiting = push("b");
  await timers.advance(9n * SECOND);
  assert.equal(writer.healthy, true);
  await timers.advance(1n * SECOND);
  assert.deepEqual(await Promise.all([stuck, waiting]), ["failed", "failed"]);
  assert.equal(writer.healthy, false);
  assert.equal(counts.abandoned, 1);
  assert.equal(await push("c"), "failed");
  assert.ok(lines.some((line) => line.includes("hangs")));
  behaviours.write = "works";
  letGo(); // the disk is back
  await until(() => writer.healthy);
  assert.equal(await push("d"), "taken");
  await writer.close();
});

test("T-G06: what waits for a stalled device is bounded in number, and goes when it is given up", async () => {
  const { writer, behaviours, push, timers } = setUp();
  await writer.start();
  behaviours.write = "hangs";
  const first = push("x");
  await nextTurn();
  let failed = 0;
  for (let i = 0; i < 20_000; i++)
    void push("y").then((end) => (failed += Number(end === "failed")));
  await nextTurn();
  assert.equal(writer.pending, 16_385);
  assert.equal(failed, 20_000 - 16_384);
  const refused = new Attempt(1);
  writer.push(() => "y", refused);
  await assert.rejects(refused.done, { kind: "unavailable", code: "audit-busy" });
  await timers.advance(10n * SECOND);
  assert.equal(await first, "failed");
  assert.equal(failed, 20_000);
  // Ten minutes at 500 requests a second: nothing is kept any more.
  for (let i = 0; i < 1000; i++) assert.equal(await push("z"), "failed");
  assert.equal(writer.pending, 1);
  const closing = writer.close();
  await timers.advance(20n * SECOND);
  await closing;
});

/** A device that is writing, with as many bytes waiting as may, and five requests in line. */
async function full() {
  const made = setUp({ maxQueuedBytes: 100 });
  await made.writer.start();
  made.behaviours.write = "hangs";
  const before = [made.push("x")];
  await nextTurn();
  for (let i = 0; i < 4; i++) before.push(made.push("q".repeat(30)));
  const inLine = ["a", "b", "c", "d", "e"].map((name) => made.push(name.repeat(60)));
  return { ...made, before, inLine };
}

test("T-G06: without room a request waits with its record unmade, and goes on as the device does", async () => {
  const { writer, behaviours, push, before, inLine, made, batches, letGo } = await full();
  assert.equal(made.length, 5);
  const small = push("s"); // there is room for none, however small: they keep their order
  behaviours.write = "works";
  letGo();
  const ends = await Promise.all([...before, ...inLine, small]);
  assert.deepEqual(new Set(ends), new Set(["taken"]));
  assert.deepEqual(made.map(([letter]) => letter).join(""), "xqqqqabcdes");
  assert.deepEqual(batches.flat(), made);
  assert.equal(writer.pending, 0);
  await writer.close();
});

test("T-G06: whoever waits for room has the time-out of the device, and fails with it", async () => {
  const { writer, push, before, inLine, made, timers } = await full();
  await timers.advance(6n * SECOND);
  const late = push("late");
  await timers.advance(4n * SECOND);
  const ends = await Promise.all([...before, ...inLine, late]);
  assert.deepEqual(new Set(ends), new Set(["failed"]));
  assert.equal(made.length, 5, "nothing was made for those in line");
  assert.equal(await push("at once"), "failed");
  const closing = writer.close();
  await timers.advance(20n * SECOND);
  await closing;
});

test("T-G06: a request that another device has does not wait for room in this one", async () => {
  const { writer, behaviours, push, made, batches, letGo } = await full();
  const attempt = new Attempt(2);
  const both = push("both", attempt);
  attempt.taken();
  assert.equal(await both, "taken");
  behaviours.write = "works";
  letGo();
  assert.equal(await push("last"), "taken");
  assert.ok(!made.includes("both") && !batches.flat().includes("both"));
  await writer.close();
});

test("a record in line that cannot be made fails alone", async () => {
  const { writer, behaviours, push, inLine, lines, letGo } = await full();
  const attempt = new Attempt(1);
  writer.push(() => {
    throw new Error("odd");
  }, attempt);
  const after = push("after");
  behaviours.write = "works";
  letGo();
  await assert.rejects(attempt.done);
  assert.equal(await after, "taken");
  assert.equal(await inLine.at(-1), "taken");
  assert.ok(lines.some((line) => line.includes("cannot be made")));
  await writer.close();
});

test("T-G06: a device that is slow, but gets on, is not given up, and neither is what waits for its turn", async () => {
  const { writer, behaviours, push, timers, letGo } = setUp({ maxQueuedBytes: 100 });
  await writer.start();
  behaviours.write = "hangs";
  const first = push("1");
  await nextTurn();
  const second = push("2".repeat(200)); // a write of its own, and no room behind it
  const third = push("3");
  await timers.advance(6n * SECOND);
  letGo();
  assert.equal(await first, "taken");
  await timers.advance(6n * SECOND);
  assert.equal(writer.healthy, true);
  const fourth = push("4");
  behaviours.write = "works";
  letGo();
  // Twelve seconds after they came, with a time-out of ten.
  assert.deepEqual(await Promise.all([second, third, fourth]), ["taken", "taken", "taken"]);
  await writer.close();
});

test("T-G05: those whose records went out together do not all go on in one stretch", async () => {
  const { writer, push, clock, timers } = setUp();
  await writer.start();
  const turnsAt: number[] = [];
  const ends = Array.from({ length: 64 }, () =>
    push("r").then(() => {
      clock.pass(2_000_000n); // what each does takes two milliseconds
      turnsAt.push(timers.turns);
    }),
  );
  await Promise.all(ends);
  const max = Math.max(...turnsAt.map((turn) => turnsAt.filter((other) => other === turn).length));
  assert.ok(max <= 8, `${max} in one turn`);
  await writer.close();
});

test("a failed write is tried once more on a new way, then the device is down until it opens", async () => {
  const { writer, behaviours, push, counts, timers } = setUp();
  await writer.start();
  behaviours.write = "fails";
  assert.equal(await push("a"), "failed");
  assert.equal(counts.opened, 2);
  assert.equal(writer.healthy, false);
  assert.equal(await push("b"), "failed");
  assert.equal(counts.opened, 2); // refused at once
  behaviours.open = "fails";
  await timers.advance(30n * SECOND);
  assert.ok(counts.opened > 4 && counts.opened < 12, `${counts.opened} openings in 30 s`);
  behaviours.open = behaviours.write = "works";
  await timers.advance(5n * SECOND);
  assert.equal(writer.healthy, true);
  assert.equal(await push("c"), "taken");
  await writer.close();
});

test("a device that does not open, or hangs while opening, is down, and is tried one at a time", async () => {
  const { writer, behaviours, push, counts, timers, letGo } = setUp();
  behaviours.open = "hangs";
  const started = writer.start();
  await timers.advance(10n * SECOND);
  assert.equal(await started, false);
  assert.equal(await push("a"), "failed");
  await timers.advance(60n * SECOND);
  assert.equal(counts.opened, 1); // a second one would hold a second thread
  behaviours.open = "works";
  letGo();
  await timers.advance(15n * SECOND);
  assert.equal(writer.healthy, true);
  await writer.close();
  assert.equal(counts.closed, counts.opened);
});

test("a record that is too large for the device fails alone", async () => {
  const { writer, push } = setUp({ max: 10 });
  await writer.start();
  const ends = await Promise.all([push("small"), push("x".repeat(11)), push("fits")]);
  assert.deepEqual(ends, ["taken", "failed", "taken"]);
  await writer.close();
});

test("closing lets out what is queued; after that nothing is taken", async () => {
  const { writer, push, batches, counts } = setUp();
  await writer.start();
  const ends = [push("a"), push("b")];
  await writer.close();
  await writer.close();
  assert.deepEqual(await Promise.all(ends), ["taken", "taken"]);
  assert.deepEqual(batches, [["a", "b"]]);
  assert.equal(counts.closed, 1);
  assert.equal(await push("c"), "failed");
});

test("opening anew happens behind what is queued, and keeps the old way if it fails", async () => {
  const { writer, behaviours, push, counts, lines } = setUp();
  await writer.start();
  assert.equal(await writer.reopen(), true);
  assert.deepEqual([counts.opened, counts.closed], [2, 1]);
  behaviours.open = "fails";
  await writer.reopen();
  assert.ok(lines.some((line) => line.includes("goes on as it was")));
  assert.equal(await push("a"), "taken");
  await writer.close();
});
