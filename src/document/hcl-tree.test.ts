// Random trees: printed and parsed they are the same, in HCL and in JSON, and every node stands where
// its position says.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { parseDocument } from "./document.ts";
import { type BodyShape, NO_BLOCKS } from "./document-shape.ts";
import {
  type Block,
  type Body,
  isIdentifier,
  type Item,
  type Key,
  type Label,
  type Position,
  type Value,
} from "./hcl-node.ts";
import { parseHcl } from "./hcl-parser.ts";
import { printHcl } from "./hcl-printer.ts";
import { POLICY_LIMITS, SourceText } from "./source-text.ts";
import { often } from "../../tests/support/often.ts";

const LIMITS = { ...POLICY_LIMITS, bytes: 64 * 1024 * 1024 };
const position: Position = { line: 1, column: 1, offset: 0 };

// What is likely to break quoting, heredocs and the counting of braces, and plain characters.
const pieces = fc.constantFrom(
  ...'${ $ { } " \\ \\n # // /* */ <<E EOT a é 😀 \u202e \u2028 \ufeff \u0001 \u007f \u0085'.split(
    " ",
  ),
  ..."\n \n\n \t \r \r\n \nEOT\n \n\tEOT\n".split(" "),
  " ",
);
const texts = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", "")),
  fc.constantFrom("", "true", "secret/data/*", "x".repeat(100)),
);
const words = fc.oneof(
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,12}$/),
  fc.constantFrom("path", "true", "__proto__", "k".repeat(50)),
);
const keys = fc
  .oneof(texts, words)
  .chain((text) =>
    fc.boolean().map((quoted): Key => ({ text, quoted: quoted || !isIdentifier(text), position })),
  );
const labels = texts.map((text): Label => ({ text, position }));
const numbers = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?$/);

const heredocs = fc.option(
  fc.record({ tag: fc.constantFrom("E", "EOT", "a"), indented: fc.boolean() }),
);
const strings = fc.record({
  kind: fc.constant("string" as const),
  text: fc.oneof(
    texts,
    texts.map((text) => `${text.replaceAll(/[^\n -~]/g, "")}\n`),
  ),
  heredoc: heredocs,
  position: fc.constant(position),
});

/** JSON has no hexadecimal numbers, and labels only where a shape says so. */
type Notation = "hcl" | "json";

function values(notation: Notation, depth: number): fc.Arbitrary<Value> {
  const hexadecimal = fc.stringMatching(/^-?0x[0-9a-fA-F]{1,9}$/);
  const scalars: fc.Arbitrary<Value> = fc.oneof(
    { arbitrary: strings, weight: 4 },
    (notation === "hcl" ? fc.oneof(numbers, hexadecimal) : numbers).map((text): Value => ({
      kind: "number",
      text,
      position,
    })),
    fc.boolean().map((value): Value => ({ kind: "bool", value, position })),
  );
  if (depth === 0) return scalars;
  const lists = fc
    .array(values(notation, depth - 1), { maxLength: 5 })
    .map((elements): Value => ({ kind: "list", elements, position }));
  const objects = bodies(notation, depth - 1).map((body): Value => ({
    kind: "object",
    body,
    position,
  }));
  return fc.oneof(scalars, lists, objects);
}

function bodies(notation: Notation, depth: number): fc.Arbitrary<Body> {
  const attributes = fc.uniqueArray(
    fc.record({
      kind: fc.constant("attribute" as const),
      key: keys,
      value: values(notation, depth),
      position: fc.constant(position),
    }),
    { maxLength: 4, selector: ({ key }) => key.text },
  );
  if (notation === "json" || depth === 0) return attributes.map((items) => ({ items, position }));
  const blocks = fc.array(
    fc.record({
      kind: fc.constant("block" as const),
      type: keys,
      labels: fc.array(labels, { maxLength: 3 }),
      body: bodies(notation, depth - 1),
      position: fc.constant(position),
    }),
    { maxLength: 2 },
  );
  return fc.tuple(attributes, blocks, fc.boolean()).map(([some, others, blocksFirst]) => {
    const taken = new Set(some.map(({ key }) => key.text));
    const fitting = others.filter(({ type }) => !taken.has(type.text));
    return { items: blocksFirst ? [...fitting, ...some] : [...some, ...fitting], position };
  });
}

/** Everything but positions and how text was written. */
function plain(body: Body): unknown[] {
  return body.items.map((item) =>
    item.kind === "block"
      ? {
          ...plainKey(item.type),
          labels: item.labels.map(({ text }) => text),
          body: plain(item.body),
        }
      : { ...plainKey(item.key), value: plainValue(item.value) },
  );
}

function plainKey({ text, quoted }: Key): object {
  return { key: text, quoted };
}

function plainValue(value: Value): unknown {
  if (value.kind === "object") return { object: plain(value.body) };
  if (value.kind === "list") return { list: value.elements.map(plainValue) };
  return value.kind === "bool" ? value.value : { [value.kind]: value.text };
}

function print(body: Body): string {
  return printHcl({ body, notes: new Map() });
}

test("a tree that is printed and parsed is the same tree, and prints the same again", () => {
  fc.assert(
    fc.property(bodies("hcl", 3), (body) => {
      const printed = print(body);
      const document = parseHcl(new SourceText(printed, LIMITS));
      assert.deepEqual(plain(document.body), plain(body));
      assert.equal(printHcl(document), printed);
    }),
    { numRuns: often(500) },
  );
});

/** The first characters at a node's position, by its kind. */
function checkPositions(body: Body, text: string, opening: string): void {
  if (opening !== "") assert.equal(text[body.position.offset], opening);
  for (const item of body.items) {
    const key = item.kind === "block" ? item.type : item.key;
    assert.deepEqual(item.position, key.position);
    assert.ok(text.startsWith(key.quoted ? '"' : key.text, key.position.offset));
    if (item.kind === "block") {
      for (const label of item.labels) assert.equal(text[label.position.offset], '"');
      checkPositions(item.body, text, "{");
    } else {
      checkValue(item.value, text);
    }
  }
}

function checkValue(value: Value, text: string): void {
  const rest = text.slice(value.position.offset, value.position.offset + 64);
  switch (value.kind) {
    case "string":
      assert.match(rest, value.heredoc === null ? /^"/ : /^<</);
      break;
    case "number":
      assert.ok(rest.startsWith(value.text));
      break;
    case "bool":
      assert.ok(rest.startsWith(String(value.value)));
      break;
    case "list":
      assert.ok(rest.startsWith("["));
      for (const element of value.elements) checkValue(element, text);
      break;
    case "object":
      assert.ok(rest.startsWith("{"));
      checkPositions(value.body, text, "{");
      break;
  }
}

test("the text at a node's offset begins as the node does", () => {
  fc.assert(
    fc.property(bodies("hcl", 3), fc.constantFrom("", "\ufeff", "# 😀\r\n"), (body, before) => {
      const text = before + print(body);
      checkPositions(parseHcl(new SourceText(text, LIMITS)).body, text, "");
    }),
    { numRuns: often(200) },
  );
});

const SHAPE: BodyShape = new Map([
  ["path", { labels: 1, body: NO_BLOCKS }],
  ["audit", { labels: 2, body: NO_BLOCKS }],
  ["join", { labels: 0, body: NO_BLOCKS }],
]);

function toJson(body: Body): string {
  const members = body.items.map((item) => {
    assert.ok(item.kind === "attribute");
    return `${JSON.stringify(item.key.text)}: ${valueToJson(item.value)}`;
  });
  return `{${members.join(", ")}}`;
}

function valueToJson(value: Value): string {
  if (value.kind === "object") return toJson(value.body);
  if (value.kind === "list") return `[${value.elements.map(valueToJson).join(", ")}]`;
  if (value.kind === "bool") return String(value.value);
  return value.kind === "number" ? value.text : JSON.stringify(value.text);
}

/** Blocks of a type in the list form, which holds equal labels as well. */
function blocksToJson(blocks: readonly Block[]): string {
  const objects = blocks.map(({ labels: names, body }) =>
    names.reduceRight((inner, { text }) => `{${JSON.stringify(text)}: ${inner}}`, toJson(body)),
  );
  return `[${objects.join(", ")}]`;
}

test("the same tree written in HCL and in JSON is read as the same", () => {
  const inside = bodies("json", 2);
  const blocks = fc.constantFrom(...SHAPE).chain(([type, { labels: count }]) =>
    fc.record({
      kind: fc.constant("block" as const),
      type: fc.constant({ text: type, quoted: true, position }),
      labels: fc.array(labels, { minLength: count, maxLength: count }),
      body: inside,
      position: fc.constant(position),
    }),
  );
  fc.assert(
    fc.property(inside, fc.array(blocks, { maxLength: 4 }), (body, some) => {
      const attributes = body.items.filter(
        (item) => item.kind === "attribute" && !SHAPE.has(item.key.text),
      );
      const types = [...new Set(some.map(({ type }) => type.text))];
      const grouped = types.map((type) => some.filter((block) => block.type.text === type));
      const items: Item[] = [...attributes, ...grouped.flat()];
      const members = [
        toJson({ items: attributes, position }).slice(1, -1),
        ...grouped.map((group) => `"${group[0]?.type.text}": ${blocksToJson(group)}`),
      ].filter((part) => part !== "");
      const read = (text: string) => plain(parseDocument(new SourceText(text, LIMITS), SHAPE));
      const fromJson = read(`{${members.join(", ")}}`);
      assert.deepEqual(fromJson, unquoted(read(print({ items, position }))));
    }),
    { numRuns: often(200) },
  );
});

/** JSON has quotes around every key. */
function unquoted(tree: unknown): unknown {
  return JSON.parse(JSON.stringify(tree).replaceAll('"quoted":false', '"quoted":true'));
}
