// The parser's view of the tokens: one at a time, with the comments that nobody has claimed yet. It
// knows which comment belongs behind an item and which above the next; the parser says where items end.

import { type DocumentFailure, syntaxError } from "./document-failure.ts";
import { HclLexer, NO_COMMENTS, type Token } from "./hcl-lexer.ts";
import type { Comment, Position } from "./hcl-node.ts";
import type { SourceText } from "./source-text.ts";

const NAMES: Partial<Record<Token["kind"], string>> = {
  identifier: "a word without quotes", // not shown: it may be a credential whose quotes were forgotten
  string: "text in quotes",
  heredoc: "a heredoc",
  number: "a number",
  end: "the end of the document",
};

export class HclTokenReader {
  readonly #source: SourceText;
  readonly #lexer: HclLexer;
  #token: Token;
  #comments: Comment[] = []; // before the token, unclaimed
  #end: number; // of the token before

  /** `comments`: whether they are kept. */
  constructor(source: SourceText, comments: boolean) {
    this.#source = source;
    this.#lexer = new HclLexer(source, comments);
    this.#end = source.start;
    this.#token = this.#next();
  }

  get token(): Token {
    return this.#token;
  }

  at(kind: Token["kind"]): boolean {
    return this.#token.kind === kind;
  }

  position(): Position {
    return this.#source.positionAt(this.#token.offset);
  }

  advance(): void {
    this.#end = this.#token.end;
    this.#token = this.#next();
  }

  #next(): Token {
    const token = this.#lexer.next();
    // One by one: a document may have more comments than a call takes arguments, and a block so many
    // labels with comments between them that copying the list for each would not end.
    for (const comment of token.comments) this.#comments.push(comment);
    return token;
  }

  /** Claims the comments before the token. */
  claim(): readonly Comment[] {
    if (this.#comments.length === 0) return NO_COMMENTS;
    const claimed = this.#comments;
    this.#comments = [];
    return claimed;
  }

  /** Claims those that begin on the line where the token before ended. */
  claimBehind(): readonly Comment[] {
    if (this.#comments.length === 0) return NO_COMMENTS;
    const line = this.#source.lineAt(this.#end);
    const first = this.#comments.findIndex((comment) => comment.position.line !== line);
    if (first === -1) return this.claim();
    return this.#comments.splice(0, first);
  }

  /**
   * At the end of an item or element: goes over a comma, and claims what stands behind the item,
   * behind the comma as well if that is on the same line. `comma` says whether there was one.
   */
  separate(): { comma: boolean; after: readonly Comment[] } {
    const after = this.claimBehind();
    if (this.#token.kind !== ",") return { comma: false, after };
    const { offset } = this.#token;
    const end = this.#end;
    this.advance();
    if (this.#comments.length === 0) return { comma: true, after };
    const near = this.#source.lineAt(offset) === this.#source.lineAt(end);
    return { comma: true, after: near ? after.concat(this.claimBehind()) : after };
  }

  unexpected(accepted: string): DocumentFailure {
    const found = NAMES[this.#token.kind] ?? this.#token.kind;
    return syntaxError(this.position(), `expected ${accepted}, found ${found}`);
  }
}
