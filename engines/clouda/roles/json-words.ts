// JSON as words: strings, numbers, names and signs with their places, white space left out. It checks as
// JSON.parse does and keeps every word as it was written, and it can say where a text stops being JSON
// without quoting it.

/** Where a text stops being JSON; `line` and `column` count from 1. */
export class JsonFault extends Error {
  readonly line: number;
  readonly column: number;

  constructor(text: string, at: number) {
    super("not JSON");
    const before = text.slice(0, at);
    this.line = before.split("\n").length;
    this.column = at - before.lastIndexOf("\n");
  }
}

/** What may come next. */
type Expected = "value" | "value or ]" | "key" | "key or }" | ":" | "end" | "nothing";

const MAX_DEPTH = 100;
const SPACE = " \t\r\n";
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NAME = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Throws JsonFault. */
export function jsonWords(text: string): readonly string[] {
  return new Words(text).all();
}

class Words {
  readonly #text: string;
  readonly #words: string[] = [];
  readonly #open: ("{" | "[")[] = [];
  #at = 0;
  #expected: Expected = "value";

  constructor(text: string) {
    this.#text = text;
  }

  all(): readonly string[] {
    for (;;) {
      while (this.#at < this.#text.length && SPACE.includes(this.#text.charAt(this.#at)))
        this.#at++;
      if (this.#at >= this.#text.length) break;
      const word = this.#word();
      this.#words.push(word);
      this.#at += word.length;
    }
    if (this.#expected !== "nothing") throw this.#fault();
    return this.#words;
  }

  /** The next one, which must be one of those that are expected; what is expected then. */
  #word(): string {
    const sign = this.#text.charAt(this.#at);
    const open = this.#open.at(-1);
    switch (this.#expected) {
      case "nothing":
        throw this.#fault();
      case ":":
        if (sign !== ":") throw this.#fault();
        this.#expected = "value";
        return sign;
      case "end":
        if (sign === ",") {
          this.#expected = open === "{" ? "key" : "value";
          return sign;
        }
        return this.#close(sign);
      case "key or }":
        if (sign === "}") return this.#close(sign);
        return this.#key(sign);
      case "key":
        return this.#key(sign);
      case "value or ]":
        if (sign === "]") return this.#close(sign);
        return this.#value(sign);
      case "value":
        return this.#value(sign);
    }
  }

  #key(sign: string): string {
    if (sign !== '"') throw this.#fault();
    this.#expected = ":";
    return this.#string();
  }

  #value(sign: string): string {
    if (sign === "{" || sign === "[") {
      if (this.#open.length >= MAX_DEPTH) throw this.#fault();
      this.#open.push(sign);
      this.#expected = sign === "{" ? "key or }" : "value or ]";
      return sign;
    }
    const word = sign === '"' ? this.#string() : (this.#match(NAME) ?? this.#match(NUMBER));
    if (word === null) throw this.#fault();
    this.#closed();
    return word;
  }

  #close(sign: string): string {
    if (sign !== (this.#open.at(-1) === "{" ? "}" : "]")) throw this.#fault();
    this.#open.pop();
    this.#closed();
    return sign;
  }

  #closed(): void {
    this.#expected = this.#open.length === 0 ? "nothing" : "end";
  }

  #string(): string {
    let at = this.#at + 1;
    for (;;) {
      const char = this.#text.charAt(at);
      if (char === '"') return this.#text.slice(this.#at, at + 1);
      if (char === "" || char < " ") throw this.#fault(at);
      if (char !== "\\") {
        at++;
        continue;
      }
      ESCAPE.lastIndex = at;
      const escape = ESCAPE.exec(this.#text);
      if (escape === null) throw this.#fault(at);
      at += escape[0].length;
    }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0] ?? null;
  }

  #fault(at = this.#at): JsonFault {
    return new JsonFault(this.#text, at);
  }
}
