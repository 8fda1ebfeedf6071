// The command line itself is wrong: exit code 2, and a look at the help is the next step.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code usage The command line is wrong.
 * @remedy See the command's `-help`.
 */
export class UsageError extends Failure {
  /** What to do instead, where that is more than "see the help". */
  readonly next: string | null;

  constructor(message: string, next: string | null = null) {
    super("invalid", "usage", message);
    this.name = "UsageError";
    this.next = next;
  }
}
