// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * Too many requests. The time to wait is in whole seconds: finer ones would tell of others' work.
 * `headers` are X-Ratelimit-… where they are switched on.
 * @code rate-limit-exceeded More requests came than a rate quota allows.
 * @remedy Wait for the time that Retry-After says; find who sends them, or raise the quota.
 */
export function rateLimited(
  retryAfter: number,
  headers: Readonly<Record<string, string>>,
): Failure {
  const message = "rate limit quota exceeded";
  return new Failure("rate-limited", "rate-limit-exceeded", message, { retryAfter, headers });
}

/**
 * @code quota-unknown There is no such quota.
 * @remedy List the quotas.
 */
export function unknownQuota(): Failure {
  return new Failure("not-found", "quota-unknown", "no such quota", { texts: [] });
}

/**
 * @code quota-name-invalid The name of a quota is not valid.
 * @remedy Keep to what the text says.
 */
export function nameInvalid(): Failure {
  const message =
    "the name of a quota must have 1 to 128 letters, digits, dots, dashes or underscores, " +
    "and begin with a letter or digit";
  return new Failure("invalid", "quota-name-invalid", message);
}

/**
 * @code quota-rate-invalid The rate of a quota is not above 0.
 * @remedy Give a rate above 0, or delete the quota.
 */
export function rateNotPositive(): Failure {
  return new Failure("invalid", "quota-rate-invalid", "rate must be a number above 0");
}

/**
 * @code quota-role-unsupported Quotas by role are not there.
 * @remedy Leave role out.
 */
export function roleUnsupported(): Failure {
  const message =
    "role is not supported: quotas go by path; name the path of the login, such as " +
    "auth/approle/login, and leave role out";
  return new Failure("invalid", "quota-role-unsupported", message);
}

/**
 * @code quota-path-malformed The path of a quota is not valid.
 * @remedy Keep to what the text says.
 */
export function pathMalformed(): Failure {
  const message =
    "path must be empty for every request, or a namespace, a mount or a path below a mount, " +
    "with at most one * and that at its end";
  return new Failure("invalid", "quota-path-malformed", message);
}

/**
 * @code quota-path-unknown The path of a quota is no namespace or mount.
 * @remedy Check the path.
 */
export function pathUnknown(): Failure {
  const message = "path names no namespace or mount of this server, and nothing below one";
  return new Failure("invalid", "quota-path-unknown", message);
}

export function starNeedless(): Failure {
  const message = "a quota on a whole namespace or mount is written without a * at its end";
  return new Failure("invalid", "quota-path-malformed", message);
}

/**
 * @code quota-not-inheritable inheritable is for the quota of a namespace.
 * @remedy Leave it out.
 */
export function notInheritable(): Failure {
  const message = "inheritable is for the quota of a namespace; leave it out here";
  return new Failure("invalid", "quota-not-inheritable", message);
}

/**
 * @code quota-always-inherited A quota on every request reaches all namespaces.
 * @remedy Leave inheritable out.
 */
export function alwaysInherited(): Failure {
  const message = "a quota on every request reaches all namespaces; inheritable cannot be false";
  return new Failure("invalid", "quota-always-inherited", message);
}

/**
 * @code quota-path-taken Another quota is on this path already.
 * @remedy Change or delete that one.
 */
export function pathTaken(name: string): Failure {
  const message = `the quota ${name} is on this path already; change or delete it`;
  return new Failure("conflict", "quota-path-taken", message);
}

/**
 * @code quota-too-many There are as many quotas as there may be.
 * @remedy Delete one first.
 */
export function tooMany(max: number): Failure {
  const message = `there are ${max} quotas already, which is the most; delete one first`;
  return new Failure("invalid", "quota-too-many", message);
}

/**
 * @code quota-exempt-path-malformed A path that is to be exempt from rate quotas is not valid.
 * @remedy Keep to what the text says.
 */
export function exemptPathMalformed(): Failure {
  const message =
    "rate_limit_exempt_paths must hold paths such as sys/health or sys/rekey/*, " +
    "with at most one * and that at the end";
  return new Failure("invalid", "quota-exempt-path-malformed", message);
}
