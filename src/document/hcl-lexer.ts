// Cuts HCL text into tokens, one at a time, each character looked at once. Comments are no tokens:
// they travel with the token that follows them.

import { showCharacter, syntaxError } from "./document-failure.ts";
import type { Comment, Heredoc } from "./hcl-node.ts";
import { readHeredoc, readQuoted } from "./hcl-string.ts";
import type { SourceText } from "./source-text.ts";

type Punctuation = "{" | "}" | "[" | "]" | "," | "=" | ":";

export interface Token {
  readonly kind: Punctuation | "identifier" | "string" | "heredoc" | "number" | "end";
  /** Of text the decoded form, otherwise as written. */
  readonly text: string;
  readonly heredoc: Heredoc | null;
  readonly offset: number;
  /** Just behind it. */
  readonly end: number;
  /** Those between the token before and this one. */
  readonly comments: readonly Comment[];
  /** A blank line stands right before it. */
  readonly spaced: boolean;
}

export const NO_COMMENTS: readonly Comment[] = [];

const LETTER = /[A-Za-z_]/;
const NAME_CHARACTER = /[A-Za-z0-9_.-]/;
const NUMBER_START = /[0-9-]/;
const DIGIT = /[0-9]/;
const HEX_DIGIT = /[0-9A-Fa-f]/;

export class HclLexer {
  readonly #source: SourceText;
  readonly #text: string;
  #at: number;
  readonly #keeps: boolean;
  #comments: readonly Comment[] = NO_COMMENTS; // before the next token
  #spaced = false;

  /** `comments`: whether they are kept. */
  constructor(source: SourceText, comments = true) {
    this.#keeps = comments;
    this.#source = source;
    this.#text = source.text;
    this.#at = source.start;
  }

  next(): Token {
    this.#skip();
    const offset = this.#at;
    const character = this.#text[offset];
    if (character === undefined) return this.#token("end", "", offset);
    if (isPunctuation(character)) return this.#token(character, character, offset + 1);
    if (character === '"') {
      const { text, end } = readQuoted(this.#source, offset);
      return this.#token("string", text, end);
    }
    if (character === "<" && this.#text[offset + 1] === "<") {
      const { text, end, heredoc } = readHeredoc(this.#source, offset);
      return this.#token("heredoc", text, end, heredoc);
    }
    if (LETTER.test(character)) {
      const end = this.#run(offset, NAME_CHARACTER);
      return this.#token("identifier", this.#text.slice(offset, end), end);
    }
    if (NUMBER_START.test(character)) {
      const end = this.#endOfNumber(offset);
      return this.#token("number", this.#text.slice(offset, end), end);
    }
    throw this.#unexpected(offset);
  }

  #token(kind: Token["kind"], text: string, end: number, heredoc: Heredoc | null = null): Token {
    const offset = this.#at;
    this.#at = end;
    return { kind, text, heredoc, offset, end, comments: this.#comments, spaced: this.#spaced };
  }

  /** Where the characters of a class end; each is tested alone, so nothing can backtrack. */
  #run(from: number, characters: RegExp): number {
    let at = from;
    while (at < this.#text.length && characters.test(this.#text.charAt(at))) at += 1;
    return at;
  }

  #endOfNumber(offset: number): number {
    const from = this.#text[offset] === "-" ? offset + 1 : offset;
    const end = this.#text.startsWith("0x", from)
      ? this.#digits(from + 2, HEX_DIGIT)
      : this.#endOfDecimal(from);
    // A zero in front is octal to some readers and not to others.
    const ambiguous = this.#text[from] === "0" && DIGIT.test(this.#text.charAt(from + 1));
    if (end === null || ambiguous || NAME_CHARACTER.test(this.#text.charAt(end))) {
      const problem =
        "this is no number; accepted are such as 10, -2.5, 1e6 and 0x1f, without zeros in front";
      throw syntaxError(this.#source.positionAt(offset), problem);
    }
    return end;
  }

  #endOfDecimal(from: number): number | null {
    let end = this.#digits(from, DIGIT);
    if (end !== null && this.#text[end] === ".") end = this.#digits(end + 1, DIGIT);
    if (end === null || (this.#text[end] !== "e" && this.#text[end] !== "E")) return end;
    const sign = this.#text[end + 1] === "+" || this.#text[end + 1] === "-" ? 1 : 0;
    return this.#digits(end + 1 + sign, DIGIT);
  }

  /** At least one. */
  #digits(from: number, digit: RegExp): number | null {
    const end = this.#run(from, digit);
    return end === from ? null : end;
  }

  /** Moves over blanks and comments to the next token. */
  #skip(): void {
    let comments: Comment[] | null = null;
    let feeds = 0; // since the last token or comment: two make a blank line
    for (;;) {
      const character = this.#text[this.#at];
      if (character === " " || character === "\t" || character === "\r") this.#at += 1;
      else if (character === "\n") {
        this.#at += 1;
        feeds += 1;
      } else if (character === "#" || character === "/") {
        if (this.#keeps) (comments ??= []).push(this.#comment(feeds > 1));
        else this.#passComment();
        feeds = 0;
      } else break;
    }
    this.#comments = comments ?? NO_COMMENTS;
    this.#spaced = feeds > 1;
  }

  #comment(spaced: boolean): Comment {
    const offset = this.#at;
    this.#passComment();
    const written = this.#text.slice(offset, this.#at);
    const text = written.startsWith("/*") ? written.replaceAll("\r\n", "\n") : written.trimEnd();
    return { text, spaced, position: this.#source.positionAt(offset) };
  }

  #passComment(): void {
    const offset = this.#at;
    if (this.#text.startsWith("/*", offset)) {
      const close = this.#text.indexOf("*/", offset + 2);
      if (close === -1) {
        const position = this.#source.positionAt(offset);
        throw syntaxError(position, "the comment is not closed: expected */");
      }
      this.#at = close + 2;
      return;
    }
    if (this.#text[offset] === "/" && this.#text[offset + 1] !== "/")
      throw this.#unexpected(offset);
    const feed = this.#text.indexOf("\n", offset);
    this.#at = feed === -1 ? this.#text.length : feed;
  }

  #unexpected(offset: number): Error {
    const character = String.fromCodePoint(this.#text.codePointAt(offset) ?? 0);
    const display = /[!-~]/.test(character) ? character : showCharacter(character);
    const problem =
      `unexpected ${display}; outside comments and double quotes accepted are ` +
      'names of a-z A-Z 0-9 _ - ., numbers, and { } [ ] , = : " # // /* <<';
    return syntaxError(this.#source.positionAt(offset), problem);
  }
}

function isPunctuation(character: string): character is Punctuation {
  switch (character) {
    case "{":
    case "}":
    case "[":
    case "]":
    case ",":
    case "=":
    case ":":
      return true;
    default:
      return false;
  }
}
