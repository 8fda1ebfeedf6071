// The tree of a document, whichever notation it was written in: bodies of attributes and blocks,
// and values. It says what was written and where; what keys mean is for those who read it.

/** Line and column count from 1, the column in characters (code points), a BOM left out. */
export interface Position {
  readonly line: number;
  readonly column: number;
  /** Into the text as it was given, in the units of a JavaScript string. */
  readonly offset: number;
}

/** A document, what stands between the braces of a block, or an object value. */
export interface Body {
  readonly items: readonly Item[];
  readonly position: Position;
}

export type Item = Attribute | Block;

export interface Attribute {
  readonly kind: "attribute";
  readonly key: Key;
  readonly value: Value;
  readonly position: Position;
}

/** `type "label" … { body }`, with any number of labels. */
export interface Block {
  readonly kind: "block";
  readonly type: Key;
  readonly labels: readonly Label[];
  readonly body: Body;
  readonly position: Position;
}

/** May be any text, `__proto__` too: collect keys in a Map, never in a plain object. */
export interface Key {
  readonly text: string;
  readonly quoted: boolean;
  readonly position: Position;
}

export interface Label {
  readonly text: string;
  readonly position: Position;
}

export type Value = StringValue | NumberValue | BoolValue | ListValue | ObjectValue;

export interface StringValue {
  readonly kind: "string";
  /** Escapes decoded; never holds NUL or an unpaired surrogate. */
  readonly text: string;
  /** How it was written, for the printer; null is a quoted string. */
  readonly heredoc: Heredoc | null;
  readonly position: Position;
}

export interface Heredoc {
  readonly tag: string;
  /** Begun with `<<-`: the indentation of the closing tag was taken off every line. */
  readonly indented: boolean;
}

export interface NumberValue {
  readonly kind: "number";
  /** As written: which number it is, and whether it fits, depends on who reads it. */
  readonly text: string;
  readonly position: Position;
}

export interface BoolValue {
  readonly kind: "bool";
  readonly value: boolean;
  readonly position: Position;
}

export interface ListValue {
  readonly kind: "list";
  readonly elements: readonly Value[];
  readonly position: Position;
}

export interface ObjectValue {
  readonly kind: "object";
  readonly body: Body;
  readonly position: Position;
}

/** What the printer needs and nobody else: kept beside the tree, so that readers do not meet it. */
export interface HclDocument {
  readonly body: Body;
  /** By item, by element of a list, and by the body or list that holds `closing`. */
  readonly notes: ReadonlyMap<Item | Value | Body, Notes>;
}

export interface Notes {
  /** Above the item, or somewhere inside it where no other place is kept for them. */
  readonly before: readonly Comment[];
  /** Behind the item, on the line where it ends. */
  readonly after: readonly Comment[];
  /** After the last item, before the closing bracket or the end of the document. */
  readonly closing: readonly Comment[];
  /** A blank line stood right before the item. */
  readonly spaced: boolean;
}

export interface Comment {
  /** With its marks, without the line break that ends it. */
  readonly text: string;
  /** A blank line stood before it. */
  readonly spaced: boolean;
  readonly position: Position;
}

const WORD = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** Whether a key can stand without quotes. */
export function isIdentifier(text: string): boolean {
  return WORD.test(text) && text !== "true" && text !== "false";
}
