// What a template may name where the parser is: the fields of its data, and the variables set so far.

import { type TemplateError, type Token } from "./lexer.ts";

type Fault = (where: Token, message: string) => TemplateError;

export class Scope {
  readonly #fields: ReadonlySet<string>;
  readonly #fault: Fault;
  readonly #variables: string[] = ["$"];
  /** How many `with` are around: within one, the dot is something else. */
  #withs = 0;

  constructor(fields: readonly string[], fault: Fault) {
    this.#fields = new Set(fields);
    this.#fault = fault;
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
    throw this.#fault(token, `there is no field .${token.text}; there are ${known}`);
  }

  checkVariable(token: Token): void {
    if (this.#variables.includes(token.text)) return;
    throw this.#fault(token, `there is no variable ${token.text}`);
  }
}
