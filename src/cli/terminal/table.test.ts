// Tables and text on their way to a terminal.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pairs, table } from "./table.ts";
import { flow, harmless, oneLine, widthOf, wrap } from "./text.ts";

const plain = (text: string) => text;

test("a table is as wide as its cells where there is no terminal", () => {
  const text = table(
    ["Path", "Type"],
    [
      ["file/", "file"],
      ["x/", "a longer kind"],
    ],
    {
      width: null,
      heading: plain,
    },
  );
  assert.equal(text, "Path     Type\n----     ----\nfile/    file\nx/       a longer kind\n");
});

test("a table fits the terminal, and loses no word", () => {
  const word = fc.stringMatching(/^[a-z0-9]{1,20}$/);
  const cell = fc.array(word, { maxLength: 8 }).map((words) => words.join(" "));
  const rows = fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 40, max: 120 }), (cells, width) => {
      const text = table(["One", "Two", "Three"], cells, { width, heading: plain });
      for (const line of text.split("\n")) assert.ok(widthOf(line) <= width, line);
      const letters = (some: string) => some.replace(/[\s-]/g, "").split("").toSorted().join("");
      assert.equal(letters(text), letters(`OneTwoThree${cells.flat().join("")}`));
    }),
  );
});

test("on a narrow terminal gaps and text give way before identifiers do", () => {
  const id = "c8427da3-8cf6-48b2-beaf-9bb747302196";
  const rows = [["a name with several words in it", "management", "false", id, "false"]];
  const columns = ["Name", "Type", "Global", "Accessor ID", "Expired"];
  for (const width of [74, 80, 100, 200]) {
    const text = table(columns, rows, { width, heading: plain, whole: ["Accessor ID"] });
    assert.ok(text.includes(id), text);
    for (const line of text.split("\n")) assert.ok(widthOf(line) <= width, line);
  }
  const tiny = table(columns, rows, { width: 48, heading: plain, whole: ["Accessor ID"] });
  for (const line of tiny.split("\n")) assert.ok(widthOf(line) <= 48, tiny);
  assert.ok(tiny.includes(`Accessor ID\n  ${id}\n`), tiny);
});

test("where identifiers do not fit beside the rest, each row is a block", () => {
  const id = "c8427da3-8cf6-48b2-beaf-9bb747302196";
  const columns = ["Name", "Type", "Accessor ID", "Policies", "Expires", "Created"];
  const row = ["ci", "client", id, "[default response-wrapping shop]", "in 7h59m", "2d3h ago"];
  const text = table(columns, [row, row], { width: 80, heading: plain, whole: ["Accessor ID"] });
  const block =
    `Name         ci\nType         client\nAccessor ID  ${id}\n` +
    "Policies     [default response-wrapping shop]\nExpires      in 7h59m\nCreated      2d3h ago\n";
  assert.equal(text, `${block}\n${block}`);
  const wide = table(columns, [row], { width: 160, heading: plain, whole: ["Accessor ID"] });
  assert.equal(wide.split("\n").length, 4);
});

test("values of a record are never broken: they must be possible to copy", () => {
  const value = "x".repeat(200);
  const text = pairs(
    [
      ["key", value],
      ["policy", "one\ntwo"],
    ],
    { width: 40, heading: plain },
  );
  assert.ok(text.includes(value));
  assert.match(text, /^policy {4}one\n {10}two$/m);
});

test("wrap() breaks at spaces, and inside a word only when it must", () => {
  assert.deepEqual(wrap("one two three", 7), ["one two", "three"]);
  assert.deepEqual(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
  assert.deepEqual(wrap("a\n\nb", 4), ["a", "", "b"]);
});

test("flow() ends lines between words, never inside one or inside a command", () => {
  const text = "Next: run `holdfast acl bootstrap` now, or wait";
  assert.equal(flow(text, 80), text);
  assert.equal(flow(text, 24), "Next: run\n`holdfast acl bootstrap`\nnow, or wait");
  assert.equal(flow("x".repeat(50), 20), "x".repeat(50));
  assert.equal(flow("  Rule a\n  b", 80), "  Rule a\n  b");
  assert.equal(
    flow("  shop, line 2: path grants read", 20),
    "  shop, line 2: path\n    grants read",
  );
});

test("nothing that steers a terminal gets through", () => {
  assert.equal(
    harmless("\u001b]0;title\u0007\u009b31m\u202e"),
    "\\x1b]0;title\\x07\\x9b31m\\u202e",
  );
  assert.equal(oneLine("a\nb\tc\rd"), "a\\nb c\\x0dd");
  assert.equal(
    harmless("a\u061cb\u200bc\u2066d\ufeffe\u{e0041}f"),
    "a\\u061cb\\u200bc\\u2066d\\ufeffe\\u{e0041}f",
  );
  assert.equal(harmless("naïve 👩‍💻 नमस्‍ते"), "naïve 👩‍💻 नमस्‍ते"); // joiners belong to words
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      // oxlint-disable-next-line no-control-regex -- none of them may reach a terminal
      assert.doesNotMatch(oneLine(text), /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
    }),
  );
});

test("one path that is too long for its column sticks out of it, and the table stays one", () => {
  const path = `/home/${"long/".repeat(10)}.holdfast-token,`;
  const rows = [
    ["address", "good", "http://127.0.0.1:8200 (from HOLDFAST_ADDR)", "–"],
    ["token file", "wrong", `${path} open to others`, `run \`chmod 600 ${path}\``],
    ["seal", "good", "unsealed, active", "–"],
  ];
  const columns = ["Check", "Result", "Found", "What to do"];
  const text = table(columns, rows, { width: 80, heading: plain, unbroken: columns.slice(2) });
  assert.match(text, /^Check +Result +Found +What to do$/m);
  assert.match(text, /^address +good +http:\/\/127\.0\.0\.1:8200/m);
  assert.match(text, /^seal +good +unsealed, active +–$/m);
  assert.equal(text.split(path).length, 3, "whole, both times");
  for (const line of text.split("\n")) assert.ok(widthOf(line) <= 80, text);
});

test("a path among a text is not broken: other columns give way, or it sticks out", () => {
  const path = "/home/anna/somewhere/.holdfast-token,";
  const row = ["token file", "good", `${path} for you alone`, "run `holdfast login`, or set it"];
  const columns = ["Check", "Result", "Found", "What to do"];
  const unbroken = ["Found", "What to do"];
  for (const width of [60, 80, 100]) {
    const text = table(columns, [row], { width, heading: plain, unbroken });
    assert.ok(text.includes(path), text);
    for (const line of text.split("\n")) assert.ok(widthOf(line) <= width, text);
  }
});
