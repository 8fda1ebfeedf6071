// Every way this room refuses. No text holds a secret.

import { Failure } from "../base/failure.ts";

/** All problems at once, in the form that clients of this API know. */
export function tokenInvalid(problems: readonly string[]): Failure {
  const count = problems.length === 1 ? "1 error" : `${problems.length} errors`;
  const lines = problems.map((problem) => `\t* ${problem}\n`).join("");
  return new Failure("invalid", "token-invalid", `token 0 invalid: ${count} occurred:\n${lines}\n`);
}

/** A request that was still under way when the node was sealed. */
export function tokensClosed(): Failure {
  return new Failure("sealed", "tokens-closed", "service is sealed");
}

export function secretInUse(): Failure {
  return new Failure("invalid", "token-secret-in-use", "secret already in use");
}

export function secretUnusable(): Failure {
  const message = "the secret of a token must have 1 to 8192 characters, and be no placeholder";
  return new Failure("invalid", "token-secret-unusable", message);
}

/** A stored record that nobody may be let in by. */
export function recordUnusable(): Failure {
  const message = "a stored token record is not one that this server writes; it is not used";
  return new Failure("damaged", "token-record-unusable", message);
}

export function rowMissing(what: string): Failure {
  const message = `the stored ${what} of the tokens is missing; restore it from a snapshot`;
  return new Failure("damaged", "token-row-missing", message);
}
