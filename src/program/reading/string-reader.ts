// Text and bytes in quotes, as CEL writes them: single or double, threefold over several lines, raw.

import { syntax } from "../failures.ts";
import type { SourceText } from "../../document/source-text.ts";

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\\", "\\"],
  ["?", "?"],
  ['"', '"'],
  ["'", "'"],
  ["`", "`"],
]);
const HEX_DIGITS: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["X", 2],
  ["u", 4],
  ["U", 8],
]);
const UTF8 = new TextEncoder();
const OCTAL = /[0-3][0-7][0-7]/y;

export class StringReader {
  readonly #source: SourceText;
  readonly #from: number;
  readonly #end: number;
  readonly #bytes: boolean;
  readonly #raw: boolean;
  readonly #quote: string;
  #at: number;
  /** Of a text; of bytes each unit is one byte. */
  #out = "";

  /** `begin` is the prefix with the first quote; nothing behind `end` belongs to it. */
  constructor(source: SourceText, from: number, begin: string, end: number) {
    this.#source = source;
    this.#from = from;
    this.#end = end;
    this.#bytes = /^[bB]/.test(begin);
    this.#raw = /^.?[rR]/.test(begin) && begin.length > 1;
    const quote = begin.slice(-1);
    const threefold = source.text.startsWith(quote.repeat(3), from + begin.length - 1);
    this.#quote = threefold ? quote.repeat(3) : quote;
    this.#at = from + begin.length - 1 + this.#quote.length;
  }

  get at(): number {
    return this.#at;
  }

  read(): string | Uint8Array {
    const { text } = this.#source;
    for (;;) {
      if (this.#at + this.#quote.length > this.#end) throw this.#open();
      if (text.startsWith(this.#quote, this.#at)) break;
      const character = text.charAt(this.#at);
      if (this.#quote.length === 1 && (character === "\n" || character === "\r"))
        throw this.#open();
      if (character === "\\" && !this.#raw) this.#escape();
      else this.#plain();
    }
    this.#at += this.#quote.length;
    return this.#bytes ? Uint8Array.from(this.#out, (unit) => unit.charCodeAt(0)) : this.#out;
  }

  #plain(): void {
    const character = String.fromCodePoint(this.#source.text.codePointAt(this.#at) ?? 0);
    this.#at += character.length;
    if (!this.#bytes) this.#out += character;
    else for (const byte of UTF8.encode(character)) this.#out += String.fromCharCode(byte);
  }

  #escape(): void {
    const start = this.#at;
    const letter = this.#source.text.charAt(start + 1);
    this.#at += 2;
    const simple = ESCAPES.get(letter);
    if (simple !== undefined) {
      this.#out += simple;
      return;
    }
    const digits = HEX_DIGITS.get(letter);
    if (digits !== undefined && !(this.#bytes && digits > 2)) {
      const value = this.#source.hexAt(this.#at, digits);
      if (value === null)
        throw this.#wrong(start, `\\${letter} needs ${digits} hexadecimal digits`);
      this.#at += digits;
      this.#add(start, value);
      return;
    }
    OCTAL.lastIndex = start + 1;
    const octal = OCTAL.exec(this.#source.text)?.[0];
    if (octal === undefined) throw this.#wrong(start, "unknown escape; a backslash itself is \\\\");
    this.#at = start + 4;
    this.#add(start, parseInt(octal, 8));
  }

  #add(start: number, value: number): void {
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
      throw this.#wrong(start, "this number is no Unicode character");
    }
    this.#out += String.fromCodePoint(value);
  }

  #open(): Error {
    return this.#wrong(this.#from, `a string that begins here is not closed by ${this.#quote}`);
  }

  #wrong(at: number, problem: string): Error {
    return syntax(this.#source, at, problem);
  }
}
