// Every way this method refuses. Whoever cannot log in is told one thing, whatever was wrong (T-B22).

import { showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import { ACCEPTED_LOGIN_NAMES } from "@holdfast/plugin-sdk/login-terms";

/** Unknown user, wrong password, wrong place: all alike. */
export function loginRefused(): Failure {
  return new Failure("invalid", "login-refused", "invalid username or password");
}

/**
 * For names that nobody has as well, so it says nothing of who is there.
 * @code locked-out Too many logins of this user failed.
 * @remedy Wait for the time that Retry-After says, or unlock the user.
 */
export function lockedOut(left: Nanos): Failure {
  const seconds = Number(left / 1_000_000_000n) + 1;
  const why = `too many failed logins; try again in ${showDuration(BigInt(seconds) * 1_000_000_000n)}`;
  return new Failure("denied", "locked-out", `permission denied: ${why}`, {
    texts: ["permission denied", why],
    retryAfter: seconds,
  });
}

/**
 * More passwords are waiting to be checked than can be within any patience.
 * @code too-many-logins More logins run at once than the server checks.
 * @remedy Try again in a few seconds; look for a client that logs in for every request.
 */
export function tooManyLogins(): Failure {
  const message = "too many logins at once; try again in a few seconds";
  return new Failure("unavailable", "too-many-logins", message, { retryAfter: 5 });
}

/**
 * @code too-many-passwords More passwords are being set at once than the server takes.
 * @remedy Try again in a few seconds; set fewer of them side by side.
 */
export function tooManyPasswords(): Failure {
  const message =
    "too many passwords are being set at once; try again in a few seconds, or set fewer side by side";
  return new Failure("unavailable", "too-many-passwords", message, { retryAfter: 5 });
}

export function callerGone(): Failure {
  return new Failure("timed-out", "caller-gone", "the caller did not wait for the answer");
}

export function userNameInvalid(): Failure {
  const message = `username must be ${ACCEPTED_LOGIN_NAMES}`;
  return new Failure("invalid", "field-invalid", message);
}

/**
 * @code password-missing A new user needs a password.
 * @remedy Give password.
 */
export function passwordMissing(): Failure {
  const message = "missing password: a new user needs one";
  return new Failure("invalid", "password-missing", message);
}

export function passwordUnusable(): Failure {
  const message = "password must be text of 1 to 1024 characters";
  return new Failure("invalid", "field-invalid", message);
}

/**
 * @code user-unknown There is no such user.
 * @remedy List the users of the mount.
 */
export function noUser(): Failure {
  return new Failure("not-found", "user-unknown", "no such user", { texts: [] });
}
