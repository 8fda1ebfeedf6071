import assert from "node:assert/strict";
import test from "node:test";
import { importsOf, readCode } from "./source.ts";

test("readCode() tells code from comments, strings, templates and regular expressions", () => {
  const source = [
    'a(/* b( */ \'c(\', "d\\"("); // e(',
    "f(`g( ${h(`i( ${j}`)} k(`);",
    'l = /m[/]"(/g.test(n) / o(p) / q;',
    "return /r'/;",
  ].join("\n");
  const { text, strings } = readCode(source);
  assert.deepEqual(text.match(/\b[a-z]\b/g)?.join(""), "afhjlnopq");
  assert.deepEqual(strings, ["c(", 'd\\"(', "g( ", "i( ", "", " k("]);
  assert.equal(text.split("\n").length, 4);
});

test("importsOf() finds every form of import with its line", () => {
  const source = [
    'import a from "a";',
    'import type { B } from "b";',
    'import {\n  c,\n  d as e,\n} from "c";',
    'import * as f from "f";',
    'export * from "g";',
    'export type { H } from "h";',
    'import "i";',
    'const j = await import("j");',
    'export const k = "k", from = "l";',
    "import.meta.dirname;",
  ].join("\n");
  const imports = importsOf(readCode(source)).map((found) => {
    return `${found.line} ${found.to}${found.typeOnly ? " type" : ""}`;
  });
  assert.deepEqual(
    imports.toSorted(),
    ["10 i", "11 j", "1 a", "2 b type", "3 c", "7 f", "8 g", "9 h type"].toSorted(),
  );
});
