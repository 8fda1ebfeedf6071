// JSON text to the same tree as HCL. A scanner of our own, since JSON.parse knows no positions, keeps
// the last of two equal keys and rounds numbers. It yields attributes only; document-shape.ts finds
// the blocks. Null is refused: HCL has no word for it, and the two notations say the same things.

import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import { alreadySet, type DocumentFailure, syntaxError, tooDeep } from "./document-failure.ts";
import type { Attribute, Body, Key, Position, Value } from "./hcl-node.ts";
import type { SourceText } from "./source-text.ts";

export function parseJson(source: SourceText): Body {
  return atOnce(readJson(source));
}

/** The same in slices. */
export function readJson(source: SourceText): Sliced<Body> {
  return new JsonReader(source).document();
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
const DIGIT = /[0-9]/;

class JsonReader {
  readonly #source: SourceText;
  readonly #text: string;
  readonly #pieces = new Pieces();
  #at: number;

  constructor(source: SourceText) {
    this.#source = source;
    this.#text = source.text;
    this.#at = source.start;
  }

  *document(): Sliced<Body> {
    this.#skip();
    if (this.#text[this.#at] !== "{") throw this.#expected("{ at the beginning of the document");
    const body = yield* this.#object(0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#expected("the end of the document");
    return body;
  }

  *#value(depth: number): Sliced<Value> {
    const position = this.#source.positionAt(this.#at);
    const character = this.#text[this.#at] ?? "";
    if (character === "{") return { kind: "object", body: yield* this.#object(depth), position };
    if (character === "[") return { kind: "list", elements: yield* this.#list(depth), position };
    return this.#scalar(character, position);
  }

  #scalar(character: string, position: Position): Value {
    if (character === '"') return { kind: "string", text: this.#string(), heredoc: null, position };
    if (character === "-" || DIGIT.test(character)) {
      return { kind: "number", text: this.#number(), position };
    }
    if (this.#word("true")) return { kind: "bool", value: true, position };
    if (this.#word("false")) return { kind: "bool", value: false, position };
    if (this.#word("null")) {
      throw syntaxError(position, "null is not accepted; leave the key or the element out");
    }
    throw this.#expected('a value: ", a number, true, false, [ or {');
  }

  *#object(depth: number): Sliced<Body> {
    const position = this.#source.positionAt(this.#at);
    const items: Attribute[] = [];
    const lines = new Map<string, number>();
    this.#open(depth);
    if (this.#closes("}")) return { items, position };
    do {
      const key = this.#key();
      const line = lines.get(key.text);
      if (line !== undefined) throw alreadySet(key.position, key.text, line);
      lines.set(key.text, key.position.line);
      if (this.#pieces.due) yield;
      const value = yield* this.#value(depth + 1);
      items.push({ kind: "attribute", key, value, position: key.position });
    } while (this.#another("}"));
    return { items, position };
  }

  #key(): Key {
    if (this.#text[this.#at] !== '"') throw this.#expected("a key in double quotes");
    const position = this.#source.positionAt(this.#at);
    const text = this.#string();
    this.#skip();
    if (this.#text[this.#at] !== ":") throw this.#expected(": after the key");
    this.#at += 1;
    this.#skip();
    return { text, quoted: true, position };
  }

  *#list(depth: number): Sliced<Value[]> {
    const elements: Value[] = [];
    this.#open(depth);
    if (this.#closes("]")) return elements;
    do {
      if (this.#pieces.due) yield;
      elements.push(yield* this.#value(depth + 1));
    } while (this.#another("]"));
    return elements;
  }

  #open(depth: number): void {
    const { limits } = this.#source;
    if (depth >= limits.depth) throw tooDeep(this.#source.positionAt(this.#at), limits.depth);
    this.#at += 1;
    this.#skip();
  }

  #closes(bracket: string): boolean {
    if (this.#text[this.#at] !== bracket) return false;
    this.#at += 1;
    return true;
  }

  /** Over the comma before a further member, or over the closing bracket. */
  #another(bracket: string): boolean {
    this.#skip();
    if (this.#closes(bracket)) return false;
    if (this.#text[this.#at] !== ",") throw this.#expected(`a comma or ${bracket}`);
    this.#at += 1;
    this.#skip();
    return true;
  }

  #string(): string {
    const opening = this.#at;
    let text = "";
    let from = opening + 1;
    for (this.#at = from; ;) {
      const character = this.#text[this.#at];
      if (character === '"') {
        text += this.#text.slice(from, this.#at);
        this.#at += 1;
        return text;
      }
      if (character === undefined || character < " ") {
        const problem = 'text is not closed: expected ", and tabs and line breaks as \\t and \\n';
        throw syntaxError(this.#source.positionAt(opening), problem);
      }
      if (character === "\\") {
        text += this.#text.slice(from, this.#at) + this.#escape();
        from = this.#at;
      } else {
        this.#at += 1;
      }
    }
  }

  #escape(): string {
    const offset = this.#at;
    const letter = this.#text[offset + 1] ?? "";
    const short = ESCAPES.get(letter);
    this.#at += 2;
    if (short !== undefined) return short;
    const unit = letter === "u" ? this.#source.hexAt(offset + 2, 4) : null;
    if (unit === null) {
      const problem = 'unknown escape; accepted are \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX';
      throw syntaxError(this.#source.positionAt(offset), problem);
    }
    this.#at += 4;
    if (unit >= 0xd800 && unit <= 0xdbff && this.#text.startsWith("\\u", this.#at)) {
      const low = this.#source.hexAt(this.#at + 2, 4);
      if (low !== null && low >= 0xdc00 && low <= 0xdfff) {
        this.#at += 6;
        return String.fromCharCode(unit, low);
      }
    }
    if (unit === 0 || (unit >= 0xd800 && unit <= 0xdfff)) {
      const problem =
        "the escape writes no character: NUL and unpaired surrogates are not accepted";
      throw syntaxError(this.#source.positionAt(offset), problem);
    }
    return String.fromCharCode(unit);
  }

  #number(): string {
    const offset = this.#at;
    if (this.#text[this.#at] === "-") this.#at += 1;
    const zero = this.#text[this.#at] === "0";
    const whole = this.#digits();
    let valid = whole > 0 && !(zero && whole > 1);
    if (this.#text[this.#at] === ".") {
      this.#at += 1;
      valid = this.#digits() > 0 && valid;
    }
    if (this.#text[this.#at] === "e" || this.#text[this.#at] === "E") {
      this.#at += 1;
      if (this.#text[this.#at] === "+" || this.#text[this.#at] === "-") this.#at += 1;
      valid = this.#digits() > 0 && valid;
    }
    if (valid) return this.#text.slice(offset, this.#at);
    const problem =
      "this is no number; accepted are such as 10, -2.5 and 1e6, without zeros in front";
    throw syntaxError(this.#source.positionAt(offset), problem);
  }

  #digits(): number {
    const from = this.#at;
    while (DIGIT.test(this.#text.charAt(this.#at))) this.#at += 1;
    return this.#at - from;
  }

  #word(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #skip(): void {
    while (" \t\r\n".includes(this.#text[this.#at] ?? "end")) this.#at += 1;
  }

  #expected(accepted: string): DocumentFailure {
    return syntaxError(this.#source.positionAt(this.#at), `expected ${accepted}`);
  }
}
