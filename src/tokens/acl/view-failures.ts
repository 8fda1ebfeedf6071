// The ways in which `auth/token` refuses, beside those of the tokens themselves. What is unknown, over,
// deleted or of another namespace is refused alike (T-B13, T-B22).

import { Failure } from "@holdfast/shared/failure";

function denied(code: string, why: string): Failure {
  const texts = ["permission denied", why];
  return new Failure("denied", code, `permission denied: ${why}`, { texts });
}

export function secretUnknown(): Failure {
  return denied("invalid-token", "invalid token");
}

/**
 * @code invalid-accessor There is no token with this accessor, or it may not be seen.
 * @remedy Check it; the token may have expired.
 */
export function accessorUnknown(): Failure {
  return denied("invalid-accessor", "invalid accessor");
}

export function sudoNeeded(field: string): Failure {
  return denied("sudo-needed", `${field} needs the capability sudo on this path`);
}

/**
 * @code parent-asked A child of the caller's token was asked for where only tokens without a
 *   parent are made.
 * @remedy Use auth/token/create, or set no_parent.
 */
export function parentRequested(): Failure {
  const message = "no_parent must be true here; auth/token/create makes children of the caller's";
  return new Failure("invalid", "parent-asked", message);
}

/**
 * @code policies-not-own A child token was to have policies that its parent has not.
 * @remedy Ask for a subset of the parent's.
 */
export function notItsOwn(): Failure {
  const message = "child policies must be subset of parent";
  return new Failure("invalid", "policies-not-own", message);
}

/**
 * @code policies-missing A token would have no policies at all.
 * @remedy Name at least one.
 */
export function noPolicies(): Failure {
  const message = "policies must name at least one where no_default_policy is set";
  return new Failure("invalid", "policies-missing", message);
}

export function secretChosen(): Failure {
  const message =
    "id cannot be chosen here: leave it out, and the answer tells the secret that the server draws";
  return new Failure("invalid", "field-invalid", message);
}

/**
 * To a renewal: its user or role was deleted since.
 * @code login-unknown The owner of the token is not known to its login method any more.
 * @remedy Log in anew as somebody who is.
 */
export function notKnownAnyMore(): Failure {
  return denied("login-unknown", "its login method does not know the owner of this token any more");
}

/**
 * @code uses-counted A token with a number of uses cannot make others.
 * @remedy Use another token.
 */
export function countedParent(): Failure {
  const message = "a token with a number of uses cannot make others";
  return new Failure("invalid", "uses-counted", message);
}

export function afterInvalid(): Failure {
  return new Failure("invalid", "field-invalid", "after must be an accessor: a UUID");
}

/** Disabled while somebody was logging in. */
export function methodGone(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}
