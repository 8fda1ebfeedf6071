// A failure that was understood where it happened: what to do next comes with it.

import { Failure, type FailureKind } from "../base/failure.ts";

export class AdvisedFailure extends Failure {
  readonly next: string;

  constructor(kind: FailureKind, code: string, message: string, next: string) {
    super(kind, code, message);
    this.name = "AdvisedFailure";
    this.next = next;
  }
}
