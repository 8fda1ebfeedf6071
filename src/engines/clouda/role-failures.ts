// How the writing of roles is refused.

import { Failure } from "../../base/failure.ts";

export function roleRefused(faults: readonly string[]): Failure {
  return new Failure("invalid", "role-refused", faults.join("; "));
}

export function bothLegacy(): Failure {
  const message = "policy and arn cannot be given together: give one of them";
  return new Failure("invalid", "legacy-both", message);
}

export function legacyMixed(field: string): Failure {
  const message = `legacy policy/arn cannot be mixed with ${field}`;
  return new Failure("invalid", "legacy-mixed", message);
}

export function legacyUnreadable(): Failure {
  const message = "legacy value is neither a role ARN, a policy ARN nor a JSON policy";
  return new Failure("invalid", "legacy-unreadable", message);
}
