// The words of a template: text as it stands, and between "{{" and "}}" names, fields,
// variables, literals and signs. Trim markers and comments end here; nobody behind sees them.

export type TokenKind =
  | "text"
  | "open" // {{
  | "close" // }}
  | "name" // if, eq, true
  | "field" // .Name
  | "dot"
  | "variable" // $, $x
  | "string"
  | "integer"
  | "pipe"
  | "left"
  | "right"
  | "declare" // :=
  | "assign"; // =

export interface Token {
  readonly kind: TokenKind;
  /** What it stands for: of a string without quotes, of a field without its point. */
  readonly text: string;
  readonly at: number;
  /** Whether white space stands in front of it: `.A .B` are two arguments, `.A.B` is one. */
  readonly spaced: boolean;
}

/** What is wrong with a template, and where; lines and columns count from 1. */
export class TemplateError extends Error {
  readonly line: number;
  readonly column: number;
  /** Whether it wanted more than anything may take. */
  readonly limit: boolean;

  constructor(source: string, at: number, message: string, { limit = false } = {}) {
    super(message);
    this.name = "TemplateError";
    this.limit = limit;
    const before = source.slice(0, at);
    this.line = before.split("\n").length;
    this.column = at - before.lastIndexOf("\n");
  }
}

const SPACE = /[ \t\r\n]/;
const SIGNS: ReadonlyMap<string, TokenKind> = new Map([
  ["|", "pipe"],
  ["(", "left"],
  [")", "right"],
  [":=", "declare"],
  ["=", "assign"],
]);
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const INTEGER = /-?[0-9]+/y;
const ESCAPE = /\\(?:([nrt\\"])|u([0-9a-fA-F]{4}))/y;
const SIMPLE: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
const ESCAPES = '\\\\, \\", \\n, \\r, \\t and \\u with four digits';

export function lex(source: string): readonly Token[] {
  return new Lexer(source).all();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  all(): readonly Token[] {
    let trimNext = false;
    while (this.#at < this.#source.length) {
      const open = this.#source.indexOf("{{", this.#at);
      const end = open === -1 ? this.#source.length : open;
      const trimThis = open !== -1 && isTrim(this.#source, open + 2, 1);
      this.#text(end, trimNext, trimThis);
      if (open === -1) break;
      trimNext = this.#action(open, trimThis);
    }
    return this.#tokens;
  }

  #text(end: number, trimStart: boolean, trimEnd: boolean): void {
    const at = this.#at;
    let text = this.#source.slice(at, end);
    if (trimStart) text = text.replace(/^[ \t\r\n]+/, "");
    if (trimEnd) text = trimmedEnd(text);
    if (text !== "") this.#push("text", text, at, false);
    this.#at = end;
  }

  /** Gives whether the text behind it loses the white space it begins with. */
  #action(open: number, trimmed: boolean): boolean {
    this.#at = open + 2 + (trimmed ? 2 : 0);
    const comment = /[ \t\r\n]*/y;
    comment.lastIndex = this.#at;
    const begin = this.#at + (comment.exec(this.#source)?.[0].length ?? 0);
    if (this.#source.startsWith("/*", begin)) return this.#comment(begin);
    this.#push("open", "{{", open, false);
    for (;;) {
      const spaced = this.#skipSpace();
      if (spaced && this.#source.startsWith("-}}", this.#at)) return this.#close(3);
      if (this.#source.startsWith("}}", this.#at)) return this.#close(2);
      if (this.#at >= this.#source.length) throw this.#fault(open, "{{ without its }}");
      this.#one(spaced);
    }
  }

  #close(length: number): boolean {
    this.#push("close", "}}", this.#at, false);
    this.#at += length;
    return length === 3;
  }

  #comment(begin: number): boolean {
    const end = this.#source.indexOf("*/", begin + 2);
    if (end === -1) throw this.#fault(begin, "a comment does not end");
    this.#at = end + 2;
    const trims = isTrim(this.#source, this.#at, -1);
    if (trims) this.#at += 2;
    if (!this.#source.startsWith("}}", this.#at)) {
      throw this.#fault(this.#at, "a comment stands alone: }} must follow it");
    }
    this.#at += 2;
    return trims;
  }

  #one(spaced: boolean): void {
    const at = this.#at;
    const char = this.#source.charAt(at);
    const sign = SIGNS.get(this.#source.slice(at, at + 2)) ?? SIGNS.get(char);
    if (sign !== undefined) return this.#take(sign, sign === "declare" ? ":=" : char, spaced);
    if (char === '"') return this.#quoted(spaced);
    if (char === "`") return this.#raw(spaced);
    const name = this.#match(char === "." || char === "$" ? at + 1 : at, WORD);
    if (char === ".") {
      this.#at = at + 1 + name.length;
      return this.#push(name === "" ? "dot" : "field", name, at, spaced);
    }
    if (char === "$") {
      this.#at = at + 1 + name.length;
      return this.#push("variable", `$${name}`, at, spaced);
    }
    if (name !== "") return this.#take("name", name, spaced);
    const integer = this.#match(at, INTEGER);
    if (integer !== "") return this.#take("integer", integer, spaced);
    throw this.#fault(at, "a character that has no meaning here");
  }

  #quoted(spaced: boolean): void {
    const start = this.#at;
    let text = "";
    let at = start + 1;
    for (;;) {
      const char = this.#source.charAt(at);
      if (char === "" || char === "\n") throw this.#fault(start, "a text in quotes does not end");
      if (char === '"') break;
      if (char !== "\\") {
        text += char;
        at++;
        continue;
      }
      ESCAPE.lastIndex = at;
      const found = ESCAPE.exec(this.#source);
      if (found === null)
        throw this.#fault(at, `an escape that is not known; there are ${ESCAPES}`);
      text += this.#escaped(found, at);
      at += found[0].length;
    }
    this.#at = at + 1;
    this.#push("string", text, start, spaced);
  }

  #escaped([, simple, digits]: RegExpExecArray, at: number): string {
    if (simple !== undefined) return SIMPLE[simple] ?? simple;
    const unit = Number.parseInt(digits ?? "", 16);
    const half = unit >= 0xd800 && unit <= 0xdfff;
    if (half) throw this.#fault(at, "an escape that is half of a character");
    return String.fromCharCode(unit);
  }

  #raw(spaced: boolean): void {
    const end = this.#source.indexOf("`", this.#at + 1);
    if (end === -1) throw this.#fault(this.#at, "a text in back quotes does not end");
    const text = this.#source.slice(this.#at + 1, end);
    this.#push("string", text, this.#at, spaced);
    this.#at = end + 1;
  }

  #match(at: number, pattern: RegExp): string {
    pattern.lastIndex = at;
    return pattern.exec(this.#source)?.[0] ?? "";
  }

  #skipSpace(): boolean {
    const from = this.#at;
    while (SPACE.test(this.#source.charAt(this.#at))) this.#at++;
    return this.#at > from;
  }

  #take(kind: TokenKind, text: string, spaced: boolean): void {
    this.#push(kind, text, this.#at, spaced);
    this.#at += text.length;
  }

  #push(kind: TokenKind, text: string, at: number, spaced: boolean): void {
    this.#tokens.push({ kind, text, at, spaced });
  }

  #fault(at: number, message: string): TemplateError {
    return new TemplateError(this.#source, at, message);
  }
}

/** A hyphen with white space on the side of what is inside: behind it at the front, before it at the end. */
function isTrim(source: string, at: number, side: 1 | -1): boolean {
  const [hyphen, space] = side === 1 ? [at, at + 1] : [at + 1, at];
  return source.charAt(hyphen) === "-" && SPACE.test(source.charAt(space));
}

/** Without a pattern that would try every start of a long run of blanks. */
function trimmedEnd(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Where a parser is among the words. */
export class TokenCursor {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  readonly #end: Token;
  #next = 0;

  constructor(source: string, tokens: readonly Token[]) {
    this.#source = source;
    this.#tokens = tokens;
    this.#end = { kind: "close", text: "", at: source.length, spaced: false };
  }

  get ended(): boolean {
    return this.#next >= this.#tokens.length;
  }

  /** The one that comes next, or so many behind it. */
  peek(beyond = 0): Token {
    return this.#tokens[this.#next + beyond] ?? this.#end;
  }

  take(): Token {
    const token = this.peek();
    this.#next++;
    return token;
  }

  back(): void {
    this.#next--;
  }

  expect(kind: TokenKind, display: string): void {
    const token = this.take();
    if (token.kind !== kind) throw this.fault(token, `${display} must stand here`);
  }

  fault(where: { readonly at: number }, message: string): TemplateError {
    return new TemplateError(this.#source, where.at, message);
  }
}
