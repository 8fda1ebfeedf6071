import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { makeLog } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import {
  LAST_LINES,
  Lines,
  MAX_BYTES_A_SECOND,
  MAX_LINE,
  MAX_LINES_A_SECOND,
  OutputPace,
  PluginLog,
  readPaced,
} from "./output.ts";

/** Seconds pass when a test says so. */
function drivenWorld() {
  let now = 0n;
  const waiting: { readonly at: bigint; readonly call: () => void }[] = [];
  return {
    world: {
      clock: { elapsed: () => now },
      timers: {
        after: (wait: bigint, call: () => void) => {
          const timer = { at: now + wait, call };
          waiting.push(timer);
          return { cancel: () => void waiting.splice(waiting.indexOf(timer), 1) };
        },
      },
    },
    pass: (time: bigint) => {
      now += time;
      for (const timer of waiting.splice(0)) {
        if (timer.at <= now) timer.call();
        else waiting.push(timer);
      }
    },
  };
}

test("T-H14: a line without an end is cut, and costs no more than is kept of it", () => {
  const lines: string[] = [];
  const reader = new Lines({
    line: (line) => lines.push(line),
    isSpent: false,
    passedOver: () => assert.fail("it is logged as fast as it comes"),
  });
  const piece = Buffer.alloc(2 ** 20, "x");
  for (let i = 0; i < 256; i++) reader.add(piece);
  reader.add(Buffer.from("\nsecond\r\n\nthird"));
  reader.flush();
  assert.deepEqual(
    lines.map((line) => line.length),
    [MAX_LINE, 6, 5],
  );
  assert.deepEqual(lines.slice(1), ["second", "third"]);
});

test("T-H14: of a line without an end that comes a byte at a time nothing is kept once it is as long as it may be", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const lines: string[] = [];
  const reader = new Lines({
    line: (line) => lines.push(line),
    isSpent: false,
    passedOver: () => assert.fail("it is logged as fast as it comes"),
  });
  const byte = Buffer.from("x");
  for (let i = 0; i < MAX_LINE; i++) reader.add(byte);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 300_000; i++) reader.add(byte);
  collect();
  const more = process.memoryUsage().heapUsed - before;
  assert.ok(more < 2 ** 22, `${more} bytes for what is passed over`);
  reader.add(Buffer.from("\nsecond\n"));
  assert.deepEqual(
    lines.map((line) => line.length),
    [MAX_LINE, 6],
  );
});

test("T-H14: what floods is read by its pace and left in the pipe, and everything comes in the end", async () => {
  const { world, pass } = drivenWorld();
  const pace = new OutputPace(world);
  let made = 0;
  const stream = new Readable({
    highWaterMark: 64 * 1024,
    read() {
      made += 64 * 1024;
      this.push(made > 8 * MAX_BYTES_A_SECOND ? null : Buffer.alloc(64 * 1024));
    },
  });
  let read = 0;
  let isOver = false;
  stream.once("end", () => (isOver = true));
  readPaced(stream, pace, (bytes) => (read += bytes.length));
  for (let second = 1; !isOver; second++) {
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(read <= second * (MAX_BYTES_A_SECOND + 64 * 1024), `${read} in ${second} s`);
    assert.ok(made <= read + 256 * 1024, "the rest waits outside");
    assert.ok(second < 12);
    pass(SECOND);
  }
  assert.equal(read, 8 * MAX_BYTES_A_SECOND);
});

test("T-H14: of a flood of short lines the last are read, and the others counted", () => {
  const lines: string[] = [];
  let passed = 0;
  let isSpent = false;
  const reader = new Lines({
    line: (line) => (isSpent = lines.push(line) >= 100),
    get isSpent() {
      return isSpent;
    },
    passedOver: (more) => (passed += more),
  });
  reader.add(Buffer.alloc(2 ** 20, "\n"));
  assert.deepEqual([lines.length, passed], [0, 0], "an empty line is none");
  reader.add(Buffer.from("cut in "));
  reader.add(Buffer.from(`two\n${"a\n".repeat(2 ** 19)}it breaks\nhere`));
  reader.flush();
  assert.equal(lines.length, 100 + LAST_LINES + 1);
  assert.equal(lines[0], "cut in two");
  assert.deepEqual(lines.slice(-2), ["it breaks", "here"]);
  assert.equal(passed + lines.length, 1 + 2 ** 19 + 2);
  reader.add(Buffer.from(`begun ${"\n".repeat(2 * LAST_LINES)}`));
  reader.flush();
  assert.deepEqual(lines.at(-1), "here", "what was begun is passed over as a whole");
});

test("T-H14: messages that carry nothing have the pace of those that do", async () => {
  const { world, pass } = drivenWorld();
  const pace = new OutputPace(world);
  let read = 0;
  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      await pace.message(0);
      read++;
    }
  })();
  const most = MAX_BYTES_A_SECOND / 1024;
  for (let second = 1; second <= 3; second++) {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(read <= second * most, `${read} in ${second} s`);
    pass(SECOND);
  }
  assert.ok(read >= 2 * most - 2);
  isOver = true;
  pass(SECOND);
  await reading;
});

test("lines are logged at their level under the name, up to so many a second; what is left out is counted", () => {
  const { world, pass } = drivenWorld();
  const written: string[] = [];
  const clock = { now: () => 0n, elapsed: world.clock.elapsed };
  const log = makeLog({
    level: "debug",
    format: "json",
    write: (line) => void written.push(line),
    clock,
  });
  let dropped = 0;
  const plugin = new PluginLog({
    log: log.child("plugin"),
    name: "small",
    pace: new OutputPace(world),
    clock: world.clock,
    isProbe: false,
    dropped: (lines) => (dropped += lines),
  });
  plugin.line('{"@level":"warn","@message":"of its own","@timestamp":"t","size":7,"deep":{"a":1}}');
  plugin.line("[ERROR] it is bad");
  plugin.line("plain");
  plugin.line('{"not":"one of them"}');
  const first = written.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    first.map((line) => String(line["level"] ?? line["@level"]).toLowerCase()),
    ["warn", "error", "debug", "debug"],
  );
  assert.ok(written[0]?.includes("of its own") && written[0].includes('"size":7'));
  assert.ok(!written[0]?.includes('@timestamp":"t'));
  assert.equal(MAX_LINES_A_SECOND, 1000);
  assert.ok(!plugin.isSpent);
  for (let i = 0; i < MAX_LINES_A_SECOND + 500; i++) plugin.line(`line ${i}`);
  assert.equal(written.length, MAX_LINES_A_SECOND);
  assert.equal(dropped, 504);
  assert.ok(plugin.isSpent, "what floods is not even made into lines");
  pass(SECOND);
  assert.ok(!plugin.isSpent);
  plugin.line("after");
  assert.ok(written.at(-2)?.includes('"lines_dropped":504'));
  assert.match(plugin.last(), /line 1499 \| after$/);
  plugin.line("panic: it breaks");
  plugin.line("goroutine 1 [running]:");
  assert.ok(written.at(-1)?.toLowerCase().includes('"error"'), "its trace is one of errors");
});
