// Cuts a rule document into its comments and items without understanding expressions: for
// laying it out anew. What a document means is the parser's; this must only never cut in the wrong place.

import { syntaxError } from "../../document/document-failure.ts";
import type { SourceText } from "../../document/source-text.ts";

export type RulePart = RuleComment | RuleItem;

export interface RuleComment {
  readonly kind: "comment";
  readonly text: string;
  /** A blank line stands before it. */
  readonly spaced: boolean;
  /** Behind an item, on the line where that ends. */
  readonly behind: boolean;
}

export interface RuleItem {
  readonly kind: "item";
  readonly word: "rule" | "main" | "test";
  /** From the word up to the brace. */
  readonly head: string;
  /** Between the braces. */
  readonly body: string;
  readonly spaced: boolean;
}

const ITEM = /(rule|main|test)(?=[\s{"]|$)/y;
const BLANKS = /\s*/y;
const COMMENT = /(?:#|\/\/)[^\n]*/y;
// Text is closed by the quote that opened it; a backslash hides one, but not in raw text.
const TEXT = /([rRbB]{0,2})("""|'''|"|')/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*(?!["'A-Za-z0-9_])/y;

const EXPECTED = "expected rule, main, test, a comment or the end of the document";

export function scanRules(source: SourceText): RulePart[] {
  return new RuleScanner(source).parts();
}

/** How many brackets are open where each line begins. */
export function depthsOf(source: SourceText): number[] {
  return new RuleScanner(source).depths();
}

class RuleScanner {
  readonly #source: SourceText;
  readonly #text: string;
  readonly #parts: RulePart[] = [];
  #at: number;

  constructor(source: SourceText) {
    this.#source = source;
    this.#text = source.text;
    this.#at = source.start;
  }

  parts(): RulePart[] {
    for (;;) {
      const blanks = this.#take(BLANKS)?.[0] ?? "";
      if (this.#at >= this.#text.length) return this.#parts;
      const breaks = blanks.split("\n").length - 1;
      const spaced = breaks > 1;
      const comment = this.#take(COMMENT);
      const behind = breaks === 0 && this.#parts.length > 0;
      if (comment === null) this.#item(spaced);
      else this.#parts.push({ kind: "comment", text: comment[0].trimEnd(), spaced, behind });
    }
  }

  depths(): number[] {
    const depths = [0];
    let depth = 0;
    while (this.#at < this.#text.length) {
      const character = this.#next();
      if ("([{".includes(character)) depth += 1;
      else if (")]}".includes(character)) depth -= 1;
      else if (character === "\n") depths.push(depth);
    }
    return depths;
  }

  #item(spaced: boolean): void {
    const offset = this.#at;
    const word = this.#take(ITEM)?.[1];
    if (word !== "rule" && word !== "main" && word !== "test") {
      throw this.#failed(offset, EXPECTED);
    }
    for (;;) {
      const open = this.#toBrace(offset);
      const close = this.#toClosing(open);
      this.#at = close + 1;
      if (!this.#ends()) {
        // An object in the condition of `when`: the body is still to come.
        if (word === "main") continue;
        this.#take(BLANKS);
        throw this.#failed(this.#at, EXPECTED);
      }
      const head = this.#text.slice(offset, open).trimEnd();
      const body = this.#text.slice(open + 1, close);
      this.#parts.push({ kind: "item", word, head, body, spaced });
      return;
    }
  }

  /** Over what stands before a brace that is inside no other bracket. */
  #toBrace(item: number): number {
    let depth = 0;
    while (this.#at < this.#text.length) {
      const character = this.#next();
      if (character === "{" && depth === 0) return this.#at - 1;
      if ("([{".includes(character)) depth += 1;
      else if (")]}".includes(character)) depth -= 1;
    }
    throw this.#failed(item, "no { follows");
  }

  #toClosing(open: number): number {
    let depth = 1;
    while (this.#at < this.#text.length) {
      const character = this.#next();
      if (character === "{") depth += 1;
      else if (character === "}" && --depth === 0) return this.#at - 1;
    }
    throw this.#failed(open, "this { is never closed");
  }

  /** One character, or a whole text or comment, which counts as a blank. */
  #next(): string {
    if (this.#take(COMMENT) !== null) return " ";
    const text = this.#take(TEXT);
    if (text === null) {
      // A word is taken whole: its last letter is no prefix of a text behind it.
      const word = this.#take(WORD);
      if (word !== null) return " ";
      return this.#text[this.#at++]!;
    }
    const [, prefix = "", quote = ""] = text;
    const raw = /r/i.test(prefix);
    const start = this.#at - quote.length;
    while (this.#at < this.#text.length) {
      if (this.#text.startsWith(quote, this.#at)) {
        this.#at += quote.length;
        return " ";
      }
      const character = this.#text[this.#at]!;
      if (character === "\n" && quote.length === 1) break;
      this.#at += character === "\\" && !raw ? 2 : 1;
    }
    throw this.#failed(start, "this text is never closed");
  }

  /** Whether an item may end here. */
  #ends(): boolean {
    const before = this.#at;
    while (this.#take(BLANKS)?.[0] !== "" || this.#take(COMMENT) !== null);
    const ends = this.#at >= this.#text.length || this.#take(ITEM) !== null;
    this.#at = before;
    return ends;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  #failed(offset: number, problem: string): Error {
    return syntaxError(this.#source.positionAt(offset), problem);
  }
}
