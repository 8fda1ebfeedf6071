// Where output goes, in which form, and when it is coloured.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rawNumber } from "@holdfast/shared/json/json";
import { flag } from "../line/flag.ts";
import { GLOBAL_FLAGS, Settings } from "../settings.ts";
import { byName, readFlags, readLine } from "../line/command-line.ts";
import { progressBar } from "./activity.ts";
import { Output, type OutputOptions } from "./output.ts";
import { memberOf, showValue } from "./value.ts";

function make(options: Partial<OutputOptions> = {}) {
  const text = { out: "", err: "" };
  const stdout = { write: (some: string) => (text.out += some), isTTY: false };
  const stderr = { write: (some: string) => (text.err += some), isTTY: false };
  const colours = { stdout: false, stderr: false };
  const output = new Output({ stdout, stderr, format: "table", field: null, colours, ...options });
  return { output, text };
}

test("data goes to standard output, everything else to standard error", async () => {
  const { output, text } = make();
  await output.record({ a: 1 });
  output.hint("a hint");
  output.warn("a warning");
  output.error("an error", "a step");
  assert.equal(text.out, "Key    Value\n---    -----\na      1\n");
  assert.equal(text.err, "a hint\nWarning: a warning\nError: an error\nNext: a step\n");
});

test("programs get JSON or YAML of the data whatever people are shown", async () => {
  const data = { name: "x", list: [1, 2], big: rawNumber("12345678901234567890") };
  const json = make({ format: "json" });
  await json.output.show(data, { text: "for people" });
  json.output.done("Success!");
  const lines = ['    "name": "x",', '    "list": [\n        1,\n        2\n    ],'];
  assert.equal(json.text.out, `{\n${lines.join("\n")}\n    "big": 12345678901234567890\n}\n`);
  const yaml = make({ format: "yaml" });
  await yaml.output.show(data, { text: "for people" });
  assert.equal(yaml.text.out, "name: x\nlist:\n  - 1\n  - 2\nbig: 12345678901234567890\n");
});

test("YAML keeps texts that look like something else as texts", async () => {
  const { output, text } = make({ format: "yaml" });
  await output.record({ a: "1", b: "true", c: "null", d: "2026-01-01", e: "no", f: null });
  const { parse } = await import("yaml");
  assert.deepEqual(parse(text.out), {
    a: "1",
    b: "true",
    c: "null",
    d: "2026-01-01",
    e: "no",
    f: null,
  });
});

test("-field prints one value bare, for lists one a line", async () => {
  const one = make({ field: "a.b" });
  await one.output.record({ a: { b: "deep value" } });
  assert.equal(one.text.out, "deep value", "byte for byte");
  const lines = make({ field: "a" });
  await lines.output.record({ a: "x\ny\n" });
  assert.equal(lines.text.out, "x\ny\n");
  const several = make({ field: "id" });
  await several.output.record([{ id: 1 }, { id: 2 }]);
  assert.equal(several.text.out, "1\n2\n");
  const json = make({ field: "a", format: "json" });
  await json.output.record({ a: "x" });
  assert.equal(json.text.out, '"x"\n');
  const structure = make({ field: "a" });
  await structure.output.record({ a: [{ b: 1 }] });
  assert.deepEqual(JSON.parse(structure.text.out), [{ b: 1 }]);
  await assert.rejects(make({ field: "z" }).output.record({ a: 1 }), /no z; there is a/);
});

test("on a terminal sentences and structures fit, and a text is whole", async () => {
  const stdout = {
    text: "",
    isTTY: true,
    columns: 40,
    write: (some: string) => (stdout.text += some),
  };
  const { output } = make({ stdout });
  output.done("Success! This sentence is a good deal longer than the line.");
  const long = "x".repeat(60);
  const big = rawNumber("12345678901234567890");
  const many = Array.from({ length: 12 }, (_, i) => `policy-${i}`);
  await output.record({ data: { user: "anna", note: "some words here", big }, many, long });
  const lines = stdout.text.split("\n");
  for (const line of lines) assert.ok(line.length <= 40 || line.endsWith(long), line);
  assert.ok(lines.includes("data    {"), stdout.text);
  assert.ok(lines.includes('          "big": 12345678901234567890'), stdout.text);
  assert.ok(lines.includes(`long    ${long}`), stdout.text);
  const pipe = make();
  await pipe.output.record({ data: { user: "anna", note: "some words here" } });
  assert.match(pipe.text.out, /^data    \{"user":"anna","note":"some words here"\}$/m);
});

test("JSON for programs has no control character that a terminal would obey", async () => {
  const { output, text } = make({ format: "json" });
  await output.record({ a: "\u009b31m\u202e" });
  assert.match(text.out, /\\u009b31m\\u202e/);
  assert.deepEqual(JSON.parse(text.out), { a: "\u009b31m\u202e" });
});

test("values are shown as people read them", () => {
  for (const [value, said] of [
    [undefined, "<none>"],
    [null, "<none>"],
    ["", "<none>"],
    [[], "<none>"],
    [{}, "<none>"],
    [0, "0"],
    [false, "false"],
    [["a", "b"], "[a b]"],
    [[{ a: 1 }], '[{"a":1}]'],
    [{ a: 1 }, '{"a":1}'],
    [rawNumber("1e400"), "1e400"],
  ] as const) {
    assert.equal(showValue(value), said);
  }
});

test("memberOf() follows names with dots in them first, and no prototype", () => {
  assert.equal(memberOf({ "a.b": 1, a: { b: 2 } }, "a.b"), 1);
  assert.equal(memberOf({ a: { b: 2 } }, "a.b"), 2);
  assert.equal(memberOf({}, "constructor"), undefined);
  assert.equal(memberOf("text", "length"), undefined);
});

test("colours are for terminals, and for nobody who refuses them", () => {
  const settings = (env: Record<string, string>, ...args: string[]) => {
    const { flags } = readLine(args, byName(GLOBAL_FLAGS));
    return new Settings(readFlags(GLOBAL_FLAGS, flags) as never, env);
  };
  assert.equal(settings({}).colours(true), true);
  assert.equal(settings({}).colours(false), false);
  assert.equal(settings({ NO_COLOR: "1" }).colours(true), false);
  assert.equal(settings({ NO_COLOR: "" }).colours(true), true);
  assert.equal(settings({ TERM: "dumb" }).colours(true), false);
  assert.equal(settings({}, "-no-color").colours(true), false);
  assert.equal(settings({ NO_COLOR: "1" }, "-force-color").colours(false), true);
  assert.equal(flag.switch("").placeholder, null);
});

test("a progress bar has its length at every step", () => {
  assert.equal(progressBar(0, 3, 6), "[------] 0/3");
  assert.equal(progressBar(1, 3, 6), "[##----] 1/3");
  assert.equal(progressBar(3, 3, 6), "[######] 3/3");
  assert.equal(progressBar(9, 3, 6), "[######] 9/3");
});

test("parts stand one below the other, and a terminal of unknown size is 80 columns wide", async () => {
  let printed = "";
  const stdout = { write: (some: string) => (printed += some), isTTY: true, columns: 0 };
  const { output } = make({ stdout });
  const rows = [["destroyed", "a note of some length"]];
  await output.show(null, { parts: [{ pairs: [["a", 1]] }, { columns: ["State", "Note"], rows }] });
  assert.equal(
    printed,
    "Key    Value\n---    -----\na      1\n\n" +
      "State        Note\n-----        ----\ndestroyed    a note of some length\n",
  );
});
