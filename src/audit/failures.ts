// Every way this room refuses. Texts hold names of options and devices, never their values.

import { Failure } from "../base/failure.ts";

/** Text that clients match on. */
export function auditFailed(): Failure {
  const message = "no audit device succeeded in logging the request";
  return new Failure("internal", "audit-failed", message);
}

/** The node seals again. The reasons name places of this machine, and so are the cause: for the log, and
 *  for callers on it. */
export function noDeviceOpens(reasons: readonly string[]): Failure {
  const message =
    "audit devices are configured and not one of them can be opened; " +
    "the server's log, and callers on its machine, are told the path and the reason for each";
  const cause = new Failure("unavailable", "audit-no-device", reasons.join("; "), {
    texts: reasons,
  });
  return new Failure("unavailable", "audit-no-device", message, { cause });
}

export function deviceExists(path: string): Failure {
  return new Failure("invalid", "audit-path-in-use", `path already in use: ${path}/`);
}

export function deviceDeclared(path: string): Failure {
  const message = `${path}/ is declared in the configuration file and can be changed only there`;
  return new Failure("invalid", "audit-device-declared", message);
}

export function deviceUnknown(path: string): Failure {
  return new Failure("not-found", "audit-device-unknown", `no audit device at ${path}/`);
}

export function pathInvalid(): Failure {
  const message =
    "the path of an audit device is one to eight names of up to 64 letters, digits, dashes, " +
    "underscores and dots, with no dot at the beginning";
  return new Failure("invalid", "audit-path-invalid", message);
}

export function tooManyDevices(most: number): Failure {
  const message = `there are ${most} audit devices already, which is the most`;
  return new Failure("invalid", "audit-too-many-devices", message);
}

export function typeInvalid(types: readonly string[]): Failure {
  return optionInvalid("type", `must be one of ${types.join(", ")}`);
}

export function optionUnknown(name: string, known: readonly string[]): Failure {
  const message = `unknown option ${shown(name)}; accepted are ${known.join(", ")}`;
  return new Failure("invalid", "audit-option-unknown", message);
}

export function optionInvalid(name: string, what: string): Failure {
  return new Failure("invalid", "audit-option-invalid", `${name} ${what}`);
}

/** One text, whatever lies there: it must not tell what files this machine has. */
export function fileRefused(): Failure {
  const message =
    "file_path must name a regular file of the server's own, without links, " +
    "in an existing directory below one of audit_file_roots that only the server can write to; " +
    "sys/config/state/sanitized shows audit_file_roots to whoever may read it";
  return new Failure("invalid", "audit-file-refused", message);
}

/** For devices of the configuration file, whose author may know more. */
export function fileForbidden(): Failure {
  const message = "the file lies in a directory that holds data or programs of the server";
  return new Failure("invalid", "audit-file-forbidden", message);
}

/** The cause goes to the log. */
export function testFailed(path: string): Failure {
  const message = `the audit device ${path}/ did not take a test record; the server's log says why`;
  return new Failure("invalid", "audit-test-failed", message);
}

export function headerInvalid(): Failure {
  const message =
    "the name of a header is 1 to 64 letters, digits, dashes and underscores; at most 64 are recorded";
  return new Failure("invalid", "audit-header-invalid", message);
}

export function headerSecret(name: string): Failure {
  const message = `${name} carries credentials; it is recorded with hmac=true or not at all`;
  return new Failure("invalid", "audit-header-secret", message);
}

export function headerUnknown(name: string): Failure {
  return new Failure("not-found", "audit-header-unknown", `the header ${name} is not recorded`);
}

export function hashedTooOften(retryAfter: number): Failure {
  const message = "too many values were hashed; try again later";
  return new Failure("rate-limited", "audit-hash-limited", message, { retryAfter });
}

export function notChained(path: string): Failure {
  const message = `${path}/ has no file that could be checked; only files carry a chain`;
  return new Failure("invalid", "audit-not-chained", message);
}

function shown(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? name : "(unprintable or too long)";
}
