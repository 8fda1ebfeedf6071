// The third form, as another server of this kind writes it: `{"variables": […], "when": "…",
// "expression": "…"}`. Expressions stand inside JSON strings, so a fault in one is told with the place
// of its string.

import { type JsonObject, type JsonValue, rawNumber } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import { showName } from "../../document/document-failure.ts";
import type { Body, Position, Value } from "../../document/hcl-node.ts";
import { parseJson } from "../../document/json-document.ts";
import { SourceText } from "../../document/source-text.ts";
import type { WrittenProgram, WrittenRule, WrittenTest } from "./written-program.ts";
import { ProgramFailure, syntax, unknown } from "../failures.ts";
import { DOCUMENT_LIMITS } from "../limits.ts";
import type { Node } from "./node.ts";
import { parseExpression } from "./parser.ts";

const KEYS = ["variables", "when", "expression", "tests"];
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function readJsonProgram(source: SourceText): WrittenProgram {
  const members = membersOf(source, parseJson(source), KEYS);
  const expression = members.get("expression");
  if (expression === undefined) {
    throw syntax(source, source.start, 'a JSON program needs an "expression"');
  }
  const when = members.get("when");
  return {
    source,
    bare: true,
    rules: readVariables(source, members.get("variables")),
    when: when === undefined ? null : readText(source, when),
    main: { name: "main", node: readText(source, expression), at: expression.position.offset },
    description: "",
    tests: readTests(source, members.get("tests")),
  };
}

function membersOf(
  source: SourceText,
  body: Body,
  known: readonly string[],
): ReadonlyMap<string, Value> {
  const members = new Map<string, Value>();
  for (const item of body.items) {
    if (item.kind !== "attribute") continue;
    const { key, value } = item;
    if (!known.includes(key.text)) {
      throw unknown(source, key.position.offset, "key", key.text, known);
    }
    members.set(key.text, value);
  }
  return members;
}

function readVariables(source: SourceText, value: Value | undefined): WrittenRule[] {
  const rules = new Map<string, WrittenRule>();
  for (const { body, position } of objects(source, value, "variables")) {
    const members = membersOf(source, body, ["name", "expression"]);
    const name = members.get("name");
    const expression = members.get("expression");
    if (name?.kind !== "string" || expression === undefined) {
      throw syntax(source, position.offset, 'a variable needs a "name" and an "expression"');
    }
    const at = name.position.offset;
    if (!NAME.test(name.text)) throw syntax(source, at, `${showName(name.text)} is no name`);
    if (rules.has(name.text)) {
      throw syntax(source, at, `variable ${showName(name.text)} was already given`);
    }
    rules.set(name.text, { name: name.text, node: readText(source, expression), at });
  }
  return Array.from(rules.values());
}

function readTests(source: SourceText, value: Value | undefined): WrittenTest[] {
  const tests = new Map<string, WrittenTest>();
  for (const { body, position } of objects(source, value, "tests")) {
    const members = membersOf(source, body, ["name", "input", "want"]);
    const name = members.get("name");
    const input = members.get("input");
    const want = members.get("want");
    if (name?.kind !== "string" || want?.kind !== "bool") {
      throw syntax(source, position.offset, 'a test needs a "name" and "want", true or false');
    }
    if (input !== undefined && input.kind !== "object") {
      throw syntax(source, input.position.offset, 'the "input" of a test is an object');
    }
    if (tests.has(name.text)) {
      throw syntax(source, name.position.offset, `test ${showName(name.text)} was already given`);
    }
    tests.set(name.text, {
      name: name.text,
      input: input === undefined ? {} : jsonObject(source, input.body),
      want: want.value,
      at: position.offset,
    });
  }
  return Array.from(tests.values());
}

function objects(
  source: SourceText,
  value: Value | undefined,
  name: string,
): readonly Extract<Value, { kind: "object" }>[] {
  if (value === undefined) return [];
  if (value.kind !== "list") throw syntax(source, value.position.offset, `"${name}" is a list`);
  return value.elements.map((element) => {
    if (element.kind === "object") return element;
    throw syntax(source, element.position.offset, `"${name}" is a list of objects`);
  });
}

function readText(source: SourceText, value: Value): Node {
  if (value.kind !== "string") {
    throw syntax(source, value.position.offset, "an expression is written as a string");
  }
  try {
    const inner = new SourceText(value.text, DOCUMENT_LIMITS);
    return moved(parseExpression(inner, inner.start, value.text.length), value.position.offset);
  } catch (error) {
    throw placed(error, value.position);
  }
}

/** The place is that of the string; the one inside it goes into the words. */
function placed(error: unknown, position: Position): unknown {
  if (!(error instanceof ProgramFailure)) return error;
  const { line, column } = error.position;
  const problem = error.message.replace(/^failed to parse policy: \d+:\d+: /, "");
  return new ProgramFailure(
    error.code,
    `${problem} (at ${line}:${column} of the string)`,
    position,
  );
}

/** Every place becomes that of the string. */
function moved(node: Node, at: number): Node {
  switch (node.kind) {
    case "constant":
    case "name":
      return { ...node, at };
    case "select":
    case "has":
      return { ...node, operand: moved(node.operand, at), at };
    case "list":
      return { ...node, elements: node.elements.map((element) => moved(element, at)), at };
    case "map":
      return {
        ...node,
        entries: node.entries.map(({ key, value }) => ({
          key: moved(key, at),
          value: moved(value, at),
        })),
        at,
      };
    case "call":
      return {
        ...node,
        target: node.target === null ? null : moved(node.target, at),
        args: node.args.map((arg) => moved(arg, at)),
        at,
      };
    case "fold":
      return {
        ...node,
        range: moved(node.range, at),
        test: node.test === null ? null : moved(node.test, at),
        step: node.step === null ? null : moved(node.step, at),
        at,
      };
  }
}

function jsonObject(source: SourceText, body: Body): JsonObject {
  const object: Record<string, JsonValue> = {};
  for (const item of body.items) {
    if (item.kind !== "attribute") continue;
    if (reachesPrototype(item.key.text)) {
      throw syntax(
        source,
        item.key.position.offset,
        `${showName(item.key.text)} is no name for a key`,
      );
    }
    object[item.key.text] = jsonValue(source, item.value);
  }
  return object;
}

function jsonValue(source: SourceText, value: Value): JsonValue {
  switch (value.kind) {
    case "string":
      return value.text;
    case "bool":
      return value.value;
    case "number": {
      const double = Number(value.text);
      return String(double) === value.text ? double : rawNumber(value.text);
    }
    case "list":
      return value.elements.map((element) => jsonValue(source, element));
    case "object":
      return jsonObject(source, value.body);
  }
}
