// From the words of a template to its tree: actions, if, with, variables, pipelines.
// What a run could only fail at (an unknown function, field or variable) is refused here, with its place.

import { checkLiterals, FUNCTION_NAMES } from "./functions.ts";
import { lex, TemplateError, type Token, TokenCursor } from "./lexer.ts";
import { CallError, type Command, type Node, type Operand, type Pipe } from "./tree.ts";

export const MAX_CHARACTERS = 100_000;
/** Of parentheses and blocks: each level takes some stack, here and when it runs. */
const MAX_DEPTH = 50;
const NOT_OURS: ReadonlySet<string> = new Set([
  "range",
  "define",
  "template",
  "block",
  "break",
  "continue",
  "nil",
]);

/** `fields` are those that the data will have. */
export function parse(source: string, fields: readonly string[]): readonly Node[] {
  if (source.length >= MAX_CHARACTERS) {
    throw new TemplateError(source, 0, `it has ${MAX_CHARACTERS} characters or more`);
  }
  return new Parser(source, fields).whole();
}

class Parser {
  readonly #tokens: TokenCursor;
  readonly #scope: Scope;
  #depth = 0;

  constructor(source: string, fields: readonly string[]) {
    this.#tokens = new TokenCursor(source, lex(source));
    this.#scope = new Scope(fields, this.#tokens);
  }

  whole(): readonly Node[] {
    const nodes = this.#nodes();
    if (!this.#tokens.ended) {
      const word = this.#tokens.peek(1);
      throw this.#tokens.fault(word, `{{${word.text}}} without an if or with before it`);
    }
    return nodes;
  }

  /** Up to an `else` or an `end`, which is left for whoever opened. */
  #nodes(): readonly Node[] {
    const nodes: Node[] = [];
    while (!this.#tokens.ended) {
      const token = this.#tokens.take();
      if (token.kind === "text") {
        nodes.push({ kind: "text", text: token.text, at: token.at });
        continue;
      }
      const word = this.#tokens.peek();
      if (word.kind === "name" && (word.text === "end" || word.text === "else")) {
        this.#tokens.back(); // the {{ again
        break;
      }
      nodes.push(this.#action(word));
    }
    return nodes;
  }

  #action(word: Token): Node {
    if (word.kind === "name" && (word.text === "if" || word.text === "with")) {
      this.#tokens.take();
      return this.#deeper(word, () => this.#block(word, word.text === "if" ? "if" : "with"));
    }
    const pipe = this.#pipe(true);
    this.#tokens.expect("close", "}}");
    return { kind: "action", pipe, at: word.at };
  }

  #block(word: Token, kind: "if" | "with"): Node {
    return this.#scope.within(() => {
      const pipe = this.#pipe(true);
      this.#tokens.expect("close", "}}");
      const inside = () => this.#scope.within(() => this.#nodes());
      const body = kind === "with" ? this.#scope.withAnotherDot(inside) : inside();
      return { kind, pipe, body, otherwise: this.#rest(word), at: word.at };
    });
  }

  /** From the `else` or `end` on. */
  #rest(opened: Token): readonly Node[] {
    this.#again(opened);
    if (this.#tokens.take().text === "end") {
      this.#tokens.expect("close", "}}");
      return [];
    }
    const word = this.#tokens.peek();
    if (word.kind === "name" && word.text === "if") {
      this.#tokens.take(); // one {{end}} serves for both
      return [this.#deeper(word, () => this.#block(word, "if"))];
    }
    this.#tokens.expect("close", "}}");
    const nodes = this.#scope.within(() => this.#nodes());
    this.#again(opened);
    const end = this.#tokens.take();
    if (end.text !== "end") throw this.#tokens.fault(end, "a second {{else}}");
    this.#tokens.expect("close", "}}");
    return nodes;
  }

  /** The {{ of an `else` or `end`. */
  #again(opened: Token): void {
    const { ended } = this.#tokens;
    if (ended) throw this.#tokens.fault(opened, `{{${opened.text}}} without its {{end}}`);
    this.#tokens.take();
  }

  #pipe(mayDeclare: boolean): Pipe {
    const first = this.#tokens.peek();
    const variable = this.#target(mayDeclare);
    const commands = [this.#command()];
    this.#checkCall(commands[0], null);
    while (this.#tokens.peek().kind === "pipe") {
      this.#tokens.take();
      const command = this.#command();
      this.#checkCall(command, commands.at(-1) ?? null);
      if (command.call === null) {
        throw this.#tokens.fault(command, "behind | a function must stand");
      }
      commands.push(command);
    }
    if (variable?.declared === true) this.#scope.declare(variable.name);
    return { commands, variable, at: first.at };
  }

  /** What no run could do, whatever its data: the last argument is what comes out of the command before. */
  #checkCall(command: Command | undefined, before: Command | null): void {
    if (command === undefined || command.call === null) return;
    const piped = before === null ? [] : [before.call === null ? before.operands[0] : undefined];
    const literals = [...command.operands, ...piped].map((one) =>
      one?.kind === "literal" ? one.value : null,
    );
    try {
      checkLiterals(command.call, literals);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      throw this.#tokens.fault(command, `${command.call}: ${error.message}`);
    }
  }

  #target(mayDeclare: boolean): Pipe["variable"] {
    const [name, sign] = [this.#tokens.peek(), this.#tokens.peek(1)];
    if (name.kind !== "variable" || (sign.kind !== "declare" && sign.kind !== "assign"))
      return null;
    if (!mayDeclare) throw this.#tokens.fault(sign, "a variable cannot be set within parentheses");
    if (name.text === "$") throw this.#tokens.fault(name, "$ cannot be set");
    const declared = sign.kind === "declare";
    if (!declared) this.#scope.checkVariable(name);
    this.#tokens.take();
    this.#tokens.take();
    return { name: name.text, declared };
  }

  #command(): Command {
    const first = this.#tokens.peek();
    const operands: Operand[] = [];
    const call = this.#calledName();
    for (;;) {
      const token = this.#tokens.peek();
      if (token.kind === "close" || token.kind === "pipe" || token.kind === "right") break;
      operands.push(this.#operand());
    }
    if (call === null && operands.length === 0)
      throw this.#tokens.fault(first, "a value must stand here");
    if (call === null && operands.length > 1) {
      throw this.#tokens.fault(first, "only a function can have arguments");
    }
    return { call, operands, at: first.at };
  }

  #calledName(): string | null {
    const { kind, text } = this.#tokens.peek();
    if (kind !== "name" || text === "true" || text === "false") return null;
    if (!FUNCTION_NAMES.has(text)) {
      const what = NOT_OURS.has(text)
        ? `${text} is not part of this language, which has if, else, with and end`
        : `there is no function ${text}; there are ${[...FUNCTION_NAMES].join(", ")}`;
      throw this.#tokens.fault(this.#tokens.peek(), what);
    }
    this.#tokens.take();
    return text;
  }

  #operand(): Operand {
    const token = this.#tokens.take();
    const { at, text } = token;
    switch (token.kind) {
      case "string":
        return { kind: "literal", value: text, fields: this.#noFields(), at };
      case "integer":
        return { kind: "literal", value: this.#integer(token), fields: this.#noFields(), at };
      case "dot":
        return { kind: "dot", fields: this.#noFields(), at };
      case "field":
        this.#scope.checkFieldOfDot(token);
        this.#noFields(); // of a text
        return { kind: "dot", fields: [text], at };
      case "variable": {
        this.#scope.checkVariable(token);
        const field = this.#tokens.peek();
        if (text === "$" && field.kind === "field" && !field.spaced) this.#scope.checkField(field);
        return { kind: "variable", name: text, fields: this.#moreFields(), at };
      }
      case "left": {
        const pipe = this.#deeper(token, () => this.#pipe(false));
        this.#tokens.expect("right", ")");
        return { kind: "pipe", pipe, fields: this.#moreFields(), at };
      }
      case "name":
        return this.#named(token);
      case "text":
      case "open":
      case "close":
      case "pipe":
      case "right":
      case "declare":
      case "assign":
        throw this.#tokens.fault(token, "a value must stand here");
    }
  }

  /** A word among arguments: a truth value, or a function that takes none. */
  #named(token: Token): Operand {
    const { text, at } = token;
    if (text === "true" || text === "false") {
      return { kind: "literal", value: text === "true", fields: this.#noFields(), at };
    }
    this.#tokens.back();
    const call = this.#calledName();
    const pipe = { commands: [{ call, operands: [], at }], variable: null, at };
    return { kind: "pipe", pipe, fields: this.#noFields(), at };
  }

  #integer(token: Token): number {
    const value = Number(token.text);
    if (!Number.isSafeInteger(value)) throw this.#tokens.fault(token, "a number that is too large");
    return value + 0; // no -0
  }

  /** One at most: the fields of the data are texts, which have none. */
  #moreFields(): readonly string[] {
    const { kind, spaced, text } = this.#tokens.peek();
    if (kind !== "field" || spaced) return [];
    this.#tokens.take();
    this.#noFields();
    return [text];
  }

  #noFields(): readonly [] {
    const token = this.#tokens.peek();
    if (token.kind === "field" && !token.spaced)
      throw this.#tokens.fault(token, "this has no fields");
    return [];
  }

  #deeper<T>(token: Token, run: () => T): T {
    if (++this.#depth > MAX_DEPTH)
      throw this.#tokens.fault(token, `nested deeper than ${MAX_DEPTH}`);
    const result = run();
    this.#depth--;
    return result;
  }
}

/** What a template may name where the parser is: the fields of its data, and the variables set so far. */
class Scope {
  readonly #fields: ReadonlySet<string>;
  readonly #tokens: TokenCursor;
  readonly #variables: string[] = ["$"];
  /** How many `with` are around: within one, the dot is something else. */
  #withs = 0;

  constructor(fields: readonly string[], tokens: TokenCursor) {
    this.#fields = new Set(fields);
    this.#tokens = tokens;
  }

  declare(variable: string): void {
    this.#variables.push(variable);
  }

  /** What is declared within is forgotten behind it. */
  within<T>(run: () => T): T {
    const known = this.#variables.length;
    const result = run();
    this.#variables.length = known;
    return result;
  }

  /** Within, the dot is not the data. */
  withAnotherDot<T>(run: () => T): T {
    this.#withs++;
    const result = run();
    this.#withs--;
    return result;
  }

  /** A field of the dot, as far as that is known before a run. */
  checkFieldOfDot(token: Token): void {
    if (this.#withs === 0) this.checkField(token);
  }

  checkField(token: Token): void {
    if (this.#fields.has(token.text)) return;
    const known = [...this.#fields].map((name) => `.${name}`).join(", ");
    throw this.#tokens.fault(token, `there is no field .${token.text}; there are ${known}`);
  }

  checkVariable(token: Token): void {
    if (this.#variables.includes(token.text)) return;
    throw this.#tokens.fault(token, `there is no variable ${token.text}`);
  }
}
