// The second form: `rule NAME { … }`, `main [when …] { … }` and `test "…" { … }`. Braces are matched
// by words, so that one inside a string or a comment does not count.

import { showName } from "../../document/document-failure.ts";
import type { SourceText } from "../../document/source-text.ts";
import {
  commentAbove,
  type WrittenProgram,
  type WrittenRule,
  type WrittenTest,
} from "./written-program.ts";
import { syntax, tooDeep } from "../failures.ts";
import { Lexer, type Token } from "./lexer.ts";
import { MAX_NESTING } from "../limits.ts";
import { TestReader } from "./test-reader.ts";
import type { Node } from "./node.ts";
import { parseExpression } from "./parser.ts";

const KEYWORDS: ReadonlySet<string> = new Set(["rule", "main", "test"]);
const MAX_RULES = 1_000;

export function readRuleDocument(source: SourceText): WrittenProgram {
  return new Reader(source).read();
}

interface Main {
  readonly when: Node | null;
  readonly rule: WrittenRule;
}

class Reader {
  readonly #source: SourceText;
  readonly #words: readonly Token[];
  #i = 0;
  readonly #rules = new Map<string, WrittenRule>();
  #main: Main | null = null;
  readonly #tests = new Map<string, WrittenTest>();

  constructor(source: SourceText) {
    this.#source = source;
    const lexer = new Lexer(source, source.start, source.text.length);
    const words: Token[] = [];
    do words.push(lexer.next());
    while (words.at(-1)?.kind !== "end");
    this.#words = words;
  }

  read(): WrittenProgram {
    while (this.#word.kind !== "end") this.#item();
    if (this.#main === null)
      throw this.#wrong(this.#word.at, "a rule document needs one main { … }");
    const { when, rule } = this.#main;
    return {
      source: this.#source,
      bare: false,
      rules: Array.from(this.#rules.values()),
      when,
      main: rule,
      description: commentAbove(this.#source, rule.at),
      tests: Array.from(this.#tests.values()),
    };
  }

  get #word(): Token {
    const word = this.#words[this.#i] ?? this.#words.at(-1);
    if (word === undefined) throw this.#wrong(0, "an empty document");
    return word;
  }

  #next(): Token {
    const word = this.#word;
    this.#i += 1;
    return word;
  }

  #item(): void {
    const word = this.#next();
    if (word.kind === "name" && word.text === "rule") this.#rule(word.at);
    else if (word.kind === "name" && word.text === "main") this.#readMain(word.at);
    else if (word.kind === "name" && word.text === "test") this.#test(word.at);
    else throw this.#wrong(word.at, 'expected "rule", "main" or "test"');
  }

  #rule(at: number): void {
    const name = this.#next();
    if (name.kind !== "name") throw this.#wrong(name.at, "expected the name of the rule");
    if (name.text === "main") throw this.#wrong(name.at, '"main" is no name for a rule');
    const before = this.#rules.get(name.text);
    if (before !== undefined) {
      const { line } = this.#source.positionAt(before.at);
      const problem = `rule ${showName(name.text)} was already given on line ${line}`;
      throw this.#wrong(name.at, problem);
    }
    if (this.#main !== null) {
      throw this.#wrong(at, "rules stand before main, which could not use this one");
    }
    if (this.#rules.size >= MAX_RULES) throw this.#wrong(at, `more than ${MAX_RULES} rules`);
    const node = this.#block();
    this.#rules.set(name.text, { name: name.text, node, at });
  }

  #readMain(at: number): void {
    if (this.#main !== null) {
      const { line } = this.#source.positionAt(this.#main.rule.at);
      throw this.#wrong(at, `main was already given on line ${line}`);
    }
    let when: Node | null = null;
    if (this.#word.kind === "name" && this.#word.text === "when") {
      const from = this.#next().to;
      const to = this.#bodyStart(at);
      when = parseExpression(this.#source, from, to);
    }
    this.#main = { when, rule: { name: "main", node: this.#block(), at } };
  }

  /** The expression may hold braces of its own: the body is the last pair before another item. */
  #bodyStart(at: number): number {
    for (;;) {
      const word = this.#word;
      if (word.kind === "end") throw this.#wrong(at, "main has no { … }");
      if (word.text !== "{" || word.kind !== "mark") {
        if (word.kind === "mark" && /^[([]$/.test(word.text)) this.#pair();
        else this.#i += 1;
        continue;
      }
      const start = this.#i;
      this.#pair();
      const behind = this.#word;
      if (behind.kind === "end" || (behind.kind === "name" && KEYWORDS.has(behind.text))) {
        this.#i = start;
        return word.at;
      }
    }
  }

  /** Steps over a bracket and all that it holds; gives the closing one. */
  #pair(): Token {
    const open = this.#next();
    const expected: string[] = [CLOSING.get(open.text) ?? ""];
    for (;;) {
      const word = this.#next();
      if (word.kind === "end") {
        const { line, column } = this.#source.positionAt(open.at);
        throw this.#wrong(
          word.at,
          `expected "${expected.at(-1)}" for the bracket of ${line}:${column}`,
        );
      }
      if (word.kind !== "mark") continue;
      const closing = CLOSING.get(word.text);
      if (closing !== undefined) {
        expected.push(closing);
        // One more than inside an expression, whose own braces these are.
        if (expected.length > MAX_NESTING + 1) throw tooDeep(this.#source, word.at, MAX_NESTING);
      } else if (/^[)\]}]$/.test(word.text)) {
        const wanted = expected.pop();
        if (wanted !== word.text) {
          throw this.#wrong(word.at, `expected "${wanted}", found "${word.text}"`);
        }
        if (expected.length === 0) return word;
      }
    }
  }

  #block(): Node {
    const open = this.#word;
    if (open.kind !== "mark" || open.text !== "{") throw this.#wrong(open.at, 'expected "{"');
    const close = this.#pair();
    return parseExpression(this.#source, open.to, close.at);
  }

  #test(at: number): void {
    const name = this.#next();
    if (name.kind !== "constant" || typeof name.value !== "string" || name.value === "") {
      throw this.#wrong(
        name.at,
        'expected the name of the test in quotes, as in test "at night" { … }',
      );
    }
    if (this.#tests.has(name.value)) {
      throw this.#wrong(name.at, `test ${showName(name.value)} was already given`);
    }
    const open = this.#word;
    if (open.kind !== "mark" || open.text !== "{") throw this.#wrong(open.at, 'expected "{"');
    const close = this.#pair();
    const body = new TestReader(this.#source, open.to, close.at).read();
    this.#tests.set(name.value, { name: name.value, at, ...body });
  }

  #wrong(at: number, problem: string): Error {
    return syntax(this.#source, at, problem);
  }
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);
