// The public conformance suite of CEL, as far as it speaks of what programs have: no messages, no names
// but ours. A row passes if the program `main { (expression) == value }` does; where the suite wants an
// error, a refusal at write is one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { tests } from "@bufbuild/cel-spec/testdata/conformance.js";
import type { JsonValue } from "@holdfast/shared/json/json";
import { Failure } from "@holdfast/shared/failure";
import { isObject } from "@holdfast/shared/json/json";
import { parseProgram } from "./program.ts";
import { testInput } from "./request/test-input.ts";

type Suite = typeof tests;
type Row = NonNullable<Suite["tests"]>[number]["original"];

// Extensions that programs do not have, and messages.
const OTHERS =
  /\/(?:proto|optional|enums|bindings_ext|encoders|math_ext|block_ext|network|type_deduction|macros2|unknowns|wrappers|dynamic)/;
// What we refuse on purpose: messages and their types, control characters as they stand, names in
// back-ticks, names that are not ours, `strings.quote`, and sides of && that are never true or false.
const ON_PURPOSE =
  /found "\{"|control character|carriage return|unexpected "`"|unknown (?:name|function)|a side of|expected a value, found "\."/;

function* rowsOf(suite: Suite, path: string): Generator<{ path: string; row: Row }> {
  for (const child of suite.suites ?? []) yield* rowsOf(child, `${path}/${child.name}`);
  for (const { original } of suite.tests ?? []) yield { path, row: original };
}

function literal(value: JsonValue | undefined): string | null {
  if (value === undefined) return "true";
  if (!isObject(value)) return null;
  const [[kind, content] = ["", null]] = Object.entries(value);
  const plain = typeof content === "object" ? "" : `${content}`;
  if (kind === "boolValue") return plain;
  if (kind === "nullValue") return "null";
  if (kind === "int64Value") return `(${plain})`;
  if (kind === "uint64Value") return `${plain}u`;
  if (kind === "stringValue") return JSON.stringify(content);
  if (kind === "doubleValue" && typeof content === "number") return `double("${content}")`;
  if (kind === "bytesValue" && typeof content === "string") {
    const bytes = Array.from(Buffer.from(content, "base64"));
    return `b"${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}"`;
  }
  if (kind !== "listValue" || !isObject(content)) return null;
  const values = content["values"] ?? [];
  const items = Array.isArray(values) ? values.map((item: JsonValue) => literal(item)) : [null];
  return items.includes(null) ? null : `[${items.join(", ")}]`;
}

test("programs answer as the conformance suite of CEL wants", async () => {
  const input = testInput({});
  const wrong: string[] = [];
  let passed = 0;
  let refused = 0;
  for (const { path, row } of rowsOf(tests, "")) {
    if (OTHERS.test(path) || "bindings" in row || "container" in row || "typeEnv" in row) continue;
    const wantsError = "evalError" in row;
    const value = wantsError ? "null" : literal(row["value"]);
    if (value === null) continue;
    try {
      const verdict = parseProgram(`main { (${row.expr}) == ${value} }`).evaluate(input);
      if (wantsError ? verdict.error !== null : verdict.passed) passed += 1;
      else wrong.push(`${path}: ${row.expr}: ${verdict.error}`);
    } catch (error) {
      assert.ok(error instanceof Failure, `${row.expr}: ${String(error)}`);
      if (wantsError) passed += 1;
      else if (ON_PURPOSE.test(error.message)) refused += 1;
      else wrong.push(`${path}: ${row.expr}: ${error.message}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(passed > 1_100, `${passed} rows passed`);
  assert.ok(refused < 120, `${refused} rows are refused`);
});
