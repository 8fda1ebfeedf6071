// Fail-stop: after the first error of the storage nothing is read, written or acknowledged any more.
// SQLite itself would go on after a failed sync.

import { OwnError } from "@holdfast/shared/failure";
import { EngineError } from "./engine.ts";

export class WriterFailure {
  #first: EngineError | null = null;
  #listener: ((error: EngineError) => void) | null = null;

  get tripped(): boolean {
    return this.#first !== null;
  }

  check(): void {
    if (this.#first !== null) {
      const message = "the storage failed earlier and is no longer used";
      throw new EngineError(message, { cause: this.#first });
    }
  }

  /** The error to throw now; the first one is remembered. */
  trip(doing: string, error: unknown): EngineError {
    const failure =
      error instanceof EngineError
        ? error
        : new EngineError(`the storage failed to ${doing}`, { cause: reasonOf(error) });
    if (this.#first === null) {
      this.#first = failure;
      this.#listener?.(failure);
    }
    return failure;
  }

  /** Calls with the first error: whoever does not ask for anything hears of it too. */
  onTrip(listener: (error: EngineError) => void): void {
    this.#listener = listener;
  }
}

export interface Reason {
  readonly message: string;
  /** SQLite's extended result code, or null when the error is not SQLite's. */
  readonly code: number | null;
}

/** What SQLite said, without its context: its messages name tables and columns, never values. */
export function describeSqlite(error: unknown): Reason {
  const message = error instanceof Error ? error.message : "unknown error";
  const code = error instanceof Error && "errcode" in error ? error.errcode : null;
  return { message, code: typeof code === "number" ? code : null };
}

export function reasonError(reason: Reason): Error {
  const code = reason.code === null ? "" : ` (SQLite code ${reason.code})`;
  return new OwnError(reason.message + code);
}

function reasonOf(error: unknown): Error {
  return reasonError(describeSqlite(error));
}
