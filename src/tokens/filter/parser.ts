// Reads a filter by a grammar which reserves no word: `not in Policies` asks for
// the text "not". Every place is looked at a bounded number of times, and what nests counts.

import { readIdentifier, readOperand, readSelector } from "./literals.ts";
import { Mismatch, Source } from "./source.ts";
import type { Expression, Match, Operator, Quantified, Selector } from "./syntax.ts";

/** Groups, negations and quantifiers inside each other. */
export const MAX_FILTER_DEPTH = 64;

type Named = Pick<Match, "operator" | "negated">;
type Names = Pick<Quantified, "position" | "element">;

// The longer of two that begin alike comes first.
const SYMBOLS: readonly [string, Named][] = [
  ["==", { operator: "equal", negated: false }],
  ["!=", { operator: "equal", negated: true }],
  ["<=", { operator: "at-most", negated: false }],
  [">=", { operator: "at-least", negated: false }],
  ["<", { operator: "below", negated: false }],
  [">", { operator: "above", negated: false }],
];
const OPERATORS = '"==", "!=", "<", "<=", ">", ">=", "contains", "in", "is", "matches" or "not"';

export function readFilter(text: string): Expression {
  const source = new Source(text);
  try {
    return new Parser(source).whole();
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw source.refusal(`no match found, expected: ${error.expected}`, error.at);
  }
}

class Parser {
  readonly #source: Source;
  #depth = 0;

  constructor(source: Source) {
    this.#source = source;
  }

  whole(): Expression {
    this.#source.blank();
    const expression = this.#or();
    this.#source.blank();
    if (!this.#source.atEnd()) throw this.#source.mismatch('"and", "or" or the end');
    return expression;
  }

  #or(): Expression {
    return this.#chain("or", () => this.#chain("and", () => this.#not()));
  }

  #chain(kind: "or" | "and", operand: () => Expression): Expression {
    const source = this.#source;
    const first = operand();
    const operands = [first];
    for (;;) {
      const mark = source.at;
      if (!source.blank() || !source.word(kind)) {
        source.at = mark;
        return operands.length === 1 ? first : { kind, operands };
      }
      operands.push(operand());
    }
  }

  #not(): Expression {
    const mark = this.#source.at;
    if (!this.#source.word("not")) return this.#group();
    try {
      return { kind: "not", operand: this.#nested(mark, () => this.#not()) };
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      this.#source.at = mark;
      return this.#orElse(error, () => this.#match());
    }
  }

  /** Another reading of the same place; if it fails too, the one that came further explains. */
  #orElse(first: Mismatch, read: () => Expression): Expression {
    try {
      return read();
    } catch (second) {
      throw second instanceof Mismatch && second.at <= first.at ? first : second;
    }
  }

  #group(): Expression {
    const source = this.#source;
    const mark = source.at;
    if (!source.eat("(")) return this.#quantified() ?? this.#match();
    return this.#nested(mark, () => this.#bracketed(")"));
  }

  #bracketed(close: string): Expression {
    const source = this.#source;
    source.blank();
    const expression = this.#or();
    source.blank();
    if (!source.eat(close)) throw source.mismatch(`"and", "or" or "${close}"`);
    return expression;
  }

  #nested<T>(mark: number, read: () => T): T {
    if (this.#depth === MAX_FILTER_DEPTH) {
      throw this.#source.refusal(`a filter nests at most ${MAX_FILTER_DEPTH} deep`, mark);
    }
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Null if this is none after all: `any` and `all` may be names or values too. */
  #quantified(): Quantified | null {
    const source = this.#source;
    const mark = source.at;
    const every = source.word("all");
    if (every || source.word("any")) {
      const list = readSelector(source);
      if (list !== null && source.blank() && source.word("as")) {
        const names = this.#names();
        source.blank();
        if (!source.eat("{")) throw source.mismatch('"{"');
        const body = this.#nested(mark, () => this.#bracketed("}"));
        return { kind: "quantified", every, list, ...names, body };
      }
    }
    source.at = mark;
    return null;
  }

  #names(): Names {
    const source = this.#source;
    const from = source.at;
    const first = this.#name();
    const mark = source.at;
    source.blank();
    if (!source.eat(",")) {
      source.at = mark;
      if (first === null) throw source.mismatch('","');
      return { position: null, element: first };
    }
    source.blank();
    const names = { position: first, element: this.#name() };
    if (names.position === names.element) {
      throw source.refusal("place and element need a name each, or one of them _", from);
    }
    return names;
  }

  /** Null is the name _ of what is not wanted. */
  #name(): string | null {
    if (this.#source.eat("_")) return null;
    const name = readIdentifier(this.#source);
    if (name === null) throw this.#source.mismatch("a name");
    return name;
  }

  #match(): Match {
    const source = this.#source;
    const from = source.at;
    const { selector, value } = readOperand(source);
    const mark = source.at;
    const spaced = source.blank();
    for (const [symbol, named] of SYMBOLS) {
      if (source.eat(symbol)) {
        source.blank();
        return this.#compared(this.#selected(selector, from), named);
      }
    }
    if (!spaced) throw source.mismatch(OPERATORS, mark);
    const negated = source.word("not");
    if (source.word("in")) return this.#member(value, negated);
    for (const operator of ["contains", "matches"] as const) {
      if (source.word(operator)) {
        return this.#compared(this.#selected(selector, from), { operator, negated });
      }
    }
    if (!negated && source.word("is")) return this.#state(this.#selected(selector, from));
    throw source.mismatch(negated ? '"contains", "in" or "matches"' : OPERATORS);
  }

  #selected(selector: Selector | null, from: number): Selector {
    if (selector === null) throw this.#source.mismatch("a field", from);
    return selector;
  }

  #compared(selector: Selector, named: Named): Match {
    return { kind: "match", selector, ...named, value: readOperand(this.#source).value };
  }

  #member(value: string, negated: boolean): Match {
    const selector = readSelector(this.#source);
    if (selector === null) throw this.#source.mismatch("a field");
    return { kind: "match", selector, operator: "contains", negated, value };
  }

  #state(selector: Selector): Match {
    const source = this.#source;
    const negated = source.word("not");
    const operators: readonly Operator[] = ["empty", "nil"];
    const operator = operators.find((name) => source.eat(name));
    if (operator === undefined) throw source.mismatch('"empty" or "nil"');
    return { kind: "match", selector, operator, negated, value: "" };
  }
}
