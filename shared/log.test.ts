// The log: both forms, levels, and everything that must not get into a line.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { makeLog } from "./log.ts";
import type { Fields, Log, LogDial, LogOptions } from "./log.ts";
import { Secret } from "./secret.ts";
import { parseTime } from "./text/time.ts";

function logging(options: Partial<LogOptions> = {}): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = makeLog({
    level: "debug",
    format: "standard",
    write: (line) => lines.push(line),
    clock: { now: () => parseTime("2026-11-15T02:00:00.123999999Z") ?? 0n },
    ...options,
  });
  return { log, lines };
}

/** The way a caller without types, or with a cast, would hand over anything. */
function untyped(value: unknown): Fields {
  return { value } as Fields;
}

test("a standard line has time, level, component, message and fields", () => {
  const { log, lines } = logging();
  log.child("storage").info("commit is durable", { index: 42n, path: "shared/a", ok: true });
  log.warn("nothing else");
  log.child("storage").child("sqlite").error("slow disk", { took: "1.5s", note: "two words" });
  log.debug("empty", { name: "", none: null, ratio: 0.5 });
  assert.deepEqual(lines, [
    "2026-11-15T02:00:00.123Z [INFO]  storage: commit is durable: index=42 path=shared/a ok=true\n",
    "2026-11-15T02:00:00.123Z [WARN]  nothing else\n",
    '2026-11-15T02:00:00.123Z [ERROR] storage.sqlite: slow disk: took=1.5s note="two words"\n',
    '2026-11-15T02:00:00.123Z [DEBUG] empty: name="" none=null ratio=0.5\n',
  ]);
});

test("a JSON line holds the same, numbers and big integers as numbers", () => {
  const { log, lines } = logging({ format: "json" });
  log.child("storage").info('said "no"', { index: 2n ** 63n, n: 1.5, ok: false, none: null });
  const head = '{"time":"2026-11-15T02:00:00.123Z","level":"info","component":"storage"';
  const tail =
    ',"message":"said \\"no\\"","index":9223372036854775808,"n":1.5,"ok":false,"none":null}\n';
  assert.deepEqual(lines, [head + tail]);
});

test("a time on a full second keeps its three digits", () => {
  const { log, lines } = logging({ clock: { now: () => 5_000_000_000n } });
  log.info("a");
  assert.equal(lines[0], "1970-01-01T00:00:05.000Z [INFO]  a\n");
});

test("a dial changes the level of a log in use, its children included", () => {
  const dial: LogDial = { level: "warn" };
  const { log, lines } = logging({ level: dial });
  const child = log.child("storage");
  child.info("a");
  dial.level = "debug";
  child.debug("b");
  dial.level = "off";
  log.error("c");
  assert.deepEqual(lines, ["2026-11-15T02:00:00.123Z [DEBUG] storage: b\n"]);
});

test("levels below the chosen one are not written, and off writes nothing", () => {
  const expected = { debug: 4, info: 3, warn: 2, error: 1, off: 0 } as const;
  for (const level of ["debug", "info", "warn", "error", "off"] as const) {
    const { log, lines } = logging({ level });
    for (const to of [log, log.child("a")]) {
      to.debug("m");
      to.info("m");
      to.warn("m");
      to.error("m");
    }
    assert.equal(lines.length, 2 * expected[level], level);
  }
});

for (const format of ["standard", "json"] as const) {
  test(`${format}: a secret prints as [secret], whatever it holds`, () => {
    const { log, lines } = logging({ format });
    log.info("m", { key: new Secret("hunter2"), other: new Secret(Buffer.from("hunter2")) });
    assert.match(lines[0]!, /\[secret\].*\[secret\]/);
    assert.doesNotMatch(lines[0]!, /hunter2/);
  });

  test(`${format}: no content of an object, array, buffer or function is printed`, () => {
    const bytes = Buffer.from("hunter2");
    const error = new Error("hunter2");
    const sneaky = { toString: () => "hunter2", toJSON: () => "hunter2" };
    const values = [{ a: "hunter2" }, ["hunter2"], bytes, new Uint8Array(bytes), error, sneaky];
    const more = [() => "hunter2", Symbol("hunter2"), undefined, Object("hunter2")];
    for (const value of [...values, ...more]) {
      const { log, lines } = logging({ format });
      log.info("m", untyped(value));
      assert.match(lines[0]!, /\[object\]/);
      assert.doesNotMatch(lines[0]!, /hunter2|104|68756e746572/);
    }
  });

  test(`${format}: no text makes a second line, steers a terminal or hides`, () => {
    const nasty = "a\r\nb\u001b[2Jc\u2028d\u2029e\u0085f\u007fg\u202eh\u200bi\ufeffj\ud800k\u0000l";
    const { log, lines } = logging({ format });
    log.child("part").info(nasty, { value: nasty, [nasty]: 1 });
    assert.match(lines[0]!, /^[ -~]*\n$/);
    assert.match(lines[0]!, /\\u001b\[2Jc\\u2028d/);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        lines.length = 0;
        log.info(text, { value: text, [text]: text });
        assert.equal(lines.length, 1);
        assert.match(lines[0]!, /^[^\p{C}\p{Zl}\p{Zp}]*\n$/u);
      }),
    );
  });

  test(`${format}: a text of a megabyte is cut, and the line says so`, () => {
    const { log, lines } = logging({ format });
    log.info("x".repeat(2 ** 20), { name: "y".repeat(2 ** 20) });
    assert.ok(lines[0]!.length < 10_000);
    assert.equal(lines[0]!.match(/\(1044480 more\)/g)?.length, 2);
  });
}

test("a standard value that could be read as further fields is quoted", () => {
  const { log, lines } = logging();
  log.info("m", { a: "x b=y", c: 'say "x"', d: "k=v", "odd key": 1 });
  const line = 'm: a="x b=y" c="say \\"x\\"" d="k=v" "odd key"=1\n';
  assert.equal(lines[0]?.slice(-line.length), line);
});

test("JSON lines parse back to what was logged, and a field cannot replace a member of ours", () => {
  const { log, lines } = logging({ format: "json" });
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      lines.length = 0;
      log.child("c").info(text, { text, time: text, level: text, component: text, message: text });
      assert.deepEqual(JSON.parse(lines[0]!), {
        time: "2026-11-15T02:00:00.123Z",
        level: "info",
        component: "c",
        message: text,
        text,
        time_: text,
        level_: text,
        component_: text,
        message_: text,
      });
    }),
  );
});

test("numbers that JSON cannot hold become text", () => {
  const { log, lines } = logging({ format: "json" });
  log.info("m", { a: NaN, b: -Infinity });
  const parsed: unknown = JSON.parse(lines[0]!);
  assert.ok(typeof parsed === "object" && parsed !== null && "a" in parsed && "b" in parsed);
  assert.deepEqual([parsed.a, parsed.b], ["NaN", "-Infinity"]);
});
