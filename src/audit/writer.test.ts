import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import { until } from "../../tests/support/made-audit.ts";
import { Attempt } from "./attempt.ts";
import type { Sink } from "./devices/sink.ts";
import { Writer } from "./writer.ts";

const SECOND = 1_000_000_000n;

type Behaviour = "works" | "fails" | "hangs";

/** A way out that does as it is told. */
function setUp(most = 1_000_000) {
  const world = fakeWorld();
  const told = { open: "works" as Behaviour, write: "works" as Behaviour };
  const batches: string[][] = [];
  const counts = { opened: 0, closed: 0, abandoned: 0 };
  let release: (() => void)[] = [];
  const does = async (behaviour: Behaviour) => {
    if (behaviour === "fails") throw new Error("out of order");
    if (behaviour === "hangs") await new Promise<void>((resolve) => release.push(resolve));
  };
  const source = {
    mostBytes: most,
    async open(): Promise<Sink> {
      counts.opened++;
      await does(told.open);
      return {
        broken: false,
        async write(records) {
          const { write } = told;
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
    wrote: (_, ok) => void writes.push(ok),
  });
  const push = (record: string) => {
    const attempt = new Attempt(1);
    writer.push(record, attempt);
    return attempt.done.then(
      () => "taken",
      () => "failed",
    );
  };
  const letGo = () => {
    for (const one of release) one();
    release = [];
  };
  return { ...world, told, batches, counts, writer, writes, push, letGo };
}

test("what comes while a write is under way goes out together in the next one", async () => {
  const { writer, told, push, batches, letGo, writes } = setUp();
  assert.equal(await writer.start(), true);
  told.write = "hangs";
  const first = push("a");
  await until(() => writer.pending === 1);
  await nextTurn();
  told.write = "works";
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
  await Promise.all(["a", "b", "c"].map(push));
  assert.deepEqual(batches, [["a", "b", "c"]]);
  await writer.close();
});

test("a write that hangs fails its records at the time-out, and what follows at once", async () => {
  const { writer, told, push, timers, counts, lines, letGo } = setUp();
  await writer.start();
  told.write = "hangs";
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
  told.write = "works";
  letGo(); // the disk is back
  await until(() => writer.healthy);
  assert.equal(await push("d"), "taken");
  await writer.close();
});

test("T-G06: what waits for a stalled device is bounded, in number and in bytes", async () => {
  const { writer, told, push, timers } = setUp(64 * 1024 * 1024);
  await writer.start();
  told.write = "hangs";
  const first = push("x");
  await nextTurn();
  let failed = 0;
  for (let i = 0; i < 20_000; i++)
    void push("y").then((end) => (failed += Number(end === "failed")));
  await nextTurn();
  assert.equal(writer.pending, 16_385);
  assert.equal(failed, 20_000 - 16_384);
  await timers.advance(10n * SECOND);
  assert.equal(await first, "failed");
  assert.equal(failed, 20_000);
  // Ten minutes at 500 requests a second: nothing is kept any more.
  for (let i = 0; i < 1000; i++) assert.equal(await push("z"), "failed");
  assert.equal(writer.pending, 1);
  const closing = writer.close();
  await timers.advance(20n * SECOND);
  await closing;

  const bytes = setUp(64 * 1024 * 1024);
  await bytes.writer.start();
  bytes.told.write = "hangs";
  void bytes.push("x");
  await nextTurn();
  const large = "l".repeat(1024 * 1024);
  for (let i = 0; i < 16; i++) void bytes.push(large);
  assert.equal(await bytes.push("one more"), "failed");
  assert.equal(bytes.writer.pending, 17);
  const shutting = bytes.writer.close();
  await bytes.timers.advance(20n * SECOND);
  await shutting;
});

test("a failed write is tried once more on a new way, then the device is down until it opens", async () => {
  const { writer, told, push, counts, timers } = setUp();
  await writer.start();
  told.write = "fails";
  assert.equal(await push("a"), "failed");
  assert.equal(counts.opened, 2);
  assert.equal(writer.healthy, false);
  assert.equal(await push("b"), "failed");
  assert.equal(counts.opened, 2); // refused at once
  told.open = "fails";
  await timers.advance(30n * SECOND);
  assert.ok(counts.opened > 4 && counts.opened < 12, `${counts.opened} openings in 30 s`);
  told.open = told.write = "works";
  await timers.advance(5n * SECOND);
  assert.equal(writer.healthy, true);
  assert.equal(await push("c"), "taken");
  await writer.close();
});

test("a device that does not open, or hangs while opening, is down, and is tried one at a time", async () => {
  const { writer, told, push, counts, timers, letGo } = setUp();
  told.open = "hangs";
  const started = writer.start();
  await timers.advance(10n * SECOND);
  assert.equal(await started, false);
  assert.equal(await push("a"), "failed");
  await timers.advance(60n * SECOND);
  assert.equal(counts.opened, 1); // a second one would hold a second thread
  told.open = "works";
  letGo();
  await timers.advance(15n * SECOND);
  assert.equal(writer.healthy, true);
  await writer.close();
  assert.equal(counts.closed, counts.opened);
});

test("a record that is too large for the device fails alone", async () => {
  const { writer, push } = setUp(10);
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
  const { writer, told, push, counts, lines } = setUp();
  await writer.start();
  assert.equal(await writer.reopen(), true);
  assert.deepEqual([counts.opened, counts.closed], [2, 1]);
  told.open = "fails";
  await writer.reopen();
  assert.ok(lines.some((line) => line.includes("goes on as it was")));
  assert.equal(await push("a"), "taken");
  await writer.close();
});
