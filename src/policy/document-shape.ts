// Brings what was written in either notation to one form, by what the reader of the document says
// about it: which keys are blocks, and with how many labels. JSON cannot tell `{"path": {"a": {}}}`
// from an object in an object, and guessing by the looks of it is how parsers misread documents.

import { alreadySet, showName, tooLarge, wrongShape } from "./document-failure.ts";
import type { Attribute, Block, Body, Item, Key, Label, ObjectValue, Value } from "./hcl-node.ts";
import type { DocumentLimits } from "./source-text.ts";

export interface BlockShape {
  readonly labels: number;
  /** What is a block inside it. */
  readonly body: BodyShape;
}

/** Block types. Keys that are not named here are attributes. */
export type BodyShape = ReadonlyMap<string, BlockShape>;

export const NO_BLOCKS: BodyShape = new Map();

export type Notation = "hcl" | "json";

/**
 * In the result every key of the shape is a block, and `key { … }` of any other key is an attribute
 * with an object, wherever it stands. Blocks with labels that the shape does not know are left as
 * they are, for the reader to refuse by name.
 */
export function shapeDocument(
  body: Body,
  shape: BodyShape,
  notation: Notation,
  limits: DocumentLimits,
): Body {
  const shaped = shapeBody(body, shape, notation);
  const blocks = shaped.items.filter((item) => item.kind === "block");
  const excess = blocks[limits.blocks];
  if (excess !== undefined) throw tooLarge(limits.noun, `${limits.blocks} blocks`, excess.position);
  return shaped;
}

function shapeBody(body: Body, shape: BodyShape, notation: Notation): Body {
  const items: Item[] = [];
  const attributes = new Map<string, number>();
  for (const item of body.items) {
    const key = item.kind === "block" ? item.type : item.key;
    const known = shape.get(key.text);
    if (known !== undefined) {
      for (const block of blocksOf(item, known, notation)) items.push(block);
      continue;
    }
    const shaped = withoutShape(item, notation);
    if (shaped.kind === "attribute") {
      const line = attributes.get(key.text);
      if (line !== undefined) throw alreadySet(key.position, key.text, line);
      attributes.set(key.text, key.position.line);
    }
    items.push(shaped);
  }
  return { items, position: body.position };
}

/** A key that the shape does not name. */
function withoutShape(item: Item, notation: Notation): Item {
  if (item.kind === "attribute") return { ...item, value: shapeValue(item.value, notation) };
  if (item.labels.length > 0) return item;
  const body = shapeBody(item.body, NO_BLOCKS, notation);
  const value: ObjectValue = { kind: "object", body, position: body.position };
  return { kind: "attribute", key: item.type, value, position: item.position };
}

function shapeValue(value: Value, notation: Notation): Value {
  if (value.kind === "object") {
    return { ...value, body: shapeBody(value.body, NO_BLOCKS, notation) };
  }
  if (value.kind !== "list") return value;
  return { ...value, elements: value.elements.map((element) => shapeValue(element, notation)) };
}

function* blocksOf(item: Item, shape: BlockShape, notation: Notation): Generator<Block> {
  if (item.kind === "attribute") {
    yield* fromAttribute(item, shape, notation);
    return;
  }
  if (item.labels.length !== shape.labels) throw wrongShape(item.position, form(item.type, shape));
  yield { ...item, body: shapeBody(item.body, shape.body, notation) };
}

function* fromAttribute(
  attribute: Attribute,
  shape: BlockShape,
  notation: Notation,
): Generator<Block> {
  // HCL has a notation for labels; the other reading of `path = {…}` elsewhere is a path named "path".
  if (notation === "hcl" && shape.labels > 0) {
    throw wrongShape(attribute.position, form(attribute.key, shape));
  }
  yield* fromValue(attribute.key, [], attribute.value, shape, notation);
}

/** An object, or a list of objects, under a key or under the labels found so far. */
function* fromValue(
  type: Key,
  labels: readonly Label[],
  value: Value,
  shape: BlockShape,
  notation: Notation,
): Generator<Block> {
  const objects = value.kind === "list" ? value.elements : [value];
  for (const object of objects) {
    if (object.kind !== "object") {
      const what = labels.length < shape.labels ? "an object with labels as its keys" : "an object";
      const problem = `${showName(type.text)} takes ${what}, or a list of such objects`;
      throw wrongShape(object.position, problem);
    }
    if (labels.length < shape.labels) {
      for (const inner of object.body.items) {
        if (inner.kind === "block") throw wrongShape(inner.position, form(type, shape));
        const label: Label = { text: inner.key.text, position: inner.key.position };
        yield* fromValue(type, [...labels, label], inner.value, shape, notation);
      }
    } else {
      const body = shapeBody(object.body, shape.body, notation);
      // The innermost label says best which of many blocks is meant.
      yield { kind: "block", type, labels, body, position: (labels.at(-1) ?? type).position };
    }
  }
}

function form(type: Key, shape: BlockShape): string {
  const name = showName(type.text);
  const count =
    shape.labels === 0 ? "no labels" : `${shape.labels} label${shape.labels > 1 ? "s" : ""}`;
  const labels = ' "…"'.repeat(shape.labels);
  return `${name} is a block with ${count}: expected ${type.text}${labels} { … }`;
}
