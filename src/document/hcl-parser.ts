// HCL text to tree, after the grammar of HCL 1: strict, without recovery, the
// first thing that does not fit ends it. Goes no deeper than the limit, so the stack cannot overflow.

import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import { alreadySet, attributeAndBlock, showName, tooDeep, tooLarge } from "./document-failure.ts";
import { NO_COMMENTS, type Token } from "./hcl-lexer.ts";
import type {
  Body,
  Comment,
  HclDocument,
  Item,
  Key,
  Label,
  ListValue,
  Notes,
  Position,
  Value,
} from "./hcl-node.ts";
import { HclTokenReader } from "./hcl-token-reader.ts";
import type { DocumentLimits, SourceText } from "./source-text.ts";

/** With everything that a printer needs. */
export function parseHcl(source: SourceText): HclDocument {
  return atOnce(new HclParser(source, true).document());
}

/** The tree alone, and in slices: documents of strangers are long. */
export function* readHcl(source: SourceText): Sliced<Body> {
  return (yield* new HclParser(source, false).document()).body;
}

/** Where an item stands. */
interface Place {
  readonly depth: number;
  /** The brace of its body; null in the document itself. */
  readonly opened: Position | null;
  /** Directly inside an object value `:` may stand for `=`. */
  readonly colons: boolean;
}

class HclParser {
  readonly #limits: DocumentLimits;
  readonly #start: Position;
  readonly #reader: HclTokenReader;
  readonly #pieces = new Pieces();
  readonly #notes = new Map<Item | Value | Body, Notes>();

  constructor(source: SourceText, comments: boolean) {
    this.#limits = source.limits;
    this.#start = source.positionAt(source.start);
    this.#reader = new HclTokenReader(source, comments);
  }

  *document(): Sliced<HclDocument> {
    const body = yield* this.#body(this.#start, { depth: 0, opened: null, colons: false });
    return { body, notes: this.#notes };
  }

  /** Up to its closing brace or the end of the document. */
  *#body(position: Position, place: Place): Sliced<Body> {
    const items: Item[] = [];
    const seen = new Map<string, Item>();
    const closer = place.opened === null ? "end" : "}";
    let blocks = 0;
    while (!this.#reader.at(closer)) {
      if (this.#pieces.due) yield;
      const item = yield* this.#item(place);
      checkRepetition(item, seen);
      if (item.kind === "block") blocks += 1;
      if (place.opened === null && blocks > this.#limits.blocks) {
        throw tooLarge(this.#limits.noun, `${this.#limits.blocks} blocks`, item.position);
      }
      items.push(item);
    }
    const body: Body = { items, position };
    this.#noteClosing(body);
    return body;
  }

  *#item(place: Place): Sliced<Item> {
    const { spaced } = this.#reader.token;
    const { item, before } = yield* this.#unnoted(place);
    const after =
      place.opened === null ? this.#reader.claimBehind() : this.#reader.separate().after;
    this.#note(item, before, after, spaced);
    return item;
  }

  *#unnoted(place: Place): Sliced<{ item: Item; before: readonly Comment[] }> {
    const key = this.#key(place);
    const labels = this.#labels();
    const { kind } = this.#reader.token;
    if (kind === "{") {
      // Comments are claimed only now: between the parts of an item they have no place of their own
      // and go above it.
      const before = this.#reader.claim();
      const body = yield* this.#braces(place.depth, false);
      return { item: { kind: "block", type: key, labels, body, position: key.position }, before };
    }
    this.#checkAssignment(key, labels, place);
    this.#reader.advance();
    const before = this.#reader.claim();
    const value = this.#scalar() ?? (yield* this.#compound(place.depth));
    return { item: { kind: "attribute", key, value, position: key.position }, before };
  }

  #key(place: Place): Key {
    const { kind, text } = this.#reader.token;
    const quoted = kind === "string";
    const word = kind === "identifier" && text !== "true" && text !== "false";
    if (!quoted && !word) {
      const closing =
        place.opened === null
          ? "the end of the document"
          : `the } for the { on line ${place.opened.line}`;
      throw this.#reader.unexpected(`a key or ${closing}`);
    }
    const position = this.#reader.position();
    this.#reader.advance();
    return { text, quoted, position };
  }

  #labels(): Label[] {
    const labels: Label[] = [];
    while (this.#reader.at("string")) {
      labels.push({ text: this.#reader.token.text, position: this.#reader.position() });
      this.#reader.advance();
    }
    return labels;
  }

  #checkAssignment(key: Key, labels: readonly Label[], place: Place): void {
    const { kind } = this.#reader.token;
    if (labels.length === 0 && (kind === "=" || (kind === ":" && place.colons))) return;
    const name = showName(key.text);
    if (labels.length > 0) throw this.#reader.unexpected(`{ after the labels of ${name}`);
    if (kind === ":") {
      throw this.#reader.unexpected(`= after ${name} (: is accepted only in an object value)`);
    }
    throw this.#reader.unexpected(`=, { or a label in double quotes after ${name}`);
  }

  /** Null where none stands there. */
  #scalar(): Value | null {
    const value = scalarOf(this.#reader.token, this.#reader.position());
    if (value !== null) this.#reader.advance();
    return value;
  }

  *#compound(depth: number): Sliced<Value> {
    if (this.#reader.at("[")) return yield* this.#list(depth);
    if (!this.#reader.at("{")) {
      throw this.#reader.unexpected("text in double quotes, a number, true, false, [ or {");
    }
    const position = this.#reader.position();
    return { kind: "object", body: yield* this.#braces(depth, true), position };
  }

  *#braces(depth: number, colons: boolean): Sliced<Body> {
    const opened = this.#open(depth);
    const body = yield* this.#body(opened, { depth: depth + 1, opened, colons });
    this.#reader.advance();
    return body;
  }

  *#list(depth: number): Sliced<ListValue> {
    const position = this.#open(depth);
    const elements: Value[] = [];
    while (!this.#reader.at("]")) {
      const { spaced } = this.#reader.token;
      const before = this.#reader.claim();
      if (this.#pieces.due) yield;
      const element = this.#scalar() ?? (yield* this.#compound(depth + 1));
      const { comma, after } = this.#reader.separate();
      this.#note(element, before, after, spaced);
      elements.push(element);
      if (!comma && !this.#reader.at("]")) {
        throw this.#reader.unexpected(`a comma or the ] for the [ on line ${position.line}`);
      }
    }
    const list: ListValue = { kind: "list", elements, position };
    this.#noteClosing(list);
    this.#reader.advance();
    return list;
  }

  /** Over an opening bracket, if one more level is allowed. */
  #open(depth: number): Position {
    const position = this.#reader.position();
    if (depth >= this.#limits.depth) throw tooDeep(position, this.#limits.depth);
    this.#reader.advance();
    return position;
  }

  /** Only what there is to note takes a place. A list in a list may have been noted already. */
  #note(
    node: Item | Value,
    before: readonly Comment[],
    after: readonly Comment[],
    spaced: boolean,
  ): void {
    if (!spaced && before.length + after.length === 0) return;
    const closing = this.#notes.get(node)?.closing ?? NO_COMMENTS;
    this.#notes.set(node, { before, after, closing, spaced });
  }

  #noteClosing(node: Body | ListValue): void {
    const closing = this.#reader.claim();
    if (closing.length === 0) return;
    this.#notes.set(node, { before: NO_COMMENTS, after: NO_COMMENTS, closing, spaced: false });
  }
}

function scalarOf(token: Token, position: Position): Value | null {
  const { kind, text, heredoc } = token;
  if (kind === "string" || kind === "heredoc") return { kind: "string", text, heredoc, position };
  if (kind === "number") return { kind, text, position };
  const bool = kind === "identifier" && (text === "true" || text === "false");
  return bool ? { kind: "bool", value: text === "true", position } : null;
}

function checkRepetition(item: Item, seen: Map<string, Item>): void {
  const { text, position } = item.kind === "block" ? item.type : item.key;
  const first = seen.get(text);
  if (first === undefined) seen.set(text, item);
  else if (first.kind !== item.kind) throw attributeAndBlock(position, text, first.position.line);
  else if (item.kind === "attribute") throw alreadySet(position, text, first.position.line);
}
