// Where a parser is among the words of a template.

import { TemplateError, type Token, type TokenKind } from "./lexer.ts";

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

  expect(kind: TokenKind, shown: string): void {
    const token = this.take();
    if (token.kind !== kind) throw this.fault(token, `${shown} must stand here`);
  }

  fault(where: { readonly at: number }, message: string): TemplateError {
    return new TemplateError(this.#source, where.at, message);
  }
}
