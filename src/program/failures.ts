// How the document of a governing policy is refused: line and column first, as
// `line:column: what`. Texts name what stands in the document, which is no secret.

import { Failure } from "@holdfast/shared/failure";
import { DocumentFailure, showName } from "../document/document-failure.ts";
import type { Position } from "../document/hcl-node.ts";
import { nearest } from "../base/nearest.ts";
import type { SourceText } from "../document/source-text.ts";

const PREFIX = "failed to parse policy: ";

export class ProgramFailure extends Failure {
  readonly position: Position;

  constructor(code: string, problem: string, position: Position) {
    super("invalid", code, `${PREFIX}${position.line}:${position.column}: ${problem}`);
    this.position = position;
  }
}

/**
 * @code program-syntax The program of a governing policy cannot be read.
 * @remedy Correct the line and column that the text names.
 */
export function syntax(source: SourceText, at: number, problem: string): ProgramFailure {
  return new ProgramFailure("program-syntax", problem, source.positionAt(at));
}

/**
 * @code program-too-large The program of a governing policy is too large or nested too deep.
 * @remedy Shorten or divide it.
 */
export function limit(source: SourceText, at: number, problem: string): ProgramFailure {
  return new ProgramFailure("program-too-large", problem, source.positionAt(at));
}

export function tooDeep(source: SourceText, at: number, levels: number): ProgramFailure {
  return limit(source, at, `nesting too deep: at most ${levels} levels are accepted`);
}

/**
 * `what` is "name", "property" or "function".
 * @code program-unknown-name The program of a governing policy uses a name that does not exist.
 * @remedy Correct it; the text suggests the nearest.
 */
export function unknown(
  source: SourceText,
  at: number,
  what: string,
  name: string,
  known: readonly string[],
): ProgramFailure {
  const guess = nearest(name, known);
  const hint = guess === null ? "" : `; did you mean ${showName(guess)}?`;
  const problem = `unknown ${what} ${showName(name)}${hint}`;
  return new ProgramFailure("program-unknown-name", problem, source.positionAt(at));
}

/**
 * @code program-type The program of a governing policy uses a value of the wrong type.
 * @remedy Correct the line and column that the text names.
 */
export function wrongType(source: SourceText, at: number, problem: string): ProgramFailure {
  return new ProgramFailure("program-type", problem, source.positionAt(at));
}

/** What the text itself was refused for, or JSON, in the words of this document. */
export function notRead(cause: unknown): unknown {
  if (!(cause instanceof DocumentFailure)) return cause;
  const position = cause.position ?? { line: 1, column: 1, offset: 0 };
  const problem = cause.message.replace(/^At \d+:\d+: /, "");
  return new ProgramFailure(cause.code, problem, position);
}

/**
 * @code test-input-invalid The input of a policy's test is not valid.
 * @remedy Correct what the text names.
 */
export function testInputInvalid(message: string): Failure {
  return new Failure("invalid", "test-input-invalid", message);
}
