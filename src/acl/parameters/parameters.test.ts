// Rules on parameters and wrapping: cases 51 to 75 of docs/cases/policies.md, at the decision function.

import assert from "node:assert/strict";
import test from "node:test";
import { processorTime } from "../../../tests/support/processor-time.ts";
import { type JsonObject, type JsonValue, rawNumber } from "@holdfast/shared/json/json";
import type { AclCapability } from "../capability.ts";
import { CompiledAcl } from "../compile.ts";
import { decide } from "../decide.ts";
import { parseAclDocument } from "../document.ts";
import { canonicalNumber } from "./number.ts";
import { NO_PARAMETERS, ParameterCheck } from "./parameters.ts";

const SECOND = 1_000_000_000n;

interface Request {
  readonly capability?: Exclude<AclCapability, "sudo">;
  readonly data?: JsonObject;
  readonly wrap?: bigint;
}

/** Bodies of blocks for `p`, a policy each. */
function allows(bodies: string | readonly string[], request: Request): boolean {
  const policies = [bodies].flat().map((body, i) => ({
    name: `p${i}`,
    namespaceId: "root",
    document: parseAclDocument(`path "p" { ${body} }`),
    written: 1n,
    expires: null,
  }));
  const { capability = "update", data = {}, wrap } = request;
  return decide(CompiledAcl.compile(policies, { now: 0n }), {
    path: "p",
    capability,
    sudo: false,
    data,
    wrapTtl: wrap === undefined ? null : wrap * SECOND,
  }).allowed;
}

const GRANT = 'capabilities = ["create", "read", "update", "patch", "list", "delete"]';
const allowed = (object: string) => `${GRANT} allowed_parameters = { ${object} }`;
const denied = (object: string) => `${GRANT} denied_parameters = { ${object} }`;
const required = (names: string) => `${GRANT} required_parameters = [${names}]`;

const AB = allowed('x = ["A", "B"]');
type Case = readonly [id: string, body: string, data: JsonObject, want: boolean];
const cases: readonly Case[] = [
  ["51: a required parameter is missing", required('"name", "id"'), { name: "n" }, false],
  ["52: more than the required ones", required('"name"'), { name: "n", z: 1 }, true],
  ["53: a value that is allowed", allowed('bar = ["zip", "zap"]'), { bar: "zip" }, true],
  ["54: a name that is not allowed", allowed('bar = ["zip"]'), { baz: 1 }, false],
  ["55: * allows other names", allowed('bar = ["zip"], "*" = []'), { baz: 1 }, true],
  ["56: * allows no other value", allowed('bar = ["zip"], "*" = []'), { bar: "no" }, false],
  ["57: an empty list denies any value", denied("bar = []"), { bar: "x" }, false],
  ["58: * denies everything", denied('"*" = []'), { x: 1 }, false],
  ["59: * denies no empty request", denied('"*" = []'), {}, true],
  [
    "60: denied beats allowed",
    `${allowed("a = []")} denied_parameters = { a = [] }`,
    { a: 1 },
    false,
  ],
  ["61: a star at the end", allowed('bar = ["foo-*"]'), { bar: "foo-1" }, true],
  ["62: each element of a list", AB, { x: ["B", "A"] }, true],
  ["63: text with commas", AB, { x: "A,B" }, true],
  ["64: one element is not allowed", AB, { x: ["A", "C"] }, false],
  ["65: one element is denied", denied('x = ["A"]'), { x: ["Z", "A"] }, false],
  [
    "66: names of policies have no case",
    denied('policies = ["admin"]'),
    { policies: "ADMIN" },
    false,
  ],
  ["72: numbers by value", allowed("int = [1, 2]"), { int: 2 }, true],
  ["73: text is no boolean", allowed("flag = [false]"), { flag: "false" }, false],
  ["74: required names have no case", required('"name"'), { Name: "x" }, true],
  [
    "T-A13: in a list",
    denied('policies = ["super-admin"]'),
    { policies: ["x", "super-admin"] },
    false,
  ],
  [
    "T-A13: between commas",
    denied('policies = ["super-admin"]'),
    { policies: "x, super-admin" },
    false,
  ],
  [
    "T-A13: alone, with blanks",
    denied('policies = ["super-admin"]'),
    { policies: " super-admin" },
    false,
  ],
  [
    "T-A13: in another case",
    denied('policies = ["super-admin"]'),
    { policies: "Super-Admin" },
    false,
  ],
  ["T-A13: the name in another case", denied('Policies = ["x"]'), { pOLICIES: "x" }, false],
  [
    "T-A13: written in upper case",
    denied('token_policies = ["X"]'),
    { token_policies: "x" },
    false,
  ],
  ["the same name in two cases counts twice", denied('a = ["x"]'), { A: "y", a: "x" }, false],
  ["a star in front", allowed('a = ["*-end"]'), { a: "the-end" }, true],
  ["stars on both sides", allowed('a = ["*mid*"]'), { a: "amidst" }, true],
  ["stars on both sides, without it", allowed('a = ["*mid*"]'), { a: "none" }, false],
  ["a star alone is any text", allowed('a = ["*"]'), { a: "" }, true],
  ["a star alone is no number", allowed('a = ["*"]'), { a: 1 }, false],
  ["other values keep their case", allowed('a = ["x"]'), { a: "X" }, false],
  ["blanks are part of an allowed value", AB, { x: "A, B" }, false],
  ["an empty list is not among the values", AB, { x: [] }, false],
  ["an empty text is not among the values", AB, { x: "" }, false],
  ["null is not among the values", AB, { x: null }, false],
  ["null, where any value is", allowed("x = []"), { x: null }, true],
  ["a whole list as one value", allowed('x = [["A", 1]]'), { x: ["A", 1] }, true],
  ["a whole list in another order", allowed('x = [["A", 1]]'), { x: [1, "A"] }, false],
  [
    "an object as a whole",
    allowed("x = [{ a = 1, b = [true] }]"),
    { x: { b: [true], a: 1 } },
    true,
  ],
  ["an object with one member more", allowed("x = [{ a = 1 }]"), { x: { a: 1, b: 1 } }, false],
  ["a denied object", denied("x = [{ a = 1 }]"), { x: { a: 1.0 } }, false],
  ["booleans", allowed("x = [true]"), { x: true }, true],
  [
    "a number too long for a double",
    allowed("x = [9007199254740993]"),
    { x: rawNumber("9007199254740993") },
    true,
  ],
  ["its neighbour", allowed("x = [9007199254740993]"), { x: rawNumber("9007199254740992") }, false],
  ["text is no number", allowed("x = [2]"), { x: "2" }, false],
  ["only * in allowed", allowed('"*" = []'), { a: 1 }, true],
  ["an empty object allows all", allowed(""), { a: 1 }, true],
  [
    "names that objects inherit are names like others",
    allowed("a = []"),
    { constructor: 1 },
    false,
  ],
];
for (const [name, body, data, want] of cases) {
  test(`${name} → ${want ? "allow" : "deny"}`, () => {
    assert.equal(allows(body, { data }), want);
  });
}

const MIN = `${GRANT} min_wrapping_ttl = "1s"`;
const MAX = `${GRANT} max_wrapping_ttl = 90`;
test("min_wrapping_ttl forces wrapping", () => {
  assert.equal(allows(MIN, {}), false);
  assert.equal(allows(MIN, { wrap: 1n }), true);
});

test("max_wrapping_ttl bounds it, and needs it", () => {
  assert.equal(allows(MAX, { wrap: 91n }), false);
  assert.equal(allows(MAX, { wrap: 90n }), true);
  assert.equal(allows(MAX, {}), false);
});

test("parameters are not looked at for list and delete, but for read, patch and create", () => {
  const list: Request = { capability: "list", data: { limit: "5" } };
  const acl = denied('"*" = []');
  assert.equal(allows(acl, list), true);
  assert.equal(allows(required('"x"'), { capability: "delete" }), true);
  for (const capability of ["read", "patch", "create", "update"] as const) {
    assert.equal(allows(acl, { capability, data: { a: "1" } }), false, capability);
    assert.equal(allows(required('"x"'), { capability }), false, capability);
  }
});

test("two policies with one label: of each bound the lower one counts", () => {
  const two = [
    `${GRANT} max_wrapping_ttl = 300 min_wrapping_ttl = 100`,
    `${GRANT} max_wrapping_ttl = 200 min_wrapping_ttl = 50`,
  ];
  assert.equal(allows(two, { wrap: 40n }), false);
  assert.equal(allows(two, { wrap: 150n }), true);
  assert.equal(allows(two, { wrap: 250n }), false);
});

test("a merge that leaves max below min denies every request", () => {
  const two = [`${GRANT} min_wrapping_ttl = 100`, `${GRANT} max_wrapping_ttl = 50`];
  for (const wrap of [49n, 50n, 75n, 100n, 101n]) assert.equal(allows(two, { wrap }), false);
  assert.equal(allows(two, {}), false);
});

test("merged parameters: values unite, any value wins, a constraint reaches the policy without one", () => {
  assert.equal(allows([allowed('a = ["x"]'), allowed('a = ["y"]')], { data: { a: "x" } }), true);
  assert.equal(allows([allowed('a = ["x"]'), allowed("a = []")], { data: { a: "z" } }), true);
  assert.equal(allows([allowed("a = []"), allowed('a = ["x"]')], { data: { a: "z" } }), true);
  assert.equal(allows([denied('a = ["x"]'), denied("a = []")], { data: { a: "z" } }), false);
  assert.equal(allows([GRANT, allowed('a = ["x"]')], { data: { b: 1 } }), false);
  assert.equal(allows([required('"a"'), required('"b"')], { data: { a: 1 } }), false);
  assert.equal(allows([required('"a"'), required('"b"')], { data: { a: 1, b: 1 } }), true);
});

test("numbers are one value however they are written", () => {
  for (const text of ["2", "2.0", "20e-1", "0.2e1", "0x2", "2e0", "200E-2", "2.00e+0"]) {
    assert.equal(canonicalNumber(text), canonicalNumber("2"), text);
  }
  const zeros = "0".repeat(40);
  for (const text of [`2e${zeros}`, `2e-${zeros}`, `0.2e+${zeros}1`, `20e-${zeros}1`]) {
    assert.equal(canonicalNumber(text), canonicalNumber("2"), text);
  }
  assert.equal(canonicalNumber(`0e${"9".repeat(40)}`), canonicalNumber("0"));
  assert.equal(canonicalNumber("-0.0"), canonicalNumber("0"));
  assert.equal(canonicalNumber("-0x10"), canonicalNumber("-16"));
  assert.notEqual(canonicalNumber("-2"), canonicalNumber("2"));
  assert.notEqual(canonicalNumber("0.1"), canonicalNumber("0.10000000000000001"));
});

test("a number of a million zeros takes no time", () => {
  const zeros = "0".repeat(1_000_000);
  const began = processorTime();
  canonicalNumber(`1${zeros}1`);
  canonicalNumber(`1.${zeros}1e5`);
  canonicalNumber(`1e${"9".repeat(1_000_000)}`);
  canonicalNumber(`1e${zeros}`);
  canonicalNumber(`1e${zeros}x`);
  assert.ok(processorTime() - began < 500);
});

test("a long list of values is asked in one step for each element sent", () => {
  const values = Array.from({ length: 5_000 }, (_, i) => `"value-${i}"`).join(", ");
  const sent = Array.from({ length: 5_000 }, (_, i) => `value-${i}`);
  const began = processorTime();
  assert.equal(allows(allowed(`x = [${values}]`), { data: { x: sent } }), true);
  assert.ok(processorTime() - began < 1_000);
});

test("more values than are read as an endpoint reads them deny, and cost nothing", () => {
  const values = Array.from({ length: 5_000 }, (_, i) => ({
    kind: "string" as const,
    text: `${i}s`,
  }));
  const rules = { ...NO_PARAMETERS, allowed: new Map([["ttl", values]]) };
  const reads: JsonValue[] = [];
  const reading = { name: "ttl", canonical: (value: JsonValue) => (reads.push(value), value) };
  const problem = ParameterCheck.of(rules)?.problem({ ttl: "7s" }, new Map([["ttl", reading]]));
  assert.deepEqual(problem, { kind: "too-many-values", name: "ttl" });
  // A few samples find out, once, whether case counts; of the values none is looked at.
  assert.deepEqual(
    values.filter(({ text }) => reads.includes(text)),
    [],
  );
  assert.equal(ParameterCheck.of(rules)?.problem({ ttl: "7s" }), null);
});
