// Cases for ACL documents: how they are written, what they are asked, and what is said of each.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readAclCases, runAclCases } from "./cases.ts";
import { parseAclDocument } from "./document.ts";
import { DocumentFailure } from "../document/document-failure.ts";

const NOW = 1_800_000_000_000_000_000n;

function outcomes(cases: string, ...documents: string[]) {
  const named = documents.map((text, i) => ({
    name: `${i}.hcl`,
    document: parseAclDocument(text),
  }));
  return runAclCases(named, readAclCases(cases), NOW);
}

function verdicts(cases: string, ...documents: string[]): boolean[] {
  return outcomes(cases, ...documents).map(({ got }) => got);
}

const READONLY = 'path "secret/*" { capabilities = ["read"] }';

test("a case says what was decided, by which rule, and where both stand", () => {
  const cases = `test "reads" { path = "secret/a" operation = "read" want = true }

test "writes" {
  path      = "/v1/secret/a"
  operation = "update"
  want      = true
}
test "elsewhere" { path = "other" operation = "read" want = false }`;
  assert.deepEqual(outcomes(cases, `\n${READONLY}`), [
    {
      name: "reads",
      line: 1,
      want: true,
      got: true,
      passed: true,
      because: '"secret/*" of policy "0.hcl" on line 2, column 1 grants read',
    },
    {
      name: "writes",
      line: 3,
      want: true,
      got: false,
      passed: false,
      because: '"secret/*" of policy "0.hcl" on line 2, column 1 grants read, but not update',
    },
    {
      name: "elsewhere",
      line: 8,
      want: false,
      got: false,
      passed: true,
      because: 'no rule matches "other"',
    },
  ]);
});

test("documents count together, as on one token", () => {
  const ask = 'test "x" { path = "secret/a" operation = "read" want = true }';
  assert.deepEqual(verdicts(ask, READONLY), [true]);
  assert.deepEqual(verdicts(ask, READONLY, 'path "secret/*" { policy = "deny" }'), [false]);
  assert.deepEqual(verdicts(ask), [false]);
});

test("parameters, wrapping, sudo and the end of a rule count", () => {
  const document = `
path "a" { capabilities = ["update"] allowed_parameters = { "ttl" = ["1h", 2], "*" = [] } }
path "b" { capabilities = ["read"] min_wrapping_ttl = "1m" }
path "c" { capabilities = ["delete", "sudo"] }
path "d" { capabilities = ["delete"] }
path "e" { capabilities = ["read"] expiration = "2020-01-01T00:00:00Z" }`;
  const cases = `
test "1" { path = "a" operation = "update" parameters = { ttl = "1h" } want = true }
test "2" { path = "a" operation = "update" parameters = { ttl = 2.0, x = [true, { y = "z" }] } want = true }
test "3" { path = "a" operation = "update" parameters = { ttl = "3h" } want = false }
test "4" { path = "b" operation = "read" wrap_ttl = "90s" want = true }
test "5" { path = "b" operation = "read" wrap_ttl = 30 want = false }
test "6" { path = "b" operation = "read" want = false }
test "7" { path = "c" operation = "delete" sudo = true want = true }
test "8" { path = "d" operation = "delete" sudo = true want = false }
test "9" { path = "e" operation = "read" want = false }`;
  for (const { name, passed } of outcomes(cases, document)) assert.ok(passed, name);
});

test("JSON says the same, by names or as a list where one comes twice", () => {
  const one = '{"path": "secret/a", "operation": "read", "want": true}';
  assert.deepEqual(verdicts(`{"test": {"x": ${one}, "y": ${one}}}`, READONLY), [true, true]);
  assert.deepEqual(verdicts(`{"test": [{"x": ${one}}, {"x": ${one}}]}`, READONLY), [true, true]);
});

const refused: readonly [text: string, message: string][] = [
  ['path "a" {}', 'At 1:1: invalid key "path"; cases are test "…" { … }'],
  ['test "x" { operation = "read" want = true }', "At 1:1: a test needs path"],
  ['test "x" { path = "a" want = true }', "At 1:1: a test needs operation"],
  ['test "x" { path = "a" operation = "read" }', "At 1:1: a test needs want"],
  ['test "x" { path = 1 }', "At 1:19: path takes text in double quotes"],
  [
    'test "x" { path = "a" operation = "write" want = true }',
    "At 1:35: operation must be one of create, delete, list, patch, read, scan, update",
  ],
  [
    'test "x" { path = "a" operation = "read" want = "true" }',
    "At 1:49: want must be true or false",
  ],
  [
    'test "x" { path = "a" operation = "read" wrap_ttl = "soon" want = true }',
    'At 1:53: wrap_ttl takes seconds or a duration such as "90s"',
  ],
  [
    'test "x" { path = "a" operation = "read" parameters = 1 want = true }',
    "At 1:55: parameters takes an object",
  ],
  [
    'test "x" { pth = "a" }',
    'At 1:12: invalid key "pth"; accepted: path, operation, parameters, wrap_ttl, sudo, want',
  ],
];
for (const [text, message] of refused) {
  test(`refused: ${text}`, () => {
    assert.throws(
      () => readAclCases(text),
      (error) => error instanceof DocumentFailure && error.message === message,
      message,
    );
  });
}
