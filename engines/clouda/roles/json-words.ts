// JSON as words: strings, numbers, names and signs with their places, white space left out. It checks as
// JSON.parse does and leaves every word as it was written, and it can say where a text stops being JSON
// without quoting it. In one walk, and without a list of them: a document may be made of nothing but short words.

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

/** Told of each word: where it begins and ends, and whether it is a string with an escape in it. */
export type OnWord = (start: number, end: number, escaped: boolean) => void;

/** What may come next. */
type Expected = "value" | "value or ]" | "key" | "key or }" | ":" | "end" | "nothing";

const MAX_DEPTH = 100;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NAME = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Throws JsonFault. */
export function walkJson(text: string, onWord: OnWord): void {
  new Walk(text, onWord).all();
}

class Walk {
  readonly #text: string;
  readonly #onWord: OnWord;
  readonly #open: ("{" | "[")[] = [];
  #at = 0;
  #escaped = false;
  #expected: Expected = "value";

  constructor(text: string, onWord: OnWord) {
    this.#text = text;
    this.#onWord = onWord;
  }

  all(): void {
    for (;;) {
      while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
      if (this.#at >= this.#text.length) break;
      this.#escaped = false;
      const end = this.#word();
      this.#onWord(this.#at, end, this.#escaped);
      this.#at = end;
    }
    if (this.#expected !== "nothing") throw this.#fault();
  }

  /** The end of the next one, which must be one of those that are expected; what is expected then. */
  #word(): number {
    const sign = this.#text.charAt(this.#at);
    switch (this.#expected) {
      case "nothing":
        throw this.#fault();
      case ":":
        if (sign !== ":") throw this.#fault();
        this.#expected = "value";
        return this.#at + 1;
      case "end":
        if (sign !== ",") return this.#close(sign);
        this.#expected = this.#open.at(-1) === "{" ? "key" : "value";
        return this.#at + 1;
      case "key or }":
        return sign === "}" ? this.#close(sign) : this.#key(sign);
      case "key":
        return this.#key(sign);
      case "value or ]":
        return sign === "]" ? this.#close(sign) : this.#value(sign);
      case "value":
        return this.#value(sign);
    }
  }

  #key(sign: string): number {
    if (sign !== '"') throw this.#fault();
    this.#expected = ":";
    return this.#string();
  }

  #value(sign: string): number {
    if (sign === "{" || sign === "[") {
      if (this.#open.length >= MAX_DEPTH) throw this.#fault();
      this.#open.push(sign);
      this.#expected = sign === "{" ? "key or }" : "value or ]";
      return this.#at + 1;
    }
    const end =
      sign === '"' ? this.#string() : (this.#digits() ?? this.#match(NUMBER) ?? this.#match(NAME));
    if (end === null) throw this.#fault();
    this.#closed();
    return end;
  }

  #close(sign: string): number {
    if (sign !== (this.#open.at(-1) === "{" ? "}" : "]")) throw this.#fault();
    this.#open.pop();
    this.#closed();
    return this.#at + 1;
  }

  #closed(): void {
    this.#expected = this.#open.length === 0 ? "nothing" : "end";
  }

  #string(): number {
    const text = this.#text;
    let at = this.#at + 1;
    for (;;) {
      const unit = text.charCodeAt(at);
      if (unit === 0x22) return at + 1;
      if (unit !== 0x5c) {
        if (!(unit >= 0x20)) throw this.#fault(at); // NaN at the end of the text
        at++;
        continue;
      }
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) throw this.#fault(at);
      this.#escaped = true;
      at = ESCAPE.lastIndex;
    }
  }

  /** Of a whole number that is written plainly, as nearly all are; null for every other word. */
  #digits(): number | null {
    let at = this.#at;
    let unit = this.#text.charCodeAt(at);
    if (!(unit >= 0x31 && unit <= 0x39)) return null;
    while (unit >= 0x30 && unit <= 0x39) unit = this.#text.charCodeAt(++at);
    return unit === 0x2e || unit === 0x65 || unit === 0x45 ? null : at;
  }

  #match(pattern: RegExp): number | null {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text) ? pattern.lastIndex : null;
  }

  #fault(at = this.#at): JsonFault {
    return new JsonFault(this.#text, at);
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
