// Every way in which a document's text is refused. Texts name keys, which are no secrets, but never
// values: a configuration file may hold a credential, and messages travel into logs.

import { Failure } from "@holdfast/shared/failure";
import type { Position } from "./hcl-node.ts";

/** "At line:column: what", as clients know it; the position also as numbers, for an editor. */
export class DocumentFailure extends Failure {
  readonly position: Position | null;

  constructor(code: string, problem: string, position: Position | null) {
    const place = position === null ? "" : `At ${position.line}:${position.column}: `;
    super("invalid", code, place + problem);
    this.position = position;
  }
}

/**
 * @code document-syntax A document cannot be read.
 * @remedy Correct the line and column that the text names.
 */
export function syntaxError(position: Position, problem: string): DocumentFailure {
  return new DocumentFailure("document-syntax", problem, position);
}

/**
 * @code document-duplicate A key stands twice in a document.
 * @remedy Remove one of them.
 */
export function alreadySet(position: Position, key: string, line: number): DocumentFailure {
  const problem = `attribute ${showName(key)} was already set on line ${line}`;
  return new DocumentFailure("document-duplicate", problem, position);
}

export function attributeAndBlock(position: Position, key: string, line: number): DocumentFailure {
  const problem =
    `${showName(key)} was already used on line ${line}; ` +
    "in one body a key is either an attribute, once, or the type of blocks";
  return new DocumentFailure("document-duplicate", problem, position);
}

/**
 * `noun` is what the document is: clients look for "policy is too large".
 * @code document-too-large A document is larger than is read.
 * @remedy Shorten or divide it.
 */
export function tooLarge(
  noun: string,
  accepted: string,
  position: Position | null,
): DocumentFailure {
  const problem = `${noun} is too large: at most ${accepted} are accepted`;
  return new DocumentFailure("document-too-large", problem, position);
}

/**
 * @code document-too-deep A document is nested too deep.
 * @remedy Make it flatter.
 */
export function tooDeep(position: Position, levels: number): DocumentFailure {
  const problem = `nesting too deep: at most ${levels} levels are accepted`;
  return new DocumentFailure("document-too-deep", problem, position);
}

/**
 * @code document-shape Something in a document is of the wrong kind.
 * @remedy Correct the line and column that the text names.
 */
export function wrongShape(position: Position, problem: string): DocumentFailure {
  return new DocumentFailure("document-shape", problem, position);
}

const MAX_QUOTED = 64;
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** A key in quotes: at most 64 characters, and nothing that could steer a terminal or a log. */
export function showName(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_QUOTED + 2)); // a character has at most two units
  let out = "";
  for (const character of characters.slice(0, MAX_QUOTED)) {
    if (character === '"' || character === "\\") out += `\\${character}`;
    else out += PRINTABLE.test(character) ? character : showCharacter(character);
  }
  return `"${out}${characters.length > MAX_QUOTED ? "..." : ""}"`;
}

/** `U+00A0`. */
export function showCharacter(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
