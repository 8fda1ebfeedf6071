// What this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code attention-code There is no such code of what needs attention.
 * @remedy Give a code that `holdfast attention` shows.
 */
export function codeUnknown(): Failure {
  return new Failure("not-found", "attention-code", "there is no such code");
}

/**
 * @code attention-act What has to be acted on now cannot be put off.
 * @remedy Do what the item's remedy says.
 */
export function neverSnoozed(): Failure {
  const text = "items of severity act cannot be put off; do what the remedy says";
  return new Failure("invalid", "attention-act", text);
}

/**
 * @code attention-until An item can be put off for 30 days at most.
 * @remedy Give a time within the next 30 days as `until`.
 */
export function snoozeTooLong(): Failure {
  const text = "until: a time in the next 30 days is accepted";
  return new Failure("invalid", "attention-until", text);
}

/**
 * @code attention-reason Nothing is put off without a reason.
 * @remedy Give a text as `reason`: whoever looks next wants to know why.
 */
export function noReason(): Failure {
  const text = "reason: a text that says why is needed, and blanks say nothing";
  return new Failure("invalid", "attention-reason", text);
}

/**
 * @code attention-closed There is nothing of this code and subject to put off in the namespace.
 * @remedy Give code and subject as `holdfast attention` shows them.
 */
export function nothingToSnooze(): Failure {
  const text = "there is nothing of this code and subject now";
  return new Failure("not-found", "attention-closed", text);
}
