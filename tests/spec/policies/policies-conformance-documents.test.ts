// Policy documents: whichever way one is written, the rules are the same; and what is too large or too
// deep is refused, in either notation.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { parseAclDocument } from "../../../src/acl/document.ts";
import { parseHcl } from "../../../src/document/hcl-parser.ts";
import { printHcl } from "../../../src/document/hcl-printer.ts";
import { POLICY_LIMITS, SourceText } from "../../../src/document/source-text.ts";

interface Written {
  readonly label: string;
  readonly body: JsonObject;
}

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }).filter((s) => !/[\p{Cc}\p{Cs}]/u.test(s)),
  fc.constantFrom("", "*", "a*", "${x}", '"', "\\", "é", "😀", "true", "1"),
);
const label = fc
  .array(fc.oneof(fc.constantFrom("a", "b", "+", "secret", "{{token.name}}", "b*"), text), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join("/"))
  .filter((s) => s !== "" && !s.includes("+*") && /^(?:[^{}]|\{\{token\.name\}\})*$/.test(s));
const scalar: fc.Arbitrary<JsonValue> = fc.oneof(text, fc.integer(), fc.boolean());
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 3, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("k", "l m", "__proto__x"), scalar, { maxKeys: 2 }),
);
const parameters = fc.dictionary(
  fc.constantFrom("a", "B", "c-d", "*", "x y"),
  fc.array(value, { maxLength: 3 }),
  { maxKeys: 3 },
);
const body: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      capabilities: fc.uniqueArray(
        fc.constantFrom(
          "read",
          "list",
          "create",
          "update",
          "patch",
          "delete",
          "scan",
          "sudo",
          "deny",
        ),
      ),
      policy: fc.constantFrom("read", "write", "sudo", "deny"),
      allowed_parameters: parameters,
      denied_parameters: parameters,
      required_parameters: fc.uniqueArray(fc.constantFrom("a", "B", "c-d")),
      min_wrapping_ttl: fc.constantFrom<JsonValue[]>(1, "5s", "1m"),
      max_wrapping_ttl: fc.constantFrom<JsonValue[]>(90, "2m", "1h"),
      expiration: fc.constant("2030-01-01T00:00:00Z"),
      comment: text,
    },
    { requiredKeys: [] },
  )
  .map((members) => members as JsonObject);
const documents = fc.array(fc.record({ label, body }), { maxLength: 5 });

function toHcl(rules: readonly Written[], colon: boolean): string {
  const assigned = (object: JsonObject, sign: string): string =>
    Object.entries(object)
      .map(([key, one]) => `${quoted(key)} ${sign} ${valueOf(one ?? null, colon ? ":" : "=")}`)
      .join(", ");
  const valueOf = (one: JsonValue, sign: string): string => {
    if (typeof one === "string") return quoted(one);
    if (Array.isArray(one))
      return `[${one.map((part: JsonValue) => valueOf(part, sign)).join(", ")}]`;
    return typeof one === "object" ? `{ ${assigned(one as JsonObject, sign)} }` : String(one);
  };
  return rules
    .map((rule) => `path ${quoted(rule.label)} { ${assigned(rule.body, "=")} }`)
    .join("\n");
}

/** What could be taken for an interpolation is escaped, as a careful writer would. */
function quoted(plain: string): string {
  return JSON.stringify(plain).replaceAll("${", "\\x24{");
}

function toJson(rules: readonly Written[]): string {
  if (rules.length === 0) return "{}"; // an empty list is refused
  return JSON.stringify({ path: rules.map((rule) => ({ [rule.label]: rule.body })) });
}

/** Everything but where it stands. */
function rulesOf(document: string): unknown[] {
  return parseAclDocument(document).rules.map(({ position: _position, ...rule }) => rule);
}

test("a random policy in HCL, formatted, with colons, and in JSON has the same rules", () => {
  let rules = 0;
  fc.assert(
    fc.property(documents, (written) => {
      const hcl = toHcl(written, false);
      const want = rulesOf(hcl);
      assert.equal(want.length, written.length);
      rules += want.length;
      const printed = printHcl(parseHcl(new SourceText(hcl)));
      assert.deepEqual(rulesOf(printed), want);
      assert.equal(printHcl(parseHcl(new SourceText(printed))), printed, "formatting is done once");
      assert.deepEqual(rulesOf(toHcl(written, true)), want);
      assert.deepEqual(rulesOf(toJson(written)), want);
    }),
    { numRuns: 1_000 },
  );
  assert.ok(rules > 1_000, `${rules} rules`);
});

function refusal(document: string): string {
  try {
    parseAclDocument(document);
  } catch (error) {
    assert.ok(error instanceof Failure && error.kind === "invalid", String(error));
    return error.message;
  }
  return "accepted";
}

const LARGEST = POLICY_LIMITS.bytes;
const RULE = 'path "a" { policy = "read" }\n';

test("a policy of 256 KiB is read, one byte more is refused, however they are made", () => {
  const padded = (size: number) => RULE + "#".repeat(size - RULE.length);
  assert.equal(refusal(padded(LARGEST)), "accepted");
  assert.match(refusal(padded(LARGEST + 1)), /^failed to parse policy: policy is too large/);
  const json = (size: number) => `{"path":{}}${" ".repeat(size - 11)}`;
  assert.equal(refusal(json(LARGEST)), "accepted");
  assert.match(refusal(json(LARGEST + 1)), /^failed to parse policy: policy is too large/);
  const wide = `# ${"é".repeat(LARGEST / 2)}`; // fewer characters than bytes
  assert.match(refusal(wide), /^failed to parse policy: policy is too large/);
});

test("nesting over 100 is refused, in lists, objects, blocks and JSON, closed or not", () => {
  for (const bomb of [
    `path "a" { denied_parameters = { a = ${"[".repeat(200)}${"]".repeat(200)} } }`,
    `path "a" { denied_parameters = { a = ${"[".repeat(100_000)}`,
    `path "a" { denied_parameters = ${"{ a = ".repeat(101)}1${" }".repeat(101)} }`,
    `path "a" ${"{ b ".repeat(101)}`,
    `{"path":{"a":{"denied_parameters":${'{"a":'.repeat(101)}1${"}".repeat(101)}}}}`,
    `{"path":${"[".repeat(100_000)}`,
    `{"path":${'{"a":['.repeat(20_000)}`,
  ]) {
    assert.match(
      refusal(bomb),
      /^failed to parse policy: At \d+:\d+: nesting too deep/,
      bomb.slice(0, 50),
    );
  }
});

test("10,000 rules are read, one more is refused", () => {
  const many = (count: number) => 'path "a" {}\n'.repeat(count);
  assert.equal(refusal(many(10_000)), "accepted");
  assert.match(refusal(many(10_001)), /^failed to parse policy: .*policy is too large/);
  const json = (count: number) => `{"path":[${Array(count).fill('{"a":{}}').join(",")}]}`;
  assert.equal(refusal(json(10_000)), "accepted");
  assert.match(refusal(json(10_001)), /^failed to parse policy: .*policy is too large/);
});
