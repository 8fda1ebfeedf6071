// The language itself: what is accepted and what it means, what is refused and how that is said.

import assert from "node:assert/strict";
import { takesAtMost } from "../../tests/support/processor-time.ts";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { DocumentFailure } from "./document-failure.ts";
import type { Body, Value } from "./hcl-node.ts";
import { parseHcl } from "./hcl-parser.ts";
import { POLICY_LIMITS, SourceText } from "./source-text.ts";

function parse(text: string): Body {
  return parseHcl(new SourceText(text)).body;
}

function refusal(run: () => unknown): DocumentFailure {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof DocumentFailure, String(error));
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, "invalid");
    return error;
  }
  return assert.fail("it was accepted");
}

/** The tree as a short text: `path "a" {x=1 y=["b" true]}`, text in JSON's quotes. */
function show(body: Body): string {
  const items = body.items.map((item) =>
    item.kind === "block"
      ? `${[item.type.text, ...item.labels.map((label) => JSON.stringify(label.text))].join(" ")} {${show(item.body)}}`
      : `${item.key.quoted ? JSON.stringify(item.key.text) : item.key.text}=${showValue(item.value)}`,
  );
  return items.join(" ");
}

function showValue(value: Value): string {
  switch (value.kind) {
    case "string":
      return JSON.stringify(value.text);
    case "number":
      return value.text;
    case "bool":
      return String(value.value);
    case "list":
      return `[${value.elements.map(showValue).join(" ")}]`;
    case "object":
      return `{${show(value.body)}}`;
  }
}

const accepted: readonly [text: string, tree: string][] = [
  // items
  ["", ""],
  [" \t\r\n\n", ""],
  ["# only a comment", ""],
  ['name = "t"', 'name="t"'],
  ['path "secret/*" {}', 'path "secret/*" {}'],
  ['path "a" {} path "b" {}', 'path "a" {} path "b" {}'],
  ['path "a" {} path "a" {}', 'path "a" {} path "a" {}'],
  ['path"a"{x=1}path"b"{}', 'path "a" {x=1} path "b" {}'],
  ['"path" "a" {}', 'path "a" {}'],
  ['audit "file" "main" { options {} }', 'audit "file" "main" {options {}}'],
  ["retry_join {} retry_join { a = 1 }", "retry_join {} retry_join {a=1}"],
  ['x {\n  "quoted key" = 1\n  "" = 2\n}', 'x {"quoted key"=1 ""=2}'],
  ["a-b.c_D9 = 1 _x = 2", "a-b.c_D9=1 _x=2"],
  ['"true" = true', '"true"=true'],
  ["truely = false", "truely=false"],
  ["__proto__ = 1 constructor = 2", "__proto__=1 constructor=2"],
  // bodies and objects
  ["x { a = 1, b = 2, }", "x {a=1 b=2}"],
  ["x { a = 1 b = 2 c {}, d = 3 }", "x {a=1 b=2 c {} d=3}"],
  ['x = { "a": 1, b : 2, c = { d: 3 } }', 'x={"a"=1 b=2 c={d=3}}'],
  ['x = { y "z" { a = 1 } w { } }', 'x={y "z" {a=1} w {}}'],
  ["x = {}", "x={}"],
  // lists
  ["x = []", "x=[]"],
  ['x = [1, "a", true, [], [2], {}, { y = 1 },]', 'x=[1 "a" true [] [2] {} {y=1}]'],
  ["x = [\n  1, # one\n  2 // two\n  /* three */\n]", "x=[1 2]"],
  // numbers, as they are written
  [
    "x = [0, -0, 7, -12, 1.50, -2.5, 1e6, 1E+6, 1.5e-3]",
    "x=[0 -0 7 -12 1.50 -2.5 1e6 1E+6 1.5e-3]",
  ],
  ["x = [0x0, 0xfF, -0x1f]", "x=[0x0 0xfF -0x1f]"],
  ["x = 123456789012345678901234567890.10", "x=123456789012345678901234567890.10"],
  // quoted text
  [String.raw`x = "\n\t\r\"\\"`, String.raw`x="\n\t\r\"\\"`],
  [String.raw`x = "\u00e9\U0001F600\x41\101"`, 'x="é😀AA"'],
  [String.raw`x = "\x01\u2028"`, String.raw`x="\u0001` + '\u2028"'],
  ['x = "a # b // c /* d"', 'x="a # b // c /* d"'],
  ['x = "$ $$ {} }{ ${}"', 'x="$ $$ {} }{ ${}"'],
  [
    String.raw`x = "a ${"$"}{f("q", {b = "\n"})} c"`,
    String.raw`x="a ${"$"}{f(\"q\", {b = \"\\n\"})} c"`,
  ],
  ['x = "${env:NAME}"', 'x="${env:NAME}"'],
  [String.raw`x = "\x24{ \u0024{"`, 'x="${ ${"'],
  ['x = "{{identity.entity.id}}"', 'x="{{identity.entity.id}}"'],
  ['x = "tab\there"', String.raw`x="tab\there"`],
  // heredocs
  ["x = <<EOF\na\n  b\nEOF\n", String.raw`x="a\n  b\n"`],
  ["x = <<EOF\nEOF", 'x=""'],
  ["x = <<EOF\n\nEOF\ny = 1", String.raw`x="\n" y=1`],
  ["x = <<EOF\na\n  EOF\ny = 1", String.raw`x="a\n" y=1`],
  ["x = <<EOF\n EOF2\nEO\nEOF EOF\nEOF\n", String.raw`x=" EOF2\nEO\nEOF EOF\n"`],
  ['x = <<E\n\\n "q" ${ # no\nE\n', String.raw`x="\\n \"q\" ${"$"}{ # no\n"`],
  ["x = <<-E\n    a\n      b\n    E\n", String.raw`x="a\n  b\n"`],
  ["x = <<-E\n    a\n  b\n    E\n", String.raw`x="    a\n  b\n"`],
  ["x = <<-E\n\ta\n\t\n\tE\n", String.raw`x="a\n\n"`],
  ["x = <<E\r\na\r\n\r\nE\r\ny = 1", String.raw`x="a\n\n" y=1`],
  ["x = [<<E\na\nE\n, 1]", String.raw`x=["a\n" 1]`],
  // comments, blanks, BOM, line ends
  ["a = 1 # x\nb = 2 // y\nc = 3 /* z */ d = 4", "a=1 b=2 c=3 d=4"],
  ["/**/ a /*=*/ = /* 1\n2 */ 3 /***/", "a=3"],
  ['path /* a */ "x" # b\n { }', 'path "x" {}'],
  ["a = 1\r\n# c\r\nb = 2\r\n", "a=1 b=2"],
  ["\ufeffa = 1", "a=1"],
  ['"é" = "ü"', '"é"="ü"'],
];
for (const [text, tree] of accepted) {
  test(`HCL ${JSON.stringify(text)} is accepted`, () => {
    assert.equal(show(parse(text)), tree);
  });
}

const VALUES = "text in double quotes, a number, true, false, [ or {";
const NO_NUMBER =
  "this is no number; accepted are such as 10, -2.5, 1e6 and 0x1f, without zeros in front";
const NOT_CLOSED = 'text is not closed on its line: expected ", and line breaks written as \\n';
const ESCAPE = String.raw`unknown escape; accepted are \n \t \r \" \\ \uXXXX \UXXXXXXXX \xXX \ooo`;
const ASCII = String.raw`\xXX and \ooo write ASCII characters only; write others as \uXXXX`;
const NO_CHARACTER =
  "the escape writes no character: NUL, surrogates and numbers above 10FFFF are not accepted";
const BRACES = String.raw`the braces of ${"$"}{ are not balanced on its line; write \x24{ where it is plain text`;
const TAG = "expected <<TAG or <<-TAG and then the end of the line, as in <<EOT";
const OPEN_HEREDOC = "the heredoc is not closed: expected its tag alone on a line";
const OUTSIDE =
  "outside comments and double quotes accepted are " +
  'names of a-z A-Z 0-9 _ - ., numbers, and { } [ ] , = : " # // /* <<';
const CONTROL = "is not accepted; of these only tab and line breaks are";
const SURROGATE = "an unpaired surrogate is no character; the text must be valid Unicode";
const RETURN = "a carriage return must be followed by a line feed; lines end in LF or CRLF";
const BOTH = "in one body a key is either an attribute, once, or the type of blocks";

const refused: readonly [text: string, message: string][] = [
  // the text that clients know
  [
    'path "x" {\n\n  capabilities = ["read"]\n  capabilities = ["list"]\n}',
    'At 4:3: attribute "capabilities" was already set on line 3',
  ],
  // items
  ["= 1", "At 1:1: expected a key or the end of the document, found ="],
  ["{}", "At 1:1: expected a key or the end of the document, found {"],
  ["}", "At 1:1: expected a key or the end of the document, found }"],
  ["true = 1", "At 1:1: expected a key or the end of the document, found a word without quotes"],
  ["1 = 1", "At 1:1: expected a key or the end of the document, found a number"],
  ["a = 1, b = 2", "At 1:6: expected a key or the end of the document, found ,"],
  [
    "a",
    'At 1:2: expected =, { or a label in double quotes after "a", found the end of the document',
  ],
  [
    "a b {}",
    'At 1:3: expected =, { or a label in double quotes after "a", found a word without quotes',
  ],
  ["a 1", 'At 1:3: expected =, { or a label in double quotes after "a", found a number'],
  ["a <<E\nE\n", 'At 1:3: expected =, { or a label in double quotes after "a", found a heredoc'],
  ['a "b" = 1', 'At 1:7: expected { after the labels of "a", found ='],
  ['a "b" c {}', 'At 1:7: expected { after the labels of "a", found a word without quotes'],
  ["a : 1", 'At 1:3: expected = after "a" (: is accepted only in an object value), found :'],
  ["x { a : 1 }", 'At 1:7: expected = after "a" (: is accepted only in an object value), found :'],
  [
    "x = { y { a : 1 } }",
    'At 1:13: expected = after "a" (: is accepted only in an object value), found :',
  ],
  ["a = 1\na = 2", 'At 2:1: attribute "a" was already set on line 1'],
  ['a = 1\n"a" = 2', 'At 2:1: attribute "a" was already set on line 1'],
  ["x = { a = 1, a: 2 }", 'At 1:14: attribute "a" was already set on line 1'],
  ["a = 1\na {}", `At 2:1: "a" was already used on line 1; ${BOTH}`],
  ["a {}\na = 1", `At 2:1: "a" was already used on line 1; ${BOTH}`],
  // bodies and lists
  [
    "x {\n  a = 1\n",
    "At 3:1: expected a key or the } for the { on line 1, found the end of the document",
  ],
  ["x {\n  a = 1 ]", "At 2:9: expected a key or the } for the { on line 1, found ]"],
  ["x { , }", "At 1:5: expected a key or the } for the { on line 1, found ,"],
  ["x { a = 1,, }", "At 1:11: expected a key or the } for the { on line 1, found ,"],
  ["a =", `At 1:4: expected ${VALUES}, found the end of the document`],
  ["a = }", `At 1:5: expected ${VALUES}, found }`],
  ["a = null", `At 1:5: expected ${VALUES}, found a word without quotes`],
  ["a = s.3fZx9secret", `At 1:5: expected ${VALUES}, found a word without quotes`],
  ["a = [", `At 1:6: expected ${VALUES}, found the end of the document`],
  ["a = [,]", `At 1:6: expected ${VALUES}, found ,`],
  ["a = [1,,2]", `At 1:8: expected ${VALUES}, found ,`],
  ["a = [1 2]", "At 1:8: expected a comma or the ] for the [ on line 1, found a number"],
  [
    "a = [1\n",
    "At 2:1: expected a comma or the ] for the [ on line 1, found the end of the document",
  ],
  ["a = [b = 1]", `At 1:6: expected ${VALUES}, found a word without quotes`],
  // numbers
  ...[
    "01",
    "-01",
    "00",
    "0755",
    "1.",
    "1.e5",
    "1e",
    "1e+",
    "1x",
    "0x",
    "0xg",
    "0X1f",
    "-",
    "--1",
  ].map((number): [string, string] => [`a = ${number}`, `At 1:5: ${NO_NUMBER}`]),
  ["a = 1.2.3", `At 1:5: ${NO_NUMBER}`],
  ["a = 1-2", `At 1:5: ${NO_NUMBER}`],
  ["a = .5", `At 1:5: unexpected .; ${OUTSIDE}`],
  ["a = +5", `At 1:5: unexpected +; ${OUTSIDE}`],
  // quoted text
  ['a = "', `At 1:5: ${NOT_CLOSED}`],
  ['a = "x\n"', `At 1:5: ${NOT_CLOSED}`],
  ['a = "x\r\n"', `At 1:5: ${NOT_CLOSED}`],
  ['a = "x\\"', `At 1:5: ${NOT_CLOSED}`],
  ['a = "x\\', `At 1:7: ${ESCAPE}`],
  ...[
    "\\a",
    "\\b",
    "\\/",
    "\\'",
    "\\x4",
    "\\x4g",
    "\\u12",
    "\\u12g4",
    "\\U0001F60",
    "\\8",
    "\\08",
    "\\78",
  ].map((escape): [string, string] => [`a = "x${escape}"`, `At 1:7: ${ESCAPE}`]),
  ...["\\x80", "\\xff", "\\200", "\\777"].map((escape): [string, string] => [
    `a = "${escape}"`,
    `At 1:6: ${ASCII}`,
  ]),
  ...[
    "\\u0000",
    "\\x00",
    "\\000",
    "\\ud83d\\ude00",
    "\\uDFFF",
    "\\U00110000",
    "\\UFFFFFFFF",
    "\\U0000d800",
  ].map((escape): [string, string] => [`a = "${escape}"`, `At 1:6: ${NO_CHARACTER}`]),
  ['a = "${"', `At 1:6: ${BRACES}`],
  ['a = "x ${ { }"\nb = "}"', `At 1:8: ${BRACES}`],
  ["a = 'x'", `At 1:5: unexpected '; ${OUTSIDE}`],
  // heredocs
  ["a = <<", `At 1:5: ${TAG}`],
  ["a = <<EOF", `At 1:5: ${TAG}`],
  ["a = <<\nx\n", `At 1:5: ${TAG}`],
  ["a = << EOF\nEOF\n", `At 1:5: ${TAG}`],
  ["a = <<EOF \nEOF\n", `At 1:5: ${TAG}`],
  ['a = <<"EOF"\nEOF\n', `At 1:5: ${TAG}`],
  ["a = <<1\n1\n", `At 1:5: ${TAG}`],
  ["a = <EOF\nEOF\n", `At 1:5: unexpected <; ${OUTSIDE}`],
  ["a = <<EOF\n", `At 1:5: ${OPEN_HEREDOC}`],
  ["a = <<EOF\nx\n", `At 1:5: ${OPEN_HEREDOC}`],
  ["a = <<EOF\nx EOF", `At 1:5: ${OPEN_HEREDOC}`],
  ["a = <<EOF\nEOF # no\n", `At 1:5: ${OPEN_HEREDOC}`],
  // comments and characters
  ["a = 1 /* x", "At 1:7: the comment is not closed: expected */"],
  ["a = 1 /*/", "At 1:7: the comment is not closed: expected */"],
  ["a = 1 / 2", `At 1:7: unexpected /; ${OUTSIDE}`],
  ["é = 1", `At 1:1: unexpected U+00E9; ${OUTSIDE}`],
  ["a = 😀", `At 1:5: unexpected U+1F600; ${OUTSIDE}`],
  ["a = 1 \ufeff", `At 1:7: unexpected U+FEFF; ${OUTSIDE}`],
  ["\ufeff\ufeffa = 1", `At 1:1: unexpected U+FEFF; ${OUTSIDE}`],
  ["a = 1\u00a0", `At 1:6: unexpected U+00A0; ${OUTSIDE}`],
  ["a = `x`", `At 1:5: unexpected \`; ${OUTSIDE}`],
  ["a = 1\0", `At 1:6: control character U+0000 ${CONTROL}`],
  ['a = "\0"', `At 1:6: control character U+0000 ${CONTROL}`],
  ["# \0", `At 1:3: control character U+0000 ${CONTROL}`],
  ["# \u001b[31m", `At 1:3: control character U+001B ${CONTROL}`],
  ["a = 1\n\u007f", `At 2:1: unexpected U+007F; ${OUTSIDE}`],
  ['a = "\ud83d"', `At 1:6: ${SURROGATE}`],
  ['a = "\ude00\ud83d"', `At 1:6: ${SURROGATE}`],
  ["# \ud83d", `At 1:3: ${SURROGATE}`],
  ["# hidden\rpath = 1", `At 1:9: ${RETURN}`],
  ["a = 1\r", `At 1:6: ${RETURN}`],
];
for (const [text, message] of refused) {
  test(`HCL ${JSON.stringify(text)} is refused`, () => {
    assert.equal(refusal(() => parse(text)).message, message);
  });
}

test("a refusal carries its position as numbers and a stable code", () => {
  const failure = refusal(() => parse("a = 1\n  b = \n}"));
  assert.deepEqual(failure.position, { line: 3, column: 1, offset: 13 });
  assert.equal(failure.code, "document-syntax");
  assert.equal(refusal(() => parse("a = 1 a = 2")).code, "document-duplicate");
});

test("a key in a refusal is cut and its unprintable characters are spelled out", () => {
  const long = refusal(() => parse(`"${"k".repeat(100)}"`)).message;
  assert.ok(long.includes(`"${"k".repeat(64)}..."`), long);
  const odd = refusal(() => parse(String.raw`"\x1b[31m\"\u202e😀"`)).message;
  assert.ok(odd.includes(String.raw`"U+001B[31m\"U+202E😀"`), odd);
});

test("positions count characters from 1 and leave out the BOM", () => {
  const text = '\ufeff# 😀\r\npath "😀é" { a = [1, "x"] }';
  const [block] = parse(text).items;
  assert.ok(block?.kind === "block");
  assert.deepEqual(block.position, { line: 2, column: 1, offset: 7 });
  assert.deepEqual(block.labels[0]?.position, { line: 2, column: 6, offset: 12 });
  assert.deepEqual(block.body.position, { line: 2, column: 11, offset: 18 });
  const [attribute] = block.body.items;
  assert.ok(attribute?.kind === "attribute" && attribute.value.kind === "list");
  assert.deepEqual(attribute.key.position, { line: 2, column: 13, offset: 20 });
  assert.deepEqual(attribute.value.position, { line: 2, column: 17, offset: 24 });
  assert.deepEqual(attribute.value.elements[1]?.position, { line: 2, column: 21, offset: 28 });
});

const nestings: readonly [name: string, opening: string, inner: string, closing: string][] = [
  ["blocks", "x{", "", "}"],
  ["object values", "x={", "", "}"],
  ["blocks with labels", 'x"a""b"{', "", "}"],
];
for (const [name, opening, inner, closing] of nestings) {
  test(`100 levels of ${name} are accepted and 101 are refused`, () => {
    const nest = (levels: number) => opening.repeat(levels) + inner + closing.repeat(levels);
    parse(nest(100));
    const failure = refusal(() => parse(nest(101)));
    const column = 101 * opening.length;
    assert.equal(
      failure.message,
      `At 1:${column}: nesting too deep: at most 100 levels are accepted`,
    );
    assert.equal(failure.code, "document-too-deep");
  });
}

test("lists count as levels, alone and between objects", () => {
  parse(`x=${"[".repeat(100)}${"]".repeat(100)}`);
  assert.match(refusal(() => parse(`x=${"[".repeat(101)}`)).message, /^At 1:103: nesting too deep/);
  parse(`x=${"[{x=".repeat(50)}1${"}]".repeat(50)}`);
  assert.match(refusal(() => parse(`x=${"[{x=".repeat(51)}`)).message, /nesting too deep/);
});

test("10,000 blocks are accepted at top level and 10,001 are refused", () => {
  const max = 'p""{}\n'.repeat(10_000);
  assert.equal(parse(`a = 1\n${max}`).items.length, 10_001);
  assert.equal(
    refusal(() => parse(`${max}p""{}`)).message,
    "At 10001:1: policy is too large: at most 10000 blocks are accepted",
  );
});

test("256 KiB are accepted, counted as UTF-8, and a byte more is refused", () => {
  const size = 256 * 1024;
  for (const filling of ["x", "é", "€", "😀"]) {
    const each = Buffer.byteLength(filling);
    const filled = `#${filling.repeat(Math.floor((size - 1) / each))}`;
    const full = filled + "x".repeat(size - Buffer.byteLength(filled));
    assert.equal(Buffer.byteLength(full), size);
    parse(full);
    const failure = refusal(() => parse(`${full}x`));
    assert.equal(failure.message, "policy is too large: at most 262144 bytes are accepted");
    assert.equal(failure.code, "document-too-large");
    assert.equal(failure.position, null);
  }
});

test("limits and the name of the document are the caller's", () => {
  const limits = { noun: "configuration", bytes: 30, depth: 1, blocks: 1 };
  const read = (text: string) => parseHcl(new SourceText(text, limits));
  read("a { b = 1 }");
  assert.match(
    refusal(() => read("a { b = [] }")).message,
    /^At 1:9: nesting too deep: at most 1 /,
  );
  assert.match(
    refusal(() => read("a {} b {}")).message,
    /configuration is too large: at most 1 block/,
  );
  assert.match(
    refusal(() => read(" ".repeat(31))).message,
    /^configuration is too large: at most 30 b/,
  );
});

// Each fills the largest document with what costs most for its length. Times are of the processor, so
// that a busy machine does not matter, and the best of three, so that a collection does not.
const LARGEST = POLICY_LIMITS.bytes;
const bombs: readonly [name: string, text: string][] = [
  ["brackets", `x=${"[".repeat(LARGEST - 2)}`],
  ["braces", "x{".repeat(LARGEST / 2)],
  ["elements", `x=[${"1,".repeat(LARGEST / 2 - 2)}]`],
  [
    "attributes",
    Array.from({ length: 32_000 }, (_, i) => `a${i}=1`)
      .join("\n")
      .slice(0, LARGEST),
  ],
  ["comments", "#\n".repeat(LARGEST / 2)],
  ["comments in a list", `x=[1/**/,${"/**/".repeat(LARGEST / 4 - 3)}]`],
  ["comments without an end", "/*".repeat(LARGEST / 2)],
  ["stars", `/${"*".repeat(LARGEST - 1)}`],
  ["openings of interpolation", `x="${"${".repeat(LARGEST / 2 - 2)}`],
  ["interpolations", `x="${"${}".repeat(LARGEST / 3 - 2)}"`],
  ["escapes", `x="${"\\n".repeat(LARGEST / 2 - 2)}"`],
  ["lines of a heredoc", `x=<<E\n${" E \n".repeat(LARGEST / 4 - 4)}E`],
  [
    "a heredoc without an end",
    `x=<<${"E".repeat(LARGEST / 4)}\n${`${"E".repeat(99)}\n`.repeat(1_900)}`,
  ],
  ["characters of two units on one line", `x=["${"😀".repeat(1_000)}",${'"😀",'.repeat(28_000)}]`],
  ["labels and comments", `x${'""/**/'.repeat(LARGEST / 6 - 2)}{}`],
  ["labels", `x${'""'.repeat(LARGEST / 2 - 2)}{}`],
  ["digits", `x=${"1".repeat(LARGEST - 2)}`],
  ["blanks", " ".repeat(LARGEST)],
  ["line feeds", "\n".repeat(LARGEST)],
  ["a letter", "a".repeat(LARGEST)],
];
for (const [name, text] of bombs) {
  test(`a document full of ${name} is read or refused in under 150 ms`, () => {
    assert.ok(text.length > LARGEST / 2 && Buffer.byteLength(text) <= LARGEST, String(text.length));
    takesAtMost(150, () => {
      try {
        parse(text);
      } catch (error) {
        assert.ok(error instanceof DocumentFailure, String(error));
      }
    });
  });
}

test("a text above the limit is refused without being read", () => {
  const huge = "[".repeat(50_000_000);
  takesAtMost(20, () => assert.match(refusal(() => parse(huge)).message, /too large/));
});
