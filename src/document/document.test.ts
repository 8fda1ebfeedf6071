// One tree from two notations: which notation a text is in, which keys are blocks, and what does not
// fit the shape.

import assert from "node:assert/strict";
import test from "node:test";
import { parseDocument } from "./document.ts";
import { DocumentFailure } from "./document-failure.ts";
import { type BodyShape, NO_BLOCKS } from "./document-shape.ts";
import type { Body, Value } from "./hcl-node.ts";
import { SourceText } from "./source-text.ts";

const SHAPE: BodyShape = new Map([
  ["path", { labels: 1, body: NO_BLOCKS }],
  ["audit", { labels: 2, body: new Map([["options", { labels: 0, body: NO_BLOCKS }]]) }],
  ["storage", { labels: 1, body: new Map([["retry_join", { labels: 0, body: NO_BLOCKS }]]) }],
  ["telemetry", { labels: 0, body: NO_BLOCKS }],
]);

function parse(text: string): Body {
  return parseDocument(new SourceText(text), SHAPE);
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

/** Without positions and quotes of keys, which the notations do not share. */
function plain(body: Body): unknown[] {
  return body.items.map((item) =>
    item.kind === "block"
      ? {
          block: item.type.text,
          labels: item.labels.map(({ text }) => text),
          body: plain(item.body),
        }
      : { key: item.key.text, value: plainValue(item.value) },
  );
}

function plainValue(value: Value): unknown {
  if (value.kind === "object") return plain(value.body);
  if (value.kind === "list") return value.elements.map(plainValue);
  return value.kind === "bool" ? value.value : { [value.kind]: value.text };
}

const pairs: readonly [name: string, hcl: string, json: string][] = [
  ["an empty document", "", "{}"],
  [
    "a policy of every kind of rule",
    `path "secret/data/app/*" {
       capabilities        = ["read", "list"]
       required_parameters = ["reason"]
       allowed_parameters  = { "ttl" = ["1h", "2h"], "*" = [] }
       denied_parameters   = { "force" = [] }
       min_wrapping_ttl    = "1s"
       max_wrapping_ttl    = 600
     }`,
    `{"path": {"secret/data/app/*": {
       "capabilities": ["read", "list"],
       "required_parameters": ["reason"],
       "allowed_parameters": {"ttl": ["1h", "2h"], "*": []},
       "denied_parameters": {"force": []},
       "min_wrapping_ttl": "1s",
       "max_wrapping_ttl": 600
     }}}`,
  ],
  ["several paths", 'path "a" {} path "b" {}', '{"path": {"a": {}, "b": {}}}'],
  [
    "one path twice",
    'path "a" { x = 1 } path "a" { x = 2 }',
    '{"path": [{"a": {"x": 1}}, {"a": {"x": 2}}]}',
  ],
  ["a list below the label", 'path "a" { x = 1 } path "a" {}', '{"path": {"a": [{"x": 1}, {}]}}'],
  ["no paths in an empty list", "", '{"path": []}'],
  [
    "two labels",
    'audit "file" "one" { options { a = 1 } } audit "file" "two" {}',
    '{"audit": {"file": {"one": {"options": {"a": 1}}, "two": {}}}}',
  ],
  [
    "blocks without labels, repeated",
    'storage "raft" { retry_join { a = 1 } retry_join { a = 2 } }',
    '{"storage": {"raft": {"retry_join": [{"a": 1}, {"a": 2}]}}}',
  ],
  [
    "a block without labels given as an attribute",
    "telemetry = { a = 1 }",
    '{"telemetry": {"a": 1}}',
  ],
  [
    "a body where the shape has an attribute",
    'path "a" { p { b = [] } }',
    '{"path": {"a": {"p": {"b": []}}}}',
  ],
  ["bodies in values, at any depth", "x = [{ y { z { } } }]", '{"x": [{"y": {"z": {}}}]}'],
  ["block types as keys of values", "x = { path = { a = 1 } }", '{"x": {"path": {"a": 1}}}'],
  [
    "keys that objects inherit",
    "constructor = 1 __proto__ = 2",
    '{"constructor": 1, "__proto__": 2}',
  ],
];
for (const [name, hcl, json] of pairs) {
  test(`HCL and JSON give the same tree: ${name}`, () => {
    assert.deepEqual(plain(parse(hcl)), plain(parse(json)));
  });
}

test("a block of the shape is a block, and any other body an attribute", () => {
  assert.deepEqual(plain(parse('telemetry {} other {} path "a" { telemetry {} }')), [
    { block: "telemetry", labels: [], body: [] },
    { key: "other", value: [] },
    { block: "path", labels: ["a"], body: [{ key: "telemetry", value: [] }] },
  ]);
});

test("a block with labels that the shape does not know is left for the reader to refuse", () => {
  assert.deepEqual(plain(parse('x = { factor "ops" { a { } } }\nnope "b" {}')), [
    {
      key: "x",
      value: [{ block: "factor", labels: ["ops"], body: [{ block: "a", labels: [], body: [] }] }],
    },
    { block: "nope", labels: ["b"], body: [] },
  ]);
});

test("blanks and a BOM before the brace do not hide that a text is JSON", () => {
  assert.deepEqual(plain(parse('\ufeff\r\n\t {"a": 1}')), [{ key: "a", value: { number: "1" } }]);
});

test("a comment before the brace makes it HCL, where no document begins with a brace", () => {
  assert.equal(refusal("# x\n{}"), "At 2:1: expected a key or the end of the document, found {");
});

test("a block from JSON is placed at its innermost label", () => {
  const [first, second] = parse('{"audit": {"file": {\n  "one": {},\n  "two": {}}}}').items;
  assert.deepEqual(first?.position, { line: 2, column: 3, offset: 23 });
  assert.deepEqual(second?.position, { line: 3, column: 3, offset: 36 });
  assert.ok(second?.kind === "block");
  assert.deepEqual(second.type.position, { line: 1, column: 2, offset: 1 });
  assert.deepEqual(second.labels[0]?.position, { line: 1, column: 12, offset: 11 });
});

const ONE = '"path" is a block with 1 label: expected path "…" { … }';
const refused: readonly [text: string, message: string][] = [
  ["path {}", `At 1:1: ${ONE}`],
  ['path "a" "b" {}', `At 1:1: ${ONE}`],
  ['path = { "a" = {} }', `At 1:1: ${ONE}`],
  ['path = "a"', `At 1:1: ${ONE}`],
  ['audit "file" {}', 'At 1:1: "audit" is a block with 2 labels: expected audit "…" "…" { … }'],
  ['telemetry "x" {}', 'At 1:1: "telemetry" is a block with no labels: expected telemetry { … }'],
  ["telemetry = 1", 'At 1:13: "telemetry" takes an object, or a list of such objects'],
  ["telemetry = [{}, 1]", 'At 1:18: "telemetry" takes an object, or a list of such objects'],
  ["telemetry = [[{}]]", 'At 1:14: "telemetry" takes an object, or a list of such objects'],
  [
    '{"path": "a"}',
    'At 1:10: "path" takes an object with labels as its keys, or a list of such objects',
  ],
  [
    '{"path": ["a"]}',
    'At 1:11: "path" takes an object with labels as its keys, or a list of such objects',
  ],
  ['{"path": {"a": 1}}', 'At 1:16: "path" takes an object, or a list of such objects'],
  [
    '{"audit": {"file": []}, "path": {"a": [true]}}',
    'At 1:40: "path" takes an object, or a list of such objects',
  ],
  ["x { a = 1 }\nx { b = 2 }", 'At 2:1: attribute "x" was already set on line 1'],
  ['path "a" {\n  x {}\n  x {}\n}', 'At 3:3: attribute "x" was already set on line 2'],
];
for (const [text, message] of refused) {
  test(`${JSON.stringify(text)} does not fit the shape`, () => {
    assert.equal(refusal(text), message);
  });
}

test("10,000 blocks are accepted and 10,001 refused, in JSON too", () => {
  const paths = (count: number) =>
    `{"path": {\n${Array.from({ length: count }, (_, i) => `"${i}": {}`).join(",\n")}\n}}`;
  assert.equal(parse(paths(10_000)).items.length, 10_000);
  assert.equal(
    refusal(paths(10_001)),
    "At 10002:1: policy is too large: at most 10000 blocks are accepted",
  );
  const list = `{"path": {"a": [${"{},".repeat(10_000)}{}]}}`;
  assert.match(refusal(list), /policy is too large: at most 10000 blocks/);
});
