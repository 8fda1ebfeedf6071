// Plugins that end, hang, print rubbish or flood: what is said of them, and that nobody else is held up.

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { hold, PluginPlace, runs, say } from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemTimers } from "../../system/timers.ts";

const MILLISECOND = SECOND / 1000n;
const place = new PluginPlace();
after(() => place.remove());

async function refusal(promise: Promise<unknown>): Promise<Failure> {
  const error: unknown = await promise.then(
    () => assert.fail("it was started"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Failure, String(error));
  return error;
}

/** Texts for callers: what a plugin printed is in them alone. */
function textsOf(failure: Failure): string {
  return failure.texts.join(" ");
}

test("case 131, T-H14: what prints rubbish, too little, without end or nothing is told apart, and is gone", async () => {
  const processes = await place.open({}, { startsWithin: 20n * SECOND });
  try {
    const rows: [string, RegExp][] = [
      ["--rubbish", /Unrecognized remote plugin message: Hello, I am no plugin/],
      ["--four-fields", /Unsupported plugin protocol "netrpc"/],
      ["--netrpc", /Unsupported plugin protocol "netrpc"\. Supported: \[grpc\]/],
      ["--elsewhere", /lies outside of the folder that is its own/],
      ["--exits", /plugin exited before we could connect: it exited with code 7/],
      ["--endless", /Unrecognized remote plugin message: x{10}/],
      ["--unwell", /it says that it is not healthy/],
      ["--other-certificate", /who answers at its socket is not the plugin that was started/],
    ];
    const before = process.memoryUsage().rss;
    await Promise.all(
      rows.map(async ([option, says]) => {
        const program = place.program({ name: `small${option}`, args: [option] });
        const failure = await refusal(hold(processes, program));
        assert.match(textsOf(failure), says, option);
        assert.equal(failure.kind, "upstream");
        assert.ok(textsOf(failure).length < 4000, option);
        assert.ok(!textsOf(failure).includes("\u001b"), "nothing that a terminal obeys");
      }),
    );
    assert.ok(process.memoryUsage().rss - before < 256 * 2 ** 20);
    const lines = place.lines.join("\n");
    assert.match(lines, /last_lines="\[ERROR\] it begins badly"/);
    assert.deepEqual(
      processes
        .reports()
        .map(({ pid }) => pid)
        .filter(Boolean),
      [],
    );
  } finally {
    await processes.close();
  }
  assert.deepEqual(place.runs(), []);
});

test("case 131: what ends as soon as it has printed is told by what it printed, and nobody waits for more", async () => {
  const processes = await place.open();
  try {
    const sha256 = place.put("brief", "#!/bin/sh\necho Hello, I am none\n");
    const program = place.program({ name: "brief", command: "brief", sha256 });
    const began = performance.now();
    for (let times = 0; times < 20; times++) {
      const failure = await refusal(processes.probe(program, new AbortController().signal));
      assert.match(textsOf(failure), /Unrecognized remote plugin message: Hello, I am none/);
    }
    assert.ok(performance.now() - began < 14_000, "none took the time of one that is silent");
  } finally {
    await processes.close();
  }
});

test("case 132: one that never prints is ended after its time", async () => {
  const processes = await place.open({}, { startsWithin: 300n * MILLISECOND });
  try {
    const { message } = await refusal(hold(processes, place.program({ args: ["--silent"] })));
    assert.match(message, /timeout while waiting for plugin to start/);
  } finally {
    await processes.close();
  }
});

test("plugins that say nothing hold up others for a moment, and the next time not at all", async () => {
  const [givesWayAfter, startsWithin] = [1234n * SECOND, 4321n * SECOND];
  const moments: (() => void)[] = [];
  const ends: (() => void)[] = [];
  const system = new SystemTimers();
  const timers: Timers = {
    after: (delay, call) => {
      const kept = new Map([
        [givesWayAfter, moments],
        [startsWithin, ends],
      ]).get(delay);
      if (kept === undefined) return system.after(delay, call);
      kept.push(call);
      return { cancel: () => {} };
    },
    turn: () => system.turn(),
  };
  const pass = (calls: (() => void)[]) => calls.splice(0).forEach((call) => call());
  const processes = await place.open({}, { timers, givesWayAfter, startsWithin });
  try {
    let over = 0;
    const silent = () =>
      Array.from({ length: 6 }, async (_, i) => {
        const program = place.program({ name: `silent-${i}`, args: ["--silent"] });
        const { message } = await refusal(hold(processes, program));
        assert.match(message, /timeout while waiting for plugin to start/);
        over++;
      });
    const good = async (name: string) =>
      say(await hold(processes, place.program({ name })), "echo", name);
    const allOver = async () => {
      await until(() => {
        pass(moments);
        pass(ends);
        return over === 6;
      });
      over = 0;
    };
    const all = silent();
    const first = good("first");
    await until(() => ends.length === 4);
    pass(moments);
    assert.equal(await first, "first");
    assert.equal(over, 0, "they were waited for by nobody");
    await allOver();
    all.push(...silent());
    assert.equal(await good("second"), "second");
    assert.equal(over, 0, "nor now, though none of them has given way");
    await allOver();
    await Promise.all(all);
  } finally {
    await processes.close();
  }
});

test("case 135: one that fails again and again is started after pauses, and who comes meanwhile is told how long", async () => {
  let passed: Nanos = 0n;
  const clock: Clock = {
    now: () => place.clock.now() + passed,
    elapsed: () => place.clock.elapsed() + passed,
  };
  const processes = await place.open({}, { clock });
  try {
    const flag = join(place.base, "fails");
    const counted = join(place.base, "counted");
    writeFileSync(flag, "");
    const program = place.program({ args: [`--counts=${counted}`, `--fails-while=${flag}`] });
    const starts = () => (existsSync(counted) ? readFileSync(counted, "utf8").length : 0);
    for (let i = 0; i < 2; i++) {
      assert.equal((await refusal(hold(processes, program))).code, "plugin-start-failed");
    }
    const waiting = await refusal(hold(processes, program));
    assert.equal(waiting.code, "plugin-waiting");
    assert.equal(waiting.kind, "unavailable");
    assert.equal(waiting.retryAfter, 1);
    assert.match(waiting.message, /started again in 1 s at the earliest: .*exited with code 3/);
    assert.equal(starts(), 2, "it was not started a third time");
    assert.equal(processes.reports()[0]?.state, "waiting");
    // Who asks is not the one who starts it: twenty at once are one start.
    rmSync(flag);
    passed += SECOND;
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        hold(processes, program, "one").then((held) => say(held, "echo", String(i))),
      ),
    );
    assert.deepEqual(
      all,
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
    assert.equal(starts(), 3);
  } finally {
    await processes.close();
  }
});

test("case 133, 134: one that ends in the middle of a call fails that call, once; the next one starts another", async () => {
  const processes = await place.open();
  try {
    const program = place.program();
    const held = await hold(processes, program);
    const calls = Array.from({ length: 5 }, () => say(held, "never"));
    await say(held, "echo");
    process.kill(held.pid, "SIGKILL");
    for (const { status } of await Promise.allSettled(calls)) assert.equal(status, "rejected");
    assert.equal((await held.ended).cause, "it was ended by SIGKILL");
    await assert.rejects(say(held, "echo"), "it is written to nobody");
    const again = await Promise.all(Array.from({ length: 20 }, () => hold(processes, program)));
    assert.equal(new Set(again.map(({ pid }) => pid)).size, 1);
    assert.equal(await say(again[0] ?? held, "counts"), "1", "a new one");
    assert.equal(processes.figures.of("small").restarts, 1);
    await assert.rejects(say(again[0] ?? held, "exits"));
    await until(() =>
      place.lines.some((line) => line.includes("panic: it was asked to | goroutine 1")),
    );
  } finally {
    await processes.close();
  }
});

test("T-H14: one that stands still is asked for its health after a deadline and ended; one that is only slow is not", async () => {
  const system = new SystemTimers();
  let pace = 1n;
  const timers: Timers = {
    after: (wait, call) => system.after(wait / pace, call),
    turn: () => system.turn(),
  };
  const processes = await place.open({}, { timers });
  try {
    const slow = await hold(processes, place.program({ name: "slow" }));
    const still = await hold(processes, place.program({ name: "still" }));
    const other = await hold(processes, place.program({ name: "other" }));
    pace = 20n; // its five seconds are a quarter of one
    await assert.rejects(say(slow, "never", "", { timeout: SECOND }));
    process.kill(still.pid, "SIGSTOP");
    await assert.rejects(say(still, "echo", "", { timeout: SECOND }));
    assert.match(
      (await still.ended).cause,
      /did not answer in time, nor when it was asked whether it is well/,
    );
    await until(() => !runs(still.pid));
    pace = 1n;
    assert.equal(await say(slow, "echo", "well"), "well");
    assert.equal(await say(other, "echo", "well"), "well");
  } finally {
    pace = 1n;
    await processes.close();
  }
});

test("T-H14: one that floods its log costs little, is dropped and counted, and still answers", async () => {
  const processes = await place.open();
  try {
    const held = await hold(processes, place.program());
    const before = process.memoryUsage().rss;
    await say(held, "floods");
    await until(() => processes.figures.of("small").droppedLines > 1000);
    assert.equal(await say(held, "echo", "here"), "here");
    assert.ok(process.memoryUsage().rss - before < 128 * 2 ** 20);
    await held.release();
    assert.ok(!runs(held.pid));
  } finally {
    await processes.close();
  }
});

test("of one that is ended from outside it is said how it ended, also where its connection goes before whoever waits for it", async () => {
  const processes = await place.open();
  try {
    place.putSmall("inner.mjs");
    const inner = join(place.directory, "inner.mjs");
    const sha256 = place.put("waits", `#!/bin/sh\n"${inner}" "$@" &\nwait $!\nsleep 0.5\nexit 7\n`);
    const held = await hold(processes, place.program({ command: "waits", sha256 }));
    await held.offer(serviceTable([]));
    process.kill(Number(await say(held, "pid")), "SIGKILL");
    assert.equal((await held.ended).cause, "it exited with code 7");
  } finally {
    await processes.close();
  }
});

test("one deaf to being stopped is ended, with what it has started", async () => {
  const processes = await place.open();
  try {
    const file = join(place.base, "child");
    const held = await hold(processes, place.program({ args: ["--deaf", `--child-of=${file}`] }));
    const child = Number(readFileSync(file, "utf8"));
    assert.ok(runs(child));
    await held.release();
    await until(() => !runs(held.pid) && !runs(child));
  } finally {
    await processes.close();
  }
});

test("case 139, T-H06: words reach it as they are, and of our environment what is listed", async () => {
  const args = ["a b", ";", "$(id)", "-x", "new\nline", "--", "'\""];
  const env = { ...process.env, SECRET: "x", AWS_SECRET_ACCESS_KEY: "y", LANG: "C" };
  const processes = await place.open({}, { env });
  try {
    const held = await hold(processes, place.program({ args, env: ["REGION=north"] }));
    assert.deepEqual(JSON.parse(await say(held, "arguments")), args);
    const seen = JSON.parse(await say(held, "environment")) as Record<string, string>;
    assert.equal(seen["SECRET"], undefined);
    assert.equal(seen["AWS_SECRET_ACCESS_KEY"], undefined);
    assert.equal(seen["LANG"], "C");
    assert.equal(seen["REGION"], "north");
    const status = await say(held, "status");
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(status, /^CapBnd:\s+0+$/m);
  } finally {
    await processes.close();
  }
});

test("case 138: users share one that says that it can, each with its own id; the last one stops it", async () => {
  const processes = await place.open();
  try {
    const program = place.program({ args: ["--multiplexes"] });
    const [one, two] = [
      await hold(processes, program, "one"),
      await hold(processes, program, "two"),
    ];
    assert.equal(one.pid, two.pid);
    const ids = [await say(one, "id"), await say(two, "id")];
    assert.notEqual(ids[0], ids[1]);
    for (const id of ids) assert.match(id, /^[0-9a-z]{10}$/);
    await one.release();
    assert.equal(await say(two, "echo", "goes on"), "goes on");
    await two.release();
    await until(() => !runs(two.pid));
    const alone = place.program({ name: "alone" });
    const [three, four] = [
      await hold(processes, alone, "one"),
      await hold(processes, alone, "two"),
    ];
    assert.notEqual(three.pid, four.pid, "it does not say so");
  } finally {
    await processes.close();
  }
});
