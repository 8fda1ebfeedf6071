// The JSON notation: strictness, exact numbers, positions, and agreement with JSON.parse on what both
// accept.

import assert from "node:assert/strict";
import { takesAtMost } from "../../tests/support/processor-time.ts";
import test from "node:test";
import fc from "fast-check";
import { DocumentFailure } from "./document-failure.ts";
import type { Body, Value } from "./hcl-node.ts";
import { parseJson } from "./json-document.ts";
import { POLICY_LIMITS, SourceText } from "./source-text.ts";

function parse(text: string): Body {
  return parseJson(new SourceText(text));
}

function refusal(text: string): string {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof DocumentFailure, String(error));
    return error.message;
  }
  return assert.fail("it was accepted");
}

/** What JSON.parse would have made of it, with numbers as JavaScript has them. */
function plain(value: Value): unknown {
  switch (value.kind) {
    case "string":
      return value.text;
    case "number":
      return Number(value.text);
    case "bool":
      return value.value;
    case "list":
      return value.elements.map(plain);
    case "object":
      return plainBody(value.body);
  }
}

function plainBody(body: Body): unknown {
  return Object.fromEntries(
    body.items.map((item) => {
      assert.ok(item.kind === "attribute" && item.key.quoted);
      return [item.key.text, plain(item.value)];
    }),
  );
}

const accepted: readonly string[] = [
  "{}",
  " \t\r\n{ }\n",
  '{"path":{"secret/*":{"capabilities":["read","list"]}}}',
  '{"a":[1,-0,0.5,1e6,1E+6,-1.5e-3,true,false,"",[],{}]}',
  String.raw`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`,
  '{"":{"":{"":""}}}',
  '{"__proto__":1,"constructor":2}',
  '{"a":"# // /* ${ <<EOF é😀\u2028"}',
  '{"a":1,"A":2}',
];
for (const text of accepted) {
  test(`JSON ${JSON.stringify(text)} is accepted`, () => {
    assert.deepEqual(plainBody(parse(text)), JSON.parse(text));
  });
}

const VALUE = 'expected a value: ", a number, true, false, [ or {';
const NO_NUMBER =
  "this is no number; accepted are such as 10, -2.5 and 1e6, without zeros in front";
const NOT_CLOSED = 'text is not closed: expected ", and tabs and line breaks as \\t and \\n';
const ESCAPE = String.raw`unknown escape; accepted are \" \\ \/ \b \f \n \r \t \uXXXX`;
const NO_CHARACTER = "the escape writes no character: NUL and unpaired surrogates are not accepted";

const refused: readonly [text: string, message: string][] = [
  ["", "At 1:1: expected { at the beginning of the document"],
  ["[]", "At 1:1: expected { at the beginning of the document"],
  ['"a"', "At 1:1: expected { at the beginning of the document"],
  ["{} {}", "At 1:4: expected the end of the document"],
  [
    "{}\n\0",
    "At 2:1: control character U+0000 is not accepted; of these only tab and line breaks are",
  ],
  ["{", "At 1:2: expected a key in double quotes"],
  ["{a:1}", "At 1:2: expected a key in double quotes"],
  ["{'a':1}", "At 1:2: expected a key in double quotes"],
  ["{,}", "At 1:2: expected a key in double quotes"],
  ['{"a":1,}', "At 1:8: expected a key in double quotes"],
  ["{// no\n}", "At 1:2: expected a key in double quotes"],
  ['{"a"}', "At 1:5: expected : after the key"],
  ['{"a"=1}', "At 1:5: expected : after the key"],
  ['{"a":}', `At 1:6: ${VALUE}`],
  ['{"a":', `At 1:6: ${VALUE}`],
  ['{"a":[1,]}', `At 1:9: ${VALUE}`],
  ['{"a":nul}', `At 1:6: ${VALUE}`],
  ['{"a":True}', `At 1:6: ${VALUE}`],
  ['{"a":NaN}', `At 1:6: ${VALUE}`],
  ['{"a":+1}', `At 1:6: ${VALUE}`],
  ['{"a":.5}', `At 1:6: ${VALUE}`],
  ['{"a":1 "b":2}', "At 1:8: expected a comma or }"],
  ['{"a":1', "At 1:7: expected a comma or }"],
  ['{"a":[1 2]}', "At 1:9: expected a comma or ]"],
  ['{"a":truely}', "At 1:10: expected a comma or }"],
  ['{"a":0x1f}', "At 1:7: expected a comma or }"],
  ['{"a":null}', "At 1:6: null is not accepted; leave the key or the element out"],
  ['{"a":[null]}', "At 1:7: null is not accepted; leave the key or the element out"],
  ...["01", "-", "-01", "1.", "1.e5", "1e", "1e+", "00"].map((number): [string, string] => [
    `{"a":${number}}`,
    `At 1:6: ${NO_NUMBER}`,
  ]),
  ['{"a":"x', `At 1:6: ${NOT_CLOSED}`],
  ['{"a":"x\n"}', `At 1:6: ${NOT_CLOSED}`],
  ['{"a":"x\ty"}', `At 1:6: ${NOT_CLOSED}`],
  ['{"a', `At 1:2: ${NOT_CLOSED}`],
  ...["\\x41", "\\a", "\\u12", "\\u12g4", "\\U0001F600", "\\'", "\\0"].map(
    (escape): [string, string] => [`{"a":"x${escape}"}`, `At 1:8: ${ESCAPE}`],
  ),
  ...[
    "\\u0000",
    "\\ud83d",
    "\\ude00",
    "\\ud83dx",
    "\\ud83d\\u0041",
    "\\ud83d\\n",
    "\\ude00\\ud83d",
  ].map((escape): [string, string] => [`{"a":"x${escape}"}`, `At 1:8: ${NO_CHARACTER}`]),
  [
    '{"a":"\ud83d"}',
    "At 1:7: an unpaired surrogate is no character; the text must be valid Unicode",
  ],
  ['{"a":1,\n "b":2,\n "a":3}', 'At 3:2: attribute "a" was already set on line 1'],
  ['{"a":1,"\\u0061":2}', 'At 1:8: attribute "a" was already set on line 1'],
  ['{"x":{"a":1,"a":1}}', 'At 1:13: attribute "a" was already set on line 1'],
];
for (const [text, message] of refused) {
  test(`JSON ${JSON.stringify(text)} is refused`, () => {
    assert.equal(refusal(text), message);
  });
}

test("numbers keep their exact text", () => {
  const numbers = ["123456789012345678901234567890", "1.0", "-0", "1E400", "0.1000"];
  const [item] = parse(`{"a":[${numbers.join(", ")}]}`).items;
  assert.ok(item?.kind === "attribute" && item.value.kind === "list");
  const read = item.value.elements.map((value) => (value.kind === "number" ? value.text : null));
  assert.deepEqual(read, numbers);
});

test("every node knows its position", () => {
  const [item] = parse('\ufeff{\r\n  "😀": [true, {"b": -1}]\n}').items;
  assert.ok(item?.kind === "attribute" && item.value.kind === "list");
  assert.deepEqual(item.key.position, { line: 2, column: 3, offset: 6 });
  assert.deepEqual(item.value.position, { line: 2, column: 8, offset: 12 });
  const [bool, object] = item.value.elements;
  assert.deepEqual(bool?.position, { line: 2, column: 9, offset: 13 });
  assert.ok(object?.kind === "object");
  assert.deepEqual(object.position, { line: 2, column: 15, offset: 19 });
  const [inner] = object.body.items;
  assert.ok(inner?.kind === "attribute");
  assert.deepEqual(inner.value.position, { line: 2, column: 21, offset: 25 });
});

test("100 levels are accepted and 101 are refused, of objects, lists and both", () => {
  const nest = (opening: string, closing: string, levels: number) =>
    `{"a":${opening.repeat(levels - 1)}1${closing.repeat(levels - 1)}}`;
  for (const [opening, closing] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    parse(nest(opening, closing, 100));
    assert.match(
      refusal(nest(opening, closing, 101)),
      /^At 1:\d+: nesting too deep: at most 100 levels are accepted$/,
    );
  }
  assert.match(refusal(`{"a":${"[".repeat(200_000)}`), /^At 1:105: nesting too deep/);
});

test("what is written by JSON.stringify is read as it was", () => {
  const numbers = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const strings = fc.string({ unit: "binary" }).filter((text) => !text.includes("\0"));
  const { object } = fc.letrec<{ value: unknown; object: object }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      strings,
      numbers,
      fc.boolean(),
      fc.array(tie("value"), { maxLength: 4 }),
      tie("object"),
    ),
    object: fc.dictionary(strings, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  }));
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.deepEqual(plainBody(parse(text)), JSON.parse(text));
    }),
    { numRuns: 2_000 },
  );
});

test("whatever is accepted, JSON.parse accepts too", () => {
  const bits = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    '"a"',
    "1",
    "-",
    ".",
    "e",
    "0",
    "true",
    "\\",
    "\\u0041",
    " ",
    "\n",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...bits), { maxLength: 12 }), (parts) => {
      for (const text of [parts.join(""), `{"a":${parts.join("")}}`]) {
        let body: Body;
        try {
          body = parse(text);
        } catch (error) {
          assert.ok(error instanceof DocumentFailure, String(error));
          continue;
        }
        assert.deepEqual(plainBody(body), JSON.parse(text));
      }
    }),
    { numRuns: 5_000 },
  );
});

const bombs: readonly [name: string, text: string][] = [
  ["elements", `{"a":[${"1,".repeat(POLICY_LIMITS.bytes / 2 - 8)}1]}`],
  ["keys", `{${Array.from({ length: 24_000 }, (_, i) => `"${i}":1`).join(",")}}`],
  ["escapes", `{"a":"${"\\n".repeat(POLICY_LIMITS.bytes / 2 - 8)}"}`],
  ["openings of text", '{"'.repeat(POLICY_LIMITS.bytes / 2)],
];
for (const [name, text] of bombs) {
  test(`a document full of ${name} is read or refused in under 150 ms`, () => {
    takesAtMost(150, () => {
      try {
        parse(text);
      } catch (error) {
        assert.ok(error instanceof DocumentFailure, String(error));
      }
    });
  });
}
