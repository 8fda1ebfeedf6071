// The ways in which `auth/token` refuses, beside those of the tokens themselves. What is unknown, over,
// deleted or of another namespace is refused alike (T-B13, T-B22).

import { Failure } from "../base/failure.ts";

function denied(code: string, why: string): Failure {
  const texts = ["permission denied", why];
  return new Failure("denied", code, `permission denied: ${why}`, { texts });
}

export function secretUnknown(): Failure {
  return denied("invalid-token", "invalid token");
}

export function accessorUnknown(): Failure {
  return denied("invalid-accessor", "invalid accessor");
}

export function sudoNeeded(field: string): Failure {
  return denied("sudo-needed", `${field} needs the capability sudo on this path`);
}

export function parentAsked(): Failure {
  const message = "no_parent must be true here; auth/token/create makes children of the caller's";
  return new Failure("invalid", "parent-asked", message);
}

export function notItsOwn(): Failure {
  const message = "child policies must be subset of parent";
  return new Failure("invalid", "policies-not-own", message);
}

export function noPolicies(): Failure {
  const message = "policies must name at least one where no_default_policy is set";
  return new Failure("invalid", "policies-missing", message);
}

export function secretChosen(): Failure {
  const message =
    "id cannot be chosen here: leave it out, and the answer tells the secret that the server draws";
  return new Failure("invalid", "field-invalid", message);
}

/** To a renewal: its user or role was deleted since. */
export function notKnownAnyMore(): Failure {
  return denied("login-unknown", "its login method does not know the owner of this token any more");
}

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
