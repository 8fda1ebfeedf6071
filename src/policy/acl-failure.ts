// How an ACL policy document is refused: in the words that clients of such servers look for, with
// line and column. Texts name keys, words and labels of the policy, which are no secrets.

import { Failure } from "../base/failure.ts";
import { type DocumentFailure, showName } from "./document-failure.ts";
import type { Position } from "./hcl-node.ts";

const PREFIX = "failed to parse policy: ";

export class PolicyFailure extends Failure {
  readonly position: Position | null;

  constructor(code: string, problem: string, position: Position | null) {
    super("invalid", code, PREFIX + problem);
    this.position = position;
  }
}

/** What the parser below refused, in the words of this document. */
export function notParsed(cause: DocumentFailure): PolicyFailure {
  return new PolicyFailure(cause.code, cause.message, cause.position);
}

export interface UnknownKey {
  readonly text: string;
  readonly position: Position;
}

/** All of them at once, so that nobody corrects a document key by key. */
export function unknownKeys(keys: readonly UnknownKey[]): PolicyFailure {
  const count = keys.length === 1 ? "1 error" : `${keys.length} errors`;
  const lines = keys.map(
    ({ text, position }) => `\t* invalid key ${showName(text)} ${on(position)}\n`,
  );
  const problem = `${count} occurred:\n${lines.join("")}\n`;
  return new PolicyFailure("policy-unknown-key", problem, keys[0]?.position ?? null);
}

/** Something inside the block of `label`. */
export function inPath(
  label: string,
  code: string,
  problem: string,
  position: Position,
): PolicyFailure {
  return new PolicyFailure(code, `path ${showName(label)}: ${problem} ${on(position)}`, position);
}

export function unbalancedTemplate(label: string, position: Position): PolicyFailure {
  const problem =
    "failed to validate policy templating: unbalanced templating characters " +
    `in path ${showName(label)} ${on(position)}`;
  return new PolicyFailure("policy-template-unbalanced", problem, position);
}

function on({ line, column }: Position): string {
  return `on line ${line}, column ${column}`;
}
