// A broken invariant is not a Failure. The request ends as an internal error; in storage, barrier
// and replication the process stops, because going on would build on something untrue.

import { OwnError } from "./failure.ts";

export class InvariantError extends OwnError {
  constructor(message: string) {
    super(`invariant broken: ${message}`);
    this.name = "InvariantError";
  }
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
