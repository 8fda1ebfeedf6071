// Brings what was written in either notation to one form, by what the reader of the document says
// about it: which keys are blocks, and with how many labels. JSON cannot tell `{"path": {"a": {}}}`
// from an object in an object, and guessing by the looks of it is how parsers misread documents.

import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import { alreadySet, showName, tooLarge, wrongShape } from "./document-failure.ts";
import type {
  Attribute,
  Body,
  Item,
  Key,
  Label,
  ListValue,
  ObjectValue,
  Value,
} from "./hcl-node.ts";
import type { DocumentLimits } from "./source-text.ts";

export interface BlockShape {
  readonly labels: number;
  /** In JSON a list stands around objects with labels alone, never below a label, and is not empty:
   *  other readers of such documents take the first of two bodies, or none. Default false. */
  readonly oneBody?: boolean;
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
  return atOnce(slicedShape(body, shape, notation, limits));
}

/** The same in slices. */
export function* slicedShape(
  body: Body,
  shape: BodyShape,
  notation: Notation,
  limits: DocumentLimits,
): Sliced<Body> {
  const shaped = yield* new Shaper(notation).body(body, shape);
  const blocks = shaped.items.filter((item) => item.kind === "block");
  const excess = blocks[limits.blocks];
  if (excess !== undefined) throw tooLarge(limits.noun, `${limits.blocks} blocks`, excess.position);
  return shaped;
}

class Shaper {
  readonly #notation: Notation;
  readonly #pieces = new Pieces();

  constructor(notation: Notation) {
    this.#notation = notation;
  }

  *body(body: Body, shape: BodyShape): Sliced<Body> {
    const items: Item[] = [];
    const attributes = new Map<string, number>();
    for (const item of body.items) {
      if (this.#pieces.due) yield;
      const key = item.kind === "block" ? item.type : item.key;
      const known = shape.get(key.text);
      if (known !== undefined) {
        yield* this.#blocks(item, known, items);
        continue;
      }
      const shaped = yield* this.#withoutShape(item);
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
  *#withoutShape(item: Item): Sliced<Item> {
    if (item.kind === "attribute") return { ...item, value: yield* this.#value(item.value) };
    if (item.labels.length > 0) return item;
    const body = yield* this.body(item.body, NO_BLOCKS);
    const value: ObjectValue = { kind: "object", body, position: body.position };
    return { kind: "attribute", key: item.type, value, position: item.position };
  }

  *#value(value: Value): Sliced<Value> {
    if (value.kind === "object") {
      return { ...value, body: yield* this.body(value.body, NO_BLOCKS) };
    }
    if (value.kind !== "list") return value;
    const elements: Value[] = [];
    for (const element of value.elements) {
      if (this.#pieces.due) yield;
      const nested = element.kind === "object" || element.kind === "list";
      elements.push(nested ? yield* this.#value(element) : element);
    }
    return { ...value, elements };
  }

  *#blocks(item: Item, shape: BlockShape, found: Item[]): Sliced<void> {
    if (item.kind === "attribute") {
      yield* this.#fromAttribute(item, shape, found);
      return;
    }
    if (item.labels.length !== shape.labels)
      throw wrongShape(item.position, form(item.type, shape));
    found.push({ ...item, body: yield* this.body(item.body, shape.body) });
  }

  *#fromAttribute(attribute: Attribute, shape: BlockShape, found: Item[]): Sliced<void> {
    // HCL has a notation for labels; the other reading of `path = {…}` elsewhere is a path named "path".
    if (this.#notation === "hcl" && shape.labels > 0) {
      throw wrongShape(attribute.position, form(attribute.key, shape));
    }
    yield* this.#fromValue(attribute.key, [], attribute.value, shape, found);
  }

  /** An object, or a list of objects, under a key or under the labels found so far. */
  *#fromValue(
    type: Key,
    labels: readonly Label[],
    value: Value,
    shape: BlockShape,
    found: Item[],
  ): Sliced<void> {
    const labelled = labels.length < shape.labels;
    if (shape.oneBody === true && value.kind === "list") checkList(type, labels, value);
    const objects = value.kind === "list" ? value.elements : [value];
    for (const object of objects) {
      if (this.#pieces.due) yield;
      if (object.kind !== "object") {
        const what = labelled ? "an object with labels as its keys" : "an object";
        const problem = `${showName(type.text)} takes ${what}, or a list of such objects`;
        throw wrongShape(object.position, problem);
      }
      if (labelled) {
        for (const inner of object.body.items) {
          if (this.#pieces.due) yield;
          if (inner.kind === "block") throw wrongShape(inner.position, form(type, shape));
          const label: Label = { text: inner.key.text, position: inner.key.position };
          yield* this.#fromValue(type, [...labels, label], inner.value, shape, found);
        }
      } else {
        const body = yield* this.body(object.body, shape.body);
        // The innermost label says best which of many blocks is meant.
        const { position } = labels.at(-1) ?? type;
        found.push({ kind: "block", type, labels, body, position });
      }
    }
  }
}

function checkList(type: Key, labels: readonly Label[], list: ListValue): void {
  const [label] = labels;
  if (label !== undefined) {
    const [name, one] = [showName(type.text), showName(label.text)];
    const problem = `${name} takes one object below ${one}; a second one is written {${name}: [{${one}: {…}}, {${one}: {…}}]}`;
    throw wrongShape(list.position, problem);
  }
  if (list.elements.length > 0) return;
  const problem = `${showName(type.text)} is an empty list: expected at least one object, or leave it out`;
  throw wrongShape(list.position, problem);
}

function form(type: Key, shape: BlockShape): string {
  const name = showName(type.text);
  const count =
    shape.labels === 0 ? "no labels" : `${shape.labels} label${shape.labels > 1 ? "s" : ""}`;
  const labels = ' "…"'.repeat(shape.labels);
  return `${name} is a block with ${count}: expected ${type.text}${labels} { … }`;
}
