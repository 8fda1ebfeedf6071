// YAML to the same tree as HCL and JSON, with positions. Only what those two can say is accepted: no
// tags, anchors or aliases (ten lines of aliases can stand for gigabytes), no null, no second
// document. The parser's own messages quote the text, so they are replaced by ours.

import { LineCounter, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments } from "yaml";
import { alreadySet, syntaxError, tooDeep } from "./document-failure.ts";
import type { Attribute, Body, Key, Position, Value } from "./hcl-node.ts";
import type { SourceText } from "./source-text.ts";

const CAUSES: ReadonlyMap<string, string> = new Map([
  ["TAB_AS_INDENT", "a tab stands where spaces are expected"],
  ["BAD_INDENT", "the indentation does not fit the lines above"],
  ["MISSING_CHAR", "a character is missing here, such as a quote, a colon or a bracket"],
  ["MULTILINE_IMPLICIT_KEY", "a key must stand on one line"],
  ["BLOCK_AS_IMPLICIT_KEY", "a block cannot be a key: is a line break or an indentation missing?"],
]);

export function parseYaml(source: SourceText): Body {
  const text = source.text.slice(source.start);
  const documents = parseAllDocuments(text, {
    lineCounter: new LineCounter(),
    prettyErrors: false, // they would quote the line
    uniqueKeys: false, // looked for below, with the line of the first
    logLevel: "silent",
    version: "1.2",
    stringKeys: false,
  });
  const reader = new YamlReader(source);
  if (!Array.isArray(documents)) return { items: [], position: source.positionAt(source.start) };
  const [document, second] = documents;
  const error = documents.flatMap(({ errors }) => errors)[0];
  if (error !== undefined) {
    const cause = CAUSES.get(error.code) ?? "this is not valid YAML";
    throw syntaxError(reader.at(error.pos[0]), `${cause} (${error.code})`);
  }
  if (second !== undefined) {
    throw syntaxError(reader.at(second.range[0]), "a file holds one document, without --- inside");
  }
  const root = document?.contents ?? null;
  if (root === null) return { items: [], position: source.positionAt(source.start) };
  return reader.document(root);
}

class YamlReader {
  readonly #source: SourceText;

  constructor(source: SourceText) {
    this.#source = source;
  }

  at(offset: number): Position {
    return this.#source.positionAt(Math.min(offset, this.#source.text.length) + this.#source.start);
  }

  document(root: Node): Body {
    const value = this.#value(root, 0);
    if (value.kind === "object") return value.body;
    throw syntaxError(value.position, "expected keys with values, such as `ui: true`");
  }

  #value(node: Node, depth: number): Value {
    const position = this.#position(node);
    if (depth > this.#source.limits.depth) throw tooDeep(position, this.#source.limits.depth);
    if (isAlias(node) || node.anchor !== undefined) {
      throw syntaxError(position, "anchors (&) and aliases (*) are not accepted");
    }
    // Quotes force a text without a tag; "!" and its kind would let a value be something else.
    if (node.tag !== undefined) throw syntaxError(position, "tags (!) are not accepted");
    if (isMap(node))
      return { kind: "object", body: this.#body(node.items, depth, position), position };
    if (isSeq(node)) {
      const elements = node.items.map((item) => this.#value(this.#node(item, position), depth + 1));
      return { kind: "list", elements, position };
    }
    return this.#scalar(node, position);
  }

  #body(
    pairs: readonly { key: unknown; value: unknown }[],
    depth: number,
    position: Position,
  ): Body {
    const items: Attribute[] = [];
    const lines = new Map<string, number>();
    for (const pair of pairs) {
      const key = this.#key(pair.key, position);
      const line = lines.get(key.text);
      if (line !== undefined) throw alreadySet(key.position, key.text, line);
      lines.set(key.text, key.position.line);
      const value = this.#value(this.#node(pair.value, key.position), depth + 1);
      items.push({ kind: "attribute", key, value, position: key.position });
    }
    return { items, position };
  }

  #key(key: unknown, around: Position): Key {
    if (!isScalar(key) || key.anchor !== undefined || key.tag !== undefined) {
      throw syntaxError(around, "keys must be plain words or texts in quotes");
    }
    // As written: a status such as 404 is the key "404".
    const text = typeof key.value === "string" ? key.value : (key.source ?? "");
    return { text, quoted: true, position: this.#position(key) };
  }

  #scalar(node: Node, position: Position): Value {
    const value: unknown = isScalar(node) ? node.value : null;
    if (typeof value === "string") return { kind: "string", text: value, heredoc: null, position };
    if (typeof value === "boolean") return { kind: "bool", value, position };
    const source = isScalar(node) ? (node.source ?? "") : "";
    if (
      typeof value === "number" &&
      /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(source)
    ) {
      return { kind: "number", text: source, position };
    }
    if (typeof value === "number") {
      throw syntaxError(position, "numbers are written in decimal digits, without zeros in front");
    }
    throw syntaxError(position, "an empty value is not accepted; leave the key or the element out");
  }

  #node(found: unknown, around: Position): Node {
    if (isScalar(found) || isMap(found) || isSeq(found) || isAlias(found)) return found;
    throw syntaxError(around, "an empty value is not accepted; leave the key or the element out");
  }

  #position(node: Node): Position {
    return this.at(node.range?.[0] ?? 0);
  }
}
