// The grammar of CEL, from words to a tree, in time that grows with the text; a test holds it against
// another implementation. No recovery: the first fault is the answer.

import type { SourceText } from "../../document/source-text.ts";
import { limit, syntax, tooDeep } from "../failures.ts";
import { Lexer, type Token } from "./lexer.ts";
import { MAX_EXPRESSION, MAX_NESTING, MAX_DEPTH, MAX_NODES } from "../limits.ts";
import {
  type CallNode,
  type FoldNode,
  type Macro,
  type MapNode,
  type Node,
  childrenOf,
} from "./node.ts";

/** The expression between two offsets, which is all that stands there. */
export function parseExpression(source: SourceText, from: number, to: number): Node {
  if (new TextEncoder().encode(source.text.slice(from, to)).length > MAX_EXPRESSION) {
    throw limit(source, from, `an expression may have at most ${MAX_EXPRESSION} bytes`);
  }
  return new Parser(new Lexer(source, from, to)).whole();
}

const RELATIONS: ReadonlySet<string> = new Set(["<", "<=", ">", ">=", "==", "!="]);
const SUMS: ReadonlySet<string> = new Set(["+", "-"]);
const PRODUCTS: ReadonlySet<string> = new Set(["*", "/", "%"]);
// Words that CEL keeps for other languages. `namespace` is one of them, but is a name here.
const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package return var void while".split(
    " ",
  ),
);

class Parser {
  readonly #lexer: Lexer;
  #token: Token;
  #nesting = 0;
  readonly #size: TreeSize;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
    this.#token = lexer.next();
    this.#size = new TreeSize(lexer.source);
  }

  whole(): Node {
    if (this.#isAtEnd) throw this.#expected("an expression");
    const node = this.#expression();
    if (!this.#isAtEnd) throw this.#expected("an operator or the end");
    return node;
  }

  #expression(): Node {
    const { at } = this.#token;
    const condition = this.#logical("||", () => this.#logical("&&", () => this.#relation()));
    if (!this.#skip("?")) return condition;
    this.#enter(at);
    const yes = this.#logical("||", () => this.#logical("&&", () => this.#relation()));
    this.#need(":", "between the two results of a condition");
    const no = this.#expression();
    this.#leave();
    return this.#call(at, "_?_:_", null, [condition, yes, no]);
  }

  /** One call for the whole row: `a && b && c` is as deep as `a && b`. */
  #logical(mark: string, part: () => Node): Node {
    const first = part();
    if (!this.#is(mark)) return first;
    const { at } = this.#token;
    const parts = [first];
    while (this.#skip(mark)) parts.push(part());
    return this.#call(at, `_${mark}_`, null, parts);
  }

  #relation(): Node {
    let left = this.#sum();
    for (;;) {
      const { at, kind, text } = this.#token;
      if (kind === "name" && text === "in") {
        this.#step();
        left = this.#call(at, "@in", null, [left, this.#sum()]);
      } else if (kind === "mark" && RELATIONS.has(text)) {
        this.#step();
        left = this.#call(at, `_${text}_`, null, [left, this.#sum()]);
      } else return left;
    }
  }

  #sum(): Node {
    return this.#row(SUMS, () => this.#row(PRODUCTS, () => this.#unary()));
  }

  #row(marks: ReadonlySet<string>, part: () => Node): Node {
    let left = part();
    while (this.#token.kind === "mark" && marks.has(this.#token.text)) {
      const { at, text } = this.#token;
      this.#step();
      left = this.#call(at, `_${text}_`, null, [left, part()]);
    }
    return left;
  }

  #unary(): Node {
    const { at } = this.#token;
    if (this.#skip("!")) return this.#call(at, "!_", null, [this.#inner(at)]);
    if (!this.#skip("-")) return this.#members(this.#primary());
    const { kind, value } = this.#token;
    if (kind === "constant" && (typeof value === "bigint" || typeof value === "number")) {
      this.#step();
      return this.#members(this.#made({ kind: "constant", value: -value, at }));
    }
    return this.#call(at, "-_", null, [this.#inner(at)]);
  }

  #inner(at: number): Node {
    this.#enter(at);
    const node = this.#unary();
    this.#leave();
    return node;
  }

  #members(operand: Node): Node {
    let node = operand;
    for (;;) {
      const { at } = this.#token;
      if (this.#skip(".")) node = this.#member(node);
      else if (this.#skip("[")) {
        this.#enter(at);
        const index = this.#expression();
        this.#close("]", at);
        node = this.#call(at, "_[_]", null, [node, index]);
      } else return node;
    }
  }

  #member(operand: Node): Node {
    const { kind, text, at } = this.#token;
    if (kind !== "name") throw this.#expected("a name after the point");
    this.#step();
    const open = this.#token.at;
    if (!this.#skip("(")) return this.#made({ kind: "select", operand, field: text, at });
    const args = this.#list(")", open);
    const macro = MACROS.get(text);
    if (macro === undefined) return this.#call(at, text, operand, args);
    return this.#made(foldOf(this.#lexer.source, macro, operand, args, at));
  }

  #primary(): Node {
    const token = this.#token;
    const { at } = token;
    if (token.kind === "constant") {
      this.#step();
      if (token.value === MAX_INT) throw this.#wrong(at, "an integer has at most 64 bits");
      return this.#made({ kind: "constant", value: token.value, at });
    }
    if (token.kind === "name") return this.#named(token);
    if (this.#skip("(")) {
      this.#enter(at);
      const node = this.#expression();
      this.#close(")", at);
      return node;
    }
    if (this.#skip("[")) {
      return this.#made({ kind: "list", elements: this.#list("]", at), at });
    }
    if (this.#skip("{")) return this.#made(this.#map(at));
    throw this.#expected("a value");
  }

  #named({ text, at }: Token): Node {
    if (text === "in") throw this.#expected("a value");
    if (RESERVED.has(text)) throw this.#wrong(at, `"${text}" is a reserved word`);
    this.#step();
    const open = this.#token.at;
    if (this.#is("{")) throw this.#wrong(at, "messages are not supported; use a map");
    if (!this.#skip("(")) return this.#made({ kind: "name", name: text, at });
    const args = this.#list(")", open);
    if (text !== "has") return this.#call(at, text, null, args);
    const [only] = args;
    if (only?.kind !== "select" || args.length > 1) {
      throw this.#wrong(at, "has() takes a property, as in has(request.data.ttl)");
    }
    return this.#made({ kind: "has", operand: only.operand, field: only.field, at });
  }

  #list(close: string, at: number): Node[] {
    const nodes: Node[] = [];
    this.#enter(at);
    while (!this.#is(close)) {
      nodes.push(this.#expression());
      if (!this.#skip(",")) break;
      if (close === ")" && this.#is(close)) throw this.#expected("a value after the comma");
    }
    this.#close(close, at);
    return nodes;
  }

  #map(at: number): MapNode {
    const entries: { key: Node; value: Node }[] = [];
    this.#enter(at);
    while (!this.#is("}")) {
      const key = this.#expression();
      this.#need(":", "between key and value of a map");
      entries.push({ key, value: this.#expression() });
      if (!this.#skip(",")) break;
    }
    this.#close("}", at);
    return { kind: "map", entries, at };
  }

  #call(at: number, name: string, target: Node | null, args: readonly Node[]): Node {
    const node: CallNode = { kind: "call", name, target, args, at };
    return this.#made(node);
  }

  #made(node: Node): Node {
    return this.#size.counted(node);
  }

  #enter(at: number): void {
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) throw tooDeep(this.#lexer.source, at, MAX_NESTING);
  }

  #leave(): void {
    this.#nesting -= 1;
  }

  get #isAtEnd(): boolean {
    return this.#token.kind === "end";
  }

  #step(): void {
    this.#token = this.#lexer.next();
  }

  #is(mark: string): boolean {
    return this.#token.kind === "mark" && this.#token.text === mark;
  }

  #skip(mark: string): boolean {
    if (!this.#is(mark)) return false;
    this.#step();
    return true;
  }

  #need(mark: string, where: string): void {
    if (!this.#skip(mark)) throw this.#expected(`"${mark}" ${where}`);
  }

  #close(mark: string, opened: number): void {
    if (!this.#is(mark)) {
      const { line, column } = this.#lexer.source.positionAt(opened);
      throw this.#expected(`"${mark}" for the bracket of ${line}:${column}`);
    }
    this.#leave();
    this.#step();
  }

  #expected(what: string): Error {
    const { kind, text, at } = this.#token;
    const found = kind === "end" ? "the end" : kind === "constant" ? "a constant" : `"${text}"`;
    return this.#wrong(at, `expected ${what}, found ${found}`);
  }

  #wrong(at: number, problem: string): Error {
    return syntax(this.#lexer.source, at, problem);
  }
}

const MAX_INT = 2n ** 63n;

/** Loops as CEL writes them, `list.all(x, x > 0)`: told by name, and nodes of their own. */
const MACROS: ReadonlyMap<string, Macro> = new Map(
  (["all", "exists", "exists_one", "filter", "map"] as const).map((name) => [name, name]),
);

function foldOf(
  source: SourceText,
  macro: Macro,
  range: Node,
  args: readonly Node[],
  at: number,
): FoldNode {
  const [variable, second, third] = args;
  const max = macro === "map" ? 3 : 2;
  if (variable?.kind !== "name" || second === undefined || args.length > max) {
    const problem = `${macro}() takes a variable and an expression, as in [1, 2].${macro}(x, x > 0)`;
    throw syntax(source, at, problem);
  }
  const base = { kind: "fold", macro, range, variable: variable.name, at } as const;
  if (macro !== "map") return { ...base, test: second, step: null };
  return third === undefined
    ? { ...base, test: null, step: second }
    : { ...base, test: second, step: third };
}

// --- tree size ---

// How large a tree has become while it is built: the number of its nodes, and how deep they lie. Chains
// such as `a.b.c` or `1+1+1` nest without any bracket.

export class TreeSize {
  readonly #source: SourceText;
  readonly #depths = new WeakMap<Node, number>();
  #nodes = 0;

  constructor(source: SourceText) {
    this.#source = source;
  }

  /** Gives it back. Its children have been counted before. */
  counted(node: Node): Node {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) {
      throw limit(this.#source, node.at, `an expression may have at most ${MAX_NODES} parts`);
    }
    let below = 0;
    for (const child of childrenOf(node)) below = Math.max(below, this.#depths.get(child) ?? 0);
    if (below + 1 > MAX_DEPTH) throw tooDeep(this.#source, node.at, MAX_DEPTH);
    this.#depths.set(node, below + 1);
    return node;
  }
}
