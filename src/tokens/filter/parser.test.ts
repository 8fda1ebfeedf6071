import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { anyExpression, printed } from "../../../tests/support/made/made-filters.ts";
import { readFilter } from "./parser.ts";

const START = "failed to create result paginator: failed to read filter expression: ";

function refusalOf(text: string): string {
  try {
    readFilter(text);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, "invalid");
    assert.equal(error.code, "invalid_parameter");
    assert.ok(error.message.startsWith(START), error.message);
    return error.message.slice(START.length);
  }
  return assert.fail(`read: ${text}`);
}

function match(selector: string[], operator: string, value = "", negated = false) {
  return { kind: "match", selector, operator, negated, value };
}

test("whatever is printed in any notation is read back as it was", () => {
  const choices = fc.infiniteStream(fc.nat());
  fc.assert(
    fc.property(anyExpression, choices, (filter, stream) => {
      const text = printed(filter, (options) => Number(stream.next().value) % options);
      fc.pre(text.length < 2000);
      assert.deepEqual(readFilter(text), filter, text);
    }),
    { numRuns: 3000 },
  );
});

test("and binds more tightly than or, and not more tightly than both", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => match([name], "equal", "1"));
  assert.deepEqual(readFilter("a==1 or b==1 and c==1"), {
    kind: "or",
    operands: [a, { kind: "and", operands: [b, c] }],
  });
  assert.deepEqual(readFilter("not a==1 and b==1"), {
    kind: "and",
    operands: [{ kind: "not", operand: a }, b],
  });
  assert.deepEqual(readFilter("not ( a==1 or b==1 )"), {
    kind: "not",
    operand: { kind: "or", operands: [a, b] },
  });
});

test("a word of the language is a name or a value where only that fits", () => {
  assert.deepEqual(readFilter("not in Policies"), match(["Policies"], "contains", "not"));
  assert.deepEqual(readFilter("any in Policies"), match(["Policies"], "contains", "any"));
  assert.deepEqual(readFilter("not == x"), match(["not"], "equal", "x"));
  assert.deepEqual(readFilter("all is not empty"), match(["all"], "empty", "", true));
  assert.deepEqual(readFilter("Name == or or Name == and"), {
    kind: "or",
    operands: [match(["Name"], "equal", "or"), match(["Name"], "equal", "and")],
  });
});

test("selectors come dotted, indexed and as pointers, and are text where a value is wanted", () => {
  for (const text of ["a.b.0 == 1", 'a["b"].0 == 1', '"/a/b/0" == 1', 'a[ `b` ]["0"] == 1']) {
    assert.deepEqual(readFilter(text), match(["a", "b", "0"], "equal", "1"), text);
  }
  assert.deepEqual(readFilter('"/a~1b/c~0d" is nil'), match(["a/b", "c~d"], "nil"));
  assert.deepEqual(readFilter("Name == a.b.0"), match(["Name"], "equal", "a.b.0"));
  assert.deepEqual(readFilter('Name == "/a/b"'), match(["Name"], "equal", "/a/b"));
  assert.deepEqual(readFilter('"/a/b" in Policies'), match(["Policies"], "contains", "/a/b"));
});

test("text in double quotes has escapes, text in backticks has none", () => {
  const values: [string, string][] = [
    ['"a\\tb\\\\"', "a\tb\\"],
    ['"\\x41\\101\\u00e9\\U0001f600"', "AA\u00e9\u{1f600}"],
    ['"\\xc3\\xa9"', "\u00e9"],
    ['`\\t"\n\r`', '\\t"\n'],
  ];
  for (const [text, value] of values) {
    assert.deepEqual(readFilter(`Name == ${text}`), match(["Name"], "equal", value), text);
  }
  for (const text of [
    '"\\q"',
    '"\\xff"',
    '"\\ud800"',
    '"\\U00110000"',
    '"a\\"',
    '"\n"',
    '"\\400"',
  ]) {
    assert.match(refusalOf(`Name == ${text}`), /^1:9 \(8\): invalid string literal/, text);
  }
  assert.match(refusalOf('Name == "a'), /^1:9 \(8\): unterminated string literal/);
  assert.match(refusalOf("Name == `a"), /^1:9 \(8\): unterminated string literal/);
});

test("a number has no leading zero and ends before a blank, a bracket or the end", () => {
  assert.deepEqual(readFilter("(CreateIndex == -0.50)"), match(["CreateIndex"], "equal", "-0.50"));
  for (const number of ["01", "1x", "1}", "1.", "1.x", "-", "-a", "1-2"]) {
    assert.match(refusalOf(`Name == ${number}`), /^1:9 \(8\): invalid number literal/, number);
  }
});

test("quantifiers stand wherever a group does", () => {
  const body = match(["p"], "equal", "x");
  const head = { kind: "quantified", list: ["Policies"] };
  const one = { ...head, every: false, position: null, element: "p", body };
  assert.deepEqual(readFilter("any Policies as p { p == x }"), one);
  assert.deepEqual(readFilter("any Policies as _,p{p==x}"), one);
  const three = readFilter("not any Policies as p {p==x} and all Policies as i , p {p==x} or p==x");
  assert.deepEqual(three, {
    kind: "or",
    operands: [
      {
        kind: "and",
        operands: [
          { kind: "not", operand: one },
          { ...head, every: true, position: "i", element: "p", body },
        ],
      },
      body,
    ],
  });
  for (const names of ["", "_", "_,_", "p,p", "p q", "p,", "1"]) {
    assert.match(refusalOf(`any Policies as ${names} { p == x }`), /^1:\d+ \(\d+\): /, names);
  }
});

test("a refusal names line, column in characters and offset in bytes", () => {
  assert.equal(
    refusalOf("NotValid"),
    '1:9 (8): no match found, expected: "==", "!=", "<", "<=", ">", ">=", "contains", "in", "is", "matches" or "not"',
  );
  assert.match(
    refusalOf("Name == \u00e9"),
    /^1:9 \(8\): no match found, expected: a field or a value$/,
  );
  assert.match(refusalOf('Name == "\u{1f600}" x'), /^1:13 \(15\): no match found/);
  assert.match(refusalOf('Name == "x" and\n Type'), /^2:6 \(21\): no match found/);
});

test("what does not follow the grammar is refused", () => {
  const wrong = [
    "",
    " ",
    "()",
    "(a==1",
    "a==1)",
    "a==1 or",
    "a==1 and or b==1",
    "a==1or b==1",
    "not",
  ];
  wrong.push(
    "(a==1)or(b==1)",
    "a is",
    "a is full",
    "a is not",
    "a not is empty",
    "a not == 1",
    "a = 1",
  );
  wrong.push(
    "a contains",
    "acontains b",
    "5 == a",
    '"x y" == a',
    "5 in 5",
    'x in "Policies"',
    "a[0] == 1",
  );
  wrong.push(
    "a. == 1",
    "a.b- == 1",
    "a == b-c",
    "__proto__ == 1",
    'a["x" == 1',
    "a == 1 b",
    "A OR B",
  );
  wrong.push(
    "any a { b == 1 }",
    "any a as b b == 1",
    "any a as b { }",
    "any a as b { b == 1 ",
    "a === 1",
  );
  wrong.push("any a as b {b is nil} c", "\u00a0a == 1", "a == 'x'", "a == \0", "a == \ud800");
  for (const text of wrong) assert.match(refusalOf(text), /^\d+:\d+ \(\d+\): \S/, text);
});

test("a filter has at most 4 KiB and nests at most 64 deep", () => {
  const long = `Name == "${"x".repeat(4096 - 10)}"`;
  assert.equal(long.length, 4096);
  readFilter(long);
  assert.match(refusalOf(`${long} `), /^1:1 \(0\): a filter has at most 4096 bytes$/);
  assert.match(refusalOf(`Name == "${"\u00e9".repeat(2048)}"`), /at most 4096 bytes$/);
  const ways: ((depth: number) => string)[] = [
    (depth) => `${"(".repeat(depth)}a==1${")".repeat(depth)}`,
    (depth) => `${"not ".repeat(depth)}a==1`,
    (depth) => `${"any a as b {".repeat(depth)}a==1 ${"}".repeat(depth)}`,
  ];
  for (const nested of ways) {
    readFilter(nested(64));
    assert.match(refusalOf(nested(65)), /a filter nests at most 64 deep$/);
    refusalOf(nested(300));
  }
});

test("50,000 damaged filters are read or refused, and nothing else", () => {
  const pieces = [
    "(",
    ")",
    "{",
    "}",
    '"',
    "`",
    "\\",
    ".",
    "[",
    "]",
    " ",
    "\n",
    "not ",
    " or ",
    " and ",
  ];
  pieces.push(
    " in ",
    "any ",
    " as ",
    "==",
    "!=",
    "<",
    "is",
    "-",
    "0",
    "_",
    ",",
    "\u00e9",
    "\ud800",
    "\0",
    "/",
  );
  const choices = fc.infiniteStream(fc.nat());
  const cut = fc.record({
    at: fc.nat(),
    length: fc.nat({ max: 3 }),
    put: fc.constantFrom("", ...pieces),
  });
  let refused = 0;
  const property = fc.property(
    anyExpression,
    choices,
    fc.array(fc.array(cut, { minLength: 1, maxLength: 4 }), { minLength: 50, maxLength: 50 }),
    (filter, stream, damages) => {
      const right = printed(filter, (options) => Number(stream.next().value) % options);
      for (const cuts of damages) {
        const text = cuts.reduce((damaged, { at, length, put }) => {
          const from = at % (damaged.length + 1);
          return damaged.slice(0, from) + put + damaged.slice(from + length);
        }, right);
        try {
          readFilter(text);
        } catch (error) {
          assert.ok(error instanceof Failure && error.code === "invalid_parameter", text);
          refused += 1;
        }
      }
    },
  );
  fc.assert(property, { numRuns: 1000 });
  assert.ok(refused > 10_000, `${refused} of 50,000 were refused`);
});
