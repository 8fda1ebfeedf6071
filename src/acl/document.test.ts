// What an ACL policy document may say, what is refused and in which words, and what is warned of.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { processorTime } from "../../tests/support/processor-time.ts";
import { wordsOf } from "./capability.ts";
import { CompiledAcl } from "./compile.ts";
import { decide } from "./decide.ts";
import { type AclDocument, parseAclDocument } from "./document.ts";
import { PolicyFailure } from "./failure.ts";
import { policyName } from "@holdfast/shared/text/policy-name";

function refusal(text: string): PolicyFailure {
  try {
    parseAclDocument(text);
  } catch (error) {
    assert.ok(error instanceof PolicyFailure, String(error));
    assert.equal(error.kind, "invalid");
    return error;
  }
  return assert.fail("it was accepted");
}

/** Without places, which the notations do not share. */
function plain({ rules, templated }: AclDocument): unknown {
  return { templated, rules: rules.map((rule) => ({ ...rule, position: null })) };
}

test("the same document in HCL and in JSON gives the same rules", () => {
  const hcl = `
    name = "app"
    path "secret/data/app/*" {
      capabilities        = ["read", "list"]
      required_parameters = ["Reason"]
      allowed_parameters  = { "ttl" = ["1h", 2, true], "*" = [] }
      denied_parameters   = { "force" = [] }
      min_wrapping_ttl    = "1s"
      max_wrapping_ttl    = 600
      expiration          = "2030-01-01T00:00:00Z"
      comment             = "why"
    }
    path "b/{{token.name}}" { policy = "write" }`;
  const json = `{"name": "app", "path": {
    "secret/data/app/*": {
      "capabilities": ["read", "list"], "required_parameters": ["Reason"],
      "allowed_parameters": {"ttl": ["1h", 2.0, true], "*": []},
      "denied_parameters": {"force": []},
      "min_wrapping_ttl": "1s", "max_wrapping_ttl": 600,
      "expiration": "2030-01-01T00:00:00Z", "comment": "why"},
    "b/{{token.name}}": {"policy": "write"}}}`;
  const read = parseAclDocument(hcl);
  assert.deepEqual(plain(read), plain(parseAclDocument(json)));
  const [first, second] = read.rules;
  assert.deepEqual(wordsOf(first?.capabilities ?? 0), ["list", "read"]);
  assert.deepEqual(first?.wrapping, { min: 1_000_000_000n, max: 600_000_000_000n });
  assert.equal(first?.expires, 1_893_456_000_000_000_000n);
  assert.equal(first?.position.line, 3);
  assert.deepEqual(wordsOf(second?.capabilities ?? 0), [
    "create",
    "delete",
    "list",
    "read",
    "update",
  ]);
  assert.equal(read.templated, true);
});

const P = "failed to parse policy: ";
const refused: readonly [name: string, text: string, message: string][] = [
  [
    "80: every unknown key at top level",
    'name = "t"\nbad = "x"\nnope = "y"',
    `${P}2 errors occurred:\n\t* invalid key "bad" on line 2, column 1\n\t* invalid key "nope" on line 3, column 1\n\n`,
  ],
  [
    "80: one unknown key at top level",
    'path "a" {}\n  bad "x" {}',
    `${P}1 error occurred:\n\t* invalid key "bad" on line 2, column 3\n\n`,
  ],
  [
    "81: a misspelt key in a body",
    'path "secret/x" {\n\n  capabilites = []\n}',
    `${P}path "secret/x": invalid key "capabilites" on line 3, column 3`,
  ],
  [
    "82: wildcards",
    'path "foo/+*" {}',
    `${P}path "foo/+*": invalid use of wildcards ('+*' is forbidden) on line 1, column 6`,
  ],
  [
    "T-A10: an unknown capability",
    'path "/" {\n  capabilities = ["read", "banana"]\n}',
    `${P}path "/": invalid capability "banana"; accepted are create, delete, list, patch, read, scan, sudo, update, deny; on line 2, column 27`,
  ],
  [
    "recover and subscribe are no capabilities here",
    'path "a" { capabilities = ["subscribe"] }',
    `${P}path "a": invalid capability "subscribe"; accepted are create, delete, list, patch, read, scan, sudo, update, deny; on line 1, column 28`,
  ],
  [
    "an unknown shorthand",
    'path "/" { policy = "banana" }',
    `${P}path "/": invalid policy "banana"; accepted are deny, read, write, sudo; on line 1, column 21`,
  ],
  [
    "T-A10: an empty path",
    'path "a" {}\npath "" { capabilities = ["read"] }',
    `${P}path "": a path must not be empty on line 2, column 6`,
  ],
  [
    "T-A10: a block without a label",
    "path { }",
    `${P}At 1:1: "path" is a block with 1 label: expected path "…" { … }`,
  ],
  [
    "T-A10: a duplicate key",
    'path "a" {\n\n  capabilities = ["read"]\n  capabilities = ["deny"]\n}',
    `${P}At 4:3: attribute "capabilities" was already set on line 3`,
  ],
  [
    "a control that is not enforced",
    'path "x" { control_group = {} }',
    `${P}path "x": "control_group" is not supported by this server on line 1, column 12`,
  ],
  [
    "as a block with a label",
    'path "x" { mfa_methods "a" {} }',
    `${P}path "x": "mfa_methods" is not supported by this server on line 1, column 12`,
  ],
  [
    "a bad duration",
    'path "x" { min_wrapping_ttl = "1 s" }',
    `${P}path "x": error parsing min_wrapping_ttl: time: unknown unit " s" in duration "1 s"; accepted is a whole number of seconds or text such as "90s" or "1h30m", on line 1, column 31`,
  ],
  [
    "max below min",
    'path "x" { min_wrapping_ttl = 10 max_wrapping_ttl = "5s" }',
    `${P}path "x": max_wrapping_ttl cannot be less than min_wrapping_ttl on line 1, column 1`,
  ],
  [
    "templating that does not close",
    'path "x/{{token.name" {}',
    `${P}failed to validate policy templating: unbalanced templating characters in path "x/{{token.name" on line 1, column 6`,
  ],
  [
    "templating that does not open",
    'path "x/token.name}}" {}',
    `${P}failed to validate policy templating: unbalanced templating characters in path "x/token.name}}" on line 1, column 6`,
  ],
  [
    "a syntax error",
    'path "a" {',
    `${P}At 1:11: expected a key or the } for the { on line 1, found the end of the document`,
  ],
  [
    "capabilities that are no list",
    'path "a" { capabilities = "read" }',
    `${P}path "a": capabilities must be a list of strings on line 1, column 27`,
  ],
  [
    "a capability that is no text",
    'path "a" { capabilities = ["read", 1] }',
    `${P}path "a": capabilities must be a list of strings on line 1, column 36`,
  ],
  [
    "parameters that are no object",
    'path "a" { allowed_parameters = ["x"] }',
    `${P}path "a": allowed_parameters must be an object of parameter names, each with a list of values on line 1, column 33`,
  ],
  [
    "a parameter without a list",
    'path "a" { denied_parameters = { x = "y" } }',
    `${P}path "a": denied_parameters must be an object of parameter names, each with a list of values on line 1, column 34`,
  ],
  [
    "an expiration that is no time",
    'path "a" { expiration = "tomorrow" }',
    `${P}path "a": expiration must be a time such as "2030-01-01T00:00:00Z" on line 1, column 25`,
  ],
  [
    "an expiration that is not set",
    'path "a" { expiration = "" }',
    `${P}path "a": expiration must be a time such as "2030-01-01T00:00:00Z" on line 1, column 25`,
  ],
  [
    "a name that is no text",
    "name = 5",
    `${P}1 error occurred:\n\t* invalid key "name" on line 1, column 1\n\n`,
  ],
];
for (const [name, text, message] of refused) {
  test(`${name} is refused`, () => {
    const failure = refusal(text);
    assert.equal(failure.message, message);
    assert.ok(failure.position !== null);
  });
}

test("a document of more than 256 KiB is refused", () => {
  assert.match(
    refusal(`# ${"x".repeat(256 * 1024)}`).message,
    /^failed to parse policy: policy is too large/,
  );
});

test("a body without capabilities is legal and grants nothing", () => {
  const [rule] = parseAclDocument('path "a" {}').rules;
  assert.equal(rule?.capabilities, 0);
});

const warned: readonly [name: string, text: string, warning: RegExp][] = [
  [
    "a star in the middle",
    'path "a/*/b" {}',
    /^path "a\/\*\/b" on line 1: a \* that is not the last/,
  ],
  ["a plus inside a segment", 'path "a/b+" {}', /a \+ inside a longer segment is taken literally/],
  ["sudo alone", 'path "a" { capabilities = ["sudo"] }', /sudo grants nothing alone/],
  [
    "one path twice",
    'path "a" {}\npath "/a" {}',
    /on line 2: this path was already given on line 1/,
  ],
  ["one path twice on one line", 'path "a" {} path "a" {}', /was already given on line 1/],
  [
    "a directive of identities",
    'path "a/{{identity.entity.id}}" {}',
    /\{\{identity\.entity\.id\}\} has no value/,
  ],
  [
    "a rule under a stronger one",
    'path "s/*" {} path "s/+/x-*" {}',
    /"s\/\*" matches the same paths/,
  ],
  [
    "a rule under a stronger one that has a + itself",
    'path "s/+/*" {} path "s/+/+/x-*" {}',
    /it never decides: "s\/\+\/\*" matches the same paths/,
  ],
  [
    "a longest wrapping below a second",
    'path "a" { min_wrapping_ttl = "100ms" max_wrapping_ttl = "999ms" }',
    /no request meets its max_wrapping_ttl: answers are wrapped for at least 1s/,
  ],
  [
    "a shortest wrapping below a second",
    'path "a" { min_wrapping_ttl = "500ms" max_wrapping_ttl = "1s" }',
    /its min_wrapping_ttl counts as 1s/,
  ],
];
for (const [name, text, warning] of warned) {
  test(`${name} is accepted with a warning`, () => {
    const { warnings } = parseAclDocument(text);
    assert.equal(warnings.length, 1, warnings.join("\n"));
    assert.match(warnings[0] ?? "", warning);
  });
}

test("what is meant gives no warning", () => {
  const text = 'path "a/*" { capabilities = ["read"] } path "a/+/b" {} path "{{token.name}}/x" {}';
  assert.deepEqual(parseAclDocument(text).warnings, []);
});

test("a rule that is told to decide nowhere does not, whatever the path", () => {
  const part = fc.constantFrom("a", "ab", "+");
  const label = fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.constantFrom("*", "/*", ""))
    .map(([parts, end]) => parts.join("/") + end)
    .filter((text) => !text.includes("+*"));
  const paths = fc.array(fc.array(fc.constantFrom("a", "ab", "b"), { minLength: 1, maxLength: 5 }));
  fc.assert(
    fc.property(fc.uniqueArray(label, { maxLength: 5 }), paths, (labels, questionPaths) => {
      const text = labels.map((of) => `path "${of}" { policy = "read" }`).join("\n");
      const document = parseAclDocument(text);
      const warnings = document.warnings.filter((warning) => warning.includes("never decides"));
      const idle = new Set(warnings.map((warning) => Number(/ on line (\d+):/.exec(warning)?.[1])));
      const policy = { name: "p", namespaceId: "root", document, written: 1n, expires: null };
      const acl = CompiledAcl.compile([policy], { now: 0n });
      for (const path of questionPaths) {
        const question = { path: path.join("/"), capability: "read", sudo: false } as const;
        const { rule } = decide(acl, { ...question, data: {}, wrapTtl: null });
        const lines = rule?.sources.map(({ rule: { position } }) => position.line) ?? [];
        assert.ok(!lines.some((line) => idle.has(line)), `${text}\n${question.path}`);
      }
    }),
    { numRuns: 3_000 },
  );
});

test("warnings end at a hundred, and ten thousand rules take no time", () => {
  const text = 'path "a" {}\n'.repeat(9_999);
  const began = processorTime();
  assert.equal(parseAclDocument(text).warnings.length, 100);
  assert.ok(processorTime() - began < 2_000);
});

test("names fold to one ASCII form, and what does not is no name", () => {
  assert.equal(policyName("Dev"), "dev");
  assert.equal(policyName("team/a.b_c-1"), "team/a.b_c-1");
  assert.equal(policyName("x".repeat(128)), "x".repeat(128));
  const none = [
    "",
    " ",
    "a b",
    " root",
    "root ",
    "ｒｏｏｔ",
    "root\u200b",
    "İ",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "a/.",
    "a\u0000",
    "a+",
    "a*",
    "x".repeat(129),
  ];
  for (const text of none) assert.equal(policyName(text), null, JSON.stringify(text));
});
