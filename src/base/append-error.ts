// How an append to a file fails, for those who must know how much of it is there.

import { OwnError } from "@holdfast/shared/failure";

/** Thrown by append(): the first `written` bytes are in the file. */
export class AppendError extends OwnError {
  readonly written: number;

  constructor(message: string, written: number) {
    super(message);
    this.name = "AppendError";
    this.written = written;
  }
}
