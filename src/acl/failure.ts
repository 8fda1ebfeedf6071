// How an ACL policy document is refused: in the words that clients of such servers look for, with
// line and column. Texts name keys, words and labels of the policy, which are no secrets.

import { Failure } from "@holdfast/shared/failure";
import { type DocumentFailure, showName } from "../document/document-failure.ts";
import type { Position } from "../document/hcl-node.ts";

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

/**
 * All of them at once, so that nobody corrects a document key by key.
 * @code policy-unknown-key A policy has keys that mean nothing.
 * @remedy Correct the keys that the text lists; it is mostly a typing error.
 */
export function unknownKeys(keys: readonly UnknownKey[]): PolicyFailure {
  const count = keys.length === 1 ? "1 error" : `${keys.length} errors`;
  const lines = keys.map(
    ({ text, position }) => `\t* invalid key ${showName(text)} ${on(position)}\n`,
  );
  const problem = `${count} occurred:\n${lines.join("")}\n`;
  return new PolicyFailure("policy-unknown-key", problem, keys[0]?.position ?? null);
}

/**
 * Something inside the block of `label`.
 * @code policy-key-unsupported A rule of a policy has a key that this server does not enforce.
 * @remedy Remove it; nothing would hold what it says.
 * @code policy-wrapping-bounds A rule of a policy has a longest wrapping time below its shortest.
 * @remedy Correct min_wrapping_ttl and max_wrapping_ttl.
 * @code policy-unknown-capability A rule of a policy names a capability that does not exist.
 * @remedy Use one that the text lists.
 * @code policy-unknown-shorthand A rule of a policy has an old shorthand that does not exist.
 * @remedy Use capabilities.
 * @code policy-key-type A key of a rule has a value of the wrong type.
 * @remedy Correct the place that the text names.
 * @code policy-too-many-patterns A rule of a policy has too many values with a star.
 * @remedy Name fewer, or a parameter with any value.
 * @code policy-path-empty A rule of a policy has an empty path.
 * @remedy Give it a path.
 * @code policy-wildcards A rule of a policy has + and * next to each other.
 * @remedy Use one of them in a segment.
 */
export function inPath(
  label: string,
  code: string,
  problem: string,
  position: Position,
): PolicyFailure {
  return new PolicyFailure(code, `path ${showName(label)}: ${problem} ${on(position)}`, position);
}

/**
 * @code policy-template-unbalanced A template in the path of a rule is not closed.
 * @remedy Write {{ and }} in pairs.
 */
export function unbalancedTemplate(label: string, position: Position): PolicyFailure {
  const problem =
    "failed to validate policy templating: unbalanced templating characters " +
    `in path ${showName(label)} ${on(position)}`;
  return new PolicyFailure("policy-template-unbalanced", problem, position);
}

function on({ line, column }: Position): string {
  return `on line ${line}, column ${column}`;
}
