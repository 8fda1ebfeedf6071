// The words of an expression. One pass over one part of a document, in time that grows with its
// length. White space and comments (`//` as in CEL, `#` as in the document around) fall away here.

import { type Constant } from "./node.ts";
import { syntax } from "../failures.ts";
import type { SourceText } from "../../document/source-text.ts";
import { StringReader } from "./string-reader.ts";

export interface Token {
  /** "mark" is an operator or a bracket, "end" what stands behind the last word. */
  readonly kind: "name" | "constant" | "mark" | "end";
  /** Of a name or mark, as written. */
  readonly text: string;
  readonly value: Constant;
  readonly at: number;
  /** Behind the last character. */
  readonly to: number;
}

const BLANK = /(?:[ \t\r\n]|\/\/[^\n]*|#[^\n]*)*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER =
  /0[xX][0-9A-Fa-f]+[uU]?|(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+(?:[eE][+-]?[0-9]+|[uU])?/y;
const STRING = /[bB]?[rR]?["']/y;
const MARK = /&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()[\]{}=]/y;

const MAX_INT = 2n ** 63n;
const MAX_UINT = 2n ** 64n - 1n;
const MAX_DIGITS = 400; // no number that fits has more, a double in full included

export class Lexer {
  readonly source: SourceText;
  #at: number;
  readonly #end: number;

  constructor(source: SourceText, from: number, to: number) {
    this.source = source;
    this.#at = from;
    this.#end = to;
  }

  get at(): number {
    return this.#at;
  }

  next(): Token {
    this.#take(BLANK);
    const at = this.#at;
    if (at >= this.#end)
      return { kind: "end", text: "", value: null, at: this.#end, to: this.#end };
    const begin = this.#take(STRING);
    if (begin !== null) return this.#string(at, begin);
    const name = this.#take(NAME);
    if (name !== null) return this.#name(at, name);
    const number = this.#take(NUMBER);
    if (number !== null) return this.#constant(at, this.#number(at, number));
    const mark = this.#take(MARK);
    if (mark !== null) return { kind: "mark", text: mark, value: null, at, to: this.#at };
    throw syntax(this.source, at, `unexpected ${describe(this.source.text, at)}`);
  }

  #take(form: RegExp): string | null {
    form.lastIndex = this.#at;
    const found = form.exec(this.source.text)?.[0] ?? null;
    if (found === null) return null;
    // A comment may run on to the line's end, behind a part that ends within the line.
    this.#at = Math.min(this.#at + found.length, this.#end);
    return found;
  }

  #name(at: number, name: string): Token {
    const value = WORDS.get(name);
    if (value !== undefined) return this.#constant(at, value);
    return { kind: "name", text: name, value: null, at, to: this.#at };
  }

  #constant(at: number, value: Constant): Token {
    return { kind: "constant", text: "", value, at, to: this.#at };
  }

  #string(at: number, begin: string): Token {
    const reader = new StringReader(this.source, at, begin, this.#end);
    const value = reader.read();
    this.#at = reader.at;
    return this.#constant(at, value);
  }

  #number(at: number, text: string): Constant {
    if (text.length > MAX_DIGITS) throw syntax(this.source, at, "a number with too many digits");
    if (/^(?!0[xX]).*[.eE]/.test(text)) return Number(text);
    if (/[uU]$/.test(text)) {
      const value = BigInt(text.slice(0, -1));
      if (value > MAX_UINT)
        throw syntax(this.source, at, "an unsigned integer has at most 64 bits");
      return { unsigned: value };
    }
    const value = BigInt(text);
    // One more than fits: its negative does, and whoever reads the minus looks again.
    if (value > MAX_INT) throw syntax(this.source, at, "an integer has at most 64 bits");
    return value;
  }
}

const WORDS: ReadonlyMap<string, Constant> = new Map<string, Constant>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

function describe(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? `"${character}"`
    : `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
