// Our parser against the one of the CEL package, and against trees that were printed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, type plan } from "@bufbuild/cel";
import fc from "fast-check";
import { SourceText } from "../../document/source-text.ts";
import { ProgramFailure } from "../failures.ts";
import type { Constant, Node } from "./node.ts";
import { parseExpression } from "./parser.ts";

type Expr = Extract<Parameters<typeof plan>[1], { $typeName: "cel.expr.Expr" }>;

function parsed(text: string): Node {
  return parseExpression(new SourceText(text), 0, text.length);
}

// One text for each tree, without places: what both parsers are brought to.

function showConstant(value: Constant): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number") return `double ${value}`;
  if (value instanceof Uint8Array) return `bytes ${value.join(" ")}`;
  if (value !== null && typeof value === "object") return `${value.unsigned}u`;
  return JSON.stringify(value);
}

function showNode(node: Node): string {
  const all = (nodes: readonly Node[]) => nodes.map(showNode).join(", ");
  switch (node.kind) {
    case "constant":
      return showConstant(node.value);
    case "name":
      return node.name;
    case "select":
      return `${showNode(node.operand)}.${node.field}`;
    case "has":
      return `has(${showNode(node.operand)}.${node.field})`;
    case "list":
      return `[${all(node.elements)}]`;
    case "map":
      return `{${node.entries.map(({ key, value }) => `${showNode(key)}: ${showNode(value)}`).join(", ")}}`;
    case "call":
      return `${node.target === null ? "" : `${showNode(node.target)}.`}${node.name}(${all(node.args)})`;
    case "fold":
      return `fold ${node.macro}`;
  }
}

function showExpr(expr: Expr | undefined): string {
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case "constExpr": {
      const { constantKind } = kind.value;
      if (constantKind.case === "nullValue") return "null";
      if (constantKind.case === "uint64Value") return `${constantKind.value}u`;
      if (constantKind.case === "doubleValue") return `double ${constantKind.value}`;
      assert.ok(typeof constantKind.value !== "object" || constantKind.value instanceof Uint8Array);
      return showConstant(constantKind.value ?? null);
    }
    case "identExpr":
      return kind.value.name;
    case "selectExpr": {
      const text = `${showExpr(kind.value.operand)}.${kind.value.field}`;
      return kind.value.testOnly ? `has(${text})` : text;
    }
    case "listExpr":
      return `[${kind.value.elements.map(showExpr).join(", ")}]`;
    case "structExpr":
      return `{${kind.value.entries
        .map(({ keyKind, value }) => {
          assert.equal(keyKind.case, "mapKey");
          return `${showExpr(keyKind.case === "mapKey" ? keyKind.value : undefined)}: ${showExpr(value)}`;
        })
        .join(", ")}}`;
    case "callExpr": {
      const { function: name, target, args } = kind.value;
      const isRow = name === "_&&_" || name === "_||_";
      const parts = isRow ? args.flatMap((arg) => rowOf(arg, name)) : args;
      const lead = target === undefined ? "" : `${showExpr(target)}.`;
      return `${lead}${name}(${parts.map(showExpr).join(", ")})`;
    }
    case "comprehensionExpr":
    case undefined:
      return assert.fail("no loops here");
  }
}

/** That parser balances rows into trees of two; parentheses among them cannot be told apart. */
function rowOf(expr: Expr, name: string): readonly Expr[] {
  const kind = expr.exprKind;
  if (kind.case !== "callExpr" || kind.value.function !== name) return [expr];
  return kind.value.args.flatMap((arg) => rowOf(arg, name));
}

const RELATIONS = ["==", "!=", "<", "<=", ">", ">=", "in"];
const OPERATORS = ["+", "-", "*", "/", "%"];
const ATOMS = [
  "a",
  "b_1",
  "1",
  "42u",
  "0x1F",
  "1.5",
  "2e3",
  ".25",
  "true",
  "null",
  '"x"',
  "'y\\n\\x41'",
  '"""a "b" c"""',
  "r'\\d'",
  "b'\\xff'",
  "[]",
  "{}",
];

const blank = fc.constantFrom("", " ", "  ", "\n", "\t ");

const expression = fc.letrec<{ expr: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...ATOMS),
    fc.tuple(blank, tie("expr"), blank).map(([l, e, r]) => `(${l}${e}${r})`),
    tie("atom").map((a) => `${/^[\d.]/.test(a) ? `(${a})` : a}.field`),
    fc
      .tuple(tie("atom"), tie("expr"))
      .map(([a, e]) => `${/^[\d.]/.test(a) ? `(${a})` : a}.call(${e})`),
    fc.tuple(tie("atom"), tie("expr")).map(([a, e]) => `${a}[${e}]`),
    fc.array(tie("expr"), { maxLength: 3 }).map((all) => `f(${all.join(", ")})`),
    fc.array(tie("expr"), { maxLength: 3 }).map((all) => `[${all.join(",")}]`),
    fc.tuple(tie("expr"), tie("expr")).map(([k, v]) => `{${k}: ${v}}`),
    tie("atom").map((a) => `has(m.${a.length > 3 ? "x" : "y"})`),
  ),
  expr: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie("atom"),
    fc
      .tuple(tie("expr"), fc.constantFrom(...OPERATORS), tie("expr"))
      .map(([l, o, r]) => `${l} ${o} ${r}`),
    fc
      .tuple(tie("atom"), fc.constantFrom(...RELATIONS), tie("atom"))
      .map(([l, o, r]) => `${l} ${o} ${r}`),
    fc
      .tuple(tie("expr"), fc.constantFrom("&&", "||"), tie("expr"))
      .map(([l, o, r]) => `${l} ${o} ${r}`),
    fc.tuple(tie("expr"), tie("expr"), tie("expr")).map(([c, y, n]) => `(${c}) ? (${y}) : ${n}`),
    // Two in a row that parser takes away, even if what is left is neither true nor false.
    fc.constantFrom("a", "b.c", "f(1)", "(1 < 2)").map((a) => `!${a}`),
    fc.constantFrom("a", "b.c", "f(1)", "(1)").map((a) => `-${a}`),
  ),
}));

test("random expressions give the same tree as with the parser of the CEL package", () => {
  let compared = 0;
  fc.assert(
    fc.property(expression.expr, (text) => {
      fc.pre(text.length < 400);
      compared += 1;
      assert.equal(normal(showNode(parsed(text))), normal(showExpr(parse(text).expr)));
    }),
    { numRuns: 600 },
  );
  assert.ok(compared > 200);
});

/** `(a && b) && c` in parentheses is a row within a row to us, and one row to them. */
function normal(text: string): string {
  let before = "";
  let after = text;
  while (before !== after) {
    before = after;
    after = flatten(after, "_&&_(");
    after = flatten(after, "_||_(");
  }
  return after;
}

function flatten(text: string, name: string): string {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    for (const start of argumentsOf(text, at + name.length)) {
      if (!text.startsWith(name, start)) continue;
      const end = closing(text, start + name.length);
      if (!/[,)]/.test(text.charAt(end + 1))) continue;
      return text.slice(0, start) + text.slice(start + name.length, end) + text.slice(end + 1);
    }
  }
  return text;
}

function argumentsOf(text: string, from: number): number[] {
  const starts = [from];
  for (const at of topLevel(text, from)) if (text.charAt(at) === ",") starts.push(at + 2);
  return starts;
}

function closing(text: string, from: number): number {
  let last = from;
  for (const at of topLevel(text, from)) last = at;
  return last;
}

/** Commas at this level, and the bracket that ends it. */
function* topLevel(text: string, from: number): Generator<number> {
  let depth = 0;
  let inText = false;
  for (let at = from; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === "\\" && inText) at += 1;
    else if (character === '"') inText = !inText;
    else if (inText) continue;
    else if (/[([{]/.test(character)) depth += 1;
    else if (/[)\]}]/.test(character)) {
      if (depth === 0) {
        yield at;
        return;
      }
      depth -= 1;
    } else if (character === "," && depth === 0) yield at;
  }
}

test("precedence is that of CEL", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["1 + 2 * 3", "_+_(1, _*_(2, 3))"],
    ["1 - 2 - 3", "_-_(_-_(1, 2), 3)"],
    ["a || b && c", "_||_(a, _&&_(b, c))"],
    ["a && b && c", "_&&_(a, b, c)"],
    ["!a.b == c", "_==_(!_(a.b), c)"],
    ["a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"],
    ["-1 - -2", "_-_(-1, -2)"],
    ["a < b == c", "_==_(_<_(a, b), c)"],
    ["x in [1] && y", "_&&_(@in(x, [1]), y)"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["a.b.c(1)[2].d", "_[_](a.b.c(1), 2).d"],
  ];
  for (const [text, tree] of cases) assert.equal(showNode(parsed(text)), tree, text);
});

test("comments and blanks count for nothing, however many there are", () => {
  assert.equal(showNode(parsed("// one\n# two\n  a // three\n && # four\n b")), "_&&_(a, b)");
  assert.equal(showNode(parsed(`a${" ".repeat(15_000)}.b`)), "a.b");
  assert.equal(
    showNode(parsed('"# no comment" + "// nor this"')),
    '_+_("# no comment", "// nor this")',
  );
});

test("strings are read in all their forms", () => {
  const cases: readonly (readonly [string, Constant])[] = [
    ["'a\\'b'", "a'b"],
    ['"\\u00e9\\U0001F600\\101\\x41"', "\u00e9\u{1F600}AA"],
    ["r'\\n'", "\\n"],
    ["'''a\nb'''", "a\nb"],
    ['R"""\\\'"""', "\\'"],
    ["b'\\xff\\377é'", Uint8Array.of(255, 255, 0xc3, 0xa9)],
    ["br'\\x'", Uint8Array.of(0x5c, 0x78)],
    ["''", ""],
  ];
  for (const [text, value] of cases) {
    const node = parsed(text);
    assert.equal(node.kind, "constant");
    assert.deepEqual(node.kind === "constant" ? node.value : null, value, text);
  }
});

test("whatever the text, the answer is a tree or a refusal with a place", () => {
  const pieces = fc.constantFrom(
    ...Array.from("()[]{}.,:?!-+*/%<>=&|'\"\\#abx019 \n_é😀"),
    "&&",
    "||",
    "==",
    "in ",
    "has(",
    ".all(x,",
    "'''",
    "true",
    "0x",
    "1.",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      try {
        parsed(parts.join(""));
      } catch (error) {
        assert.ok(error instanceof ProgramFailure, String(error));
        assert.ok(error.position.line >= 1 && error.position.column >= 1);
      }
    }),
    { numRuns: 3000 },
  );
});

test("nesting, length and number of parts are bounded", () => {
  const refused = (text: string, why: RegExp) => assert.throws(() => parsed(text), why);
  const nested = (open: string, close: string, n: number) => `${open.repeat(n)}1${close.repeat(n)}`;
  for (const [open, close] of [
    ["(", ")"],
    ["[", "]"],
    ["{1:", "}"],
    ["f(", ")"],
    ["!", ""],
    ["-", ""],
    ["a ? b : ", ""],
    ["a[", "]"],
  ] as const) {
    refused(nested(open, close, 1800), /nesting too deep: at most 64 levels/);
    refused(nested(open, close, 66), /nesting too deep: at most 64 levels/);
    parsed(nested(open, close, 63));
  }
  refused(`1${"+1".repeat(300)}`, /nesting too deep/);
  refused(`a${".b".repeat(300)}`, /nesting too deep/);
  parsed(`true${" && true".repeat(1500)}`);
  refused(`"${"x".repeat(16 * 1024)}"`, /at most 16384 bytes/);
  parsed(`[${"1,".repeat(8000)}1]`);
  refused(`[${"a+a,".repeat(4000)}1]`, /at most 10000 parts/);
});
