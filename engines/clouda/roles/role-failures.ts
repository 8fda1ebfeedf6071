// How the writing of roles is refused.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code role-refused The fields of a role do not go together.
 * @remedy Correct what the text lists.
 */
export function roleRefused(faults: readonly string[]): Failure {
  return new Failure("invalid", "role-refused", faults.join("; "));
}

/**
 * @code legacy-both Two old fields that exclude each other were given.
 * @remedy Give one of them, or the newer fields.
 */
export function bothLegacy(): Failure {
  const message = "policy and arn cannot be given together: give one of them";
  return new Failure("invalid", "legacy-both", message);
}

/**
 * @code legacy-mixed Old and new fields of a role were mixed.
 * @remedy Use the newer fields alone.
 */
export function legacyMixed(field: string): Failure {
  const message = `legacy policy/arn cannot be mixed with ${field}`;
  return new Failure("invalid", "legacy-mixed", message);
}

/**
 * @code legacy-unreadable The old field of a role is neither an ARN nor a policy.
 * @remedy Use the newer fields.
 */
export function legacyUnreadable(): Failure {
  const message = "legacy value is neither a role ARN, a policy ARN nor a JSON policy";
  return new Failure("invalid", "legacy-unreadable", message);
}
