// Documents of every kind, told apart by how they begin.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isProgramJson, notationOf, type PolicyNotation } from "./notation.ts";

const documents: readonly [PolicyNotation, string][] = [
  ["hcl", 'path "secret/*" { capabilities = ["read"] }'],
  ["hcl", '\ufeff# path rules\n/* main { } */ // rule x {}\npath"a"{}'],
  ["hcl", 'name = "x"'],
  ["hcl", "typo { }"],
  ["hcl", ""],
  ["hcl", "# nothing but a comment"],
  ["json", ' \n{"path": {}}'],
  ["rules", "# why\nrule office { true }\nmain { rule.office }"],
  ["rules", "main when request.unauthenticated { true }"],
  ["rules", "main{true}"],
  ["rules", 'test "x" { want = true }\nmain { true }'],
  ["expression", 'request.path.startsWith("secret/")'],
  ["expression", 'path_match("a/+", request.path)'],
  ["expression", "// why\n!request.unauthenticated"],
  ["expression", 'namespace.path == ""'],
  ["expression", "(true)"],
];
for (const [notation, text] of documents) {
  test(`${JSON.stringify(text)} is ${notation}`, () => assert.equal(notationOf(text), notation));
}

test("JSON is a program by its expression, and an ACL document by its paths", () => {
  assert.ok(isProgramJson('{"when": "true", "expression": "true"}'));
  assert.ok(!isProgramJson('{"path": {"a": {"capabilities": ["read"]}}}'));
  assert.ok(
    !isProgramJson('{"path": {"a": {"comment": "\\"expression\\" :", "expression": "x"}}}'),
  );
});
