// Every way this room refuses. Texts hold names of options and devices, never their values.

import { Failure } from "@holdfast/shared/failure";

/**
 * Text that clients match on.
 * @code audit-failed No audit device could write the record, so the request was not carried out.
 * @remedy Make a device writable again: look at disk space, permissions and the log of the server.
 */
export function auditFailed(): Failure {
  const message = "no audit device succeeded in logging the request";
  return new Failure("internal", "audit-failed", message);
}

/**
 * @code audit-busy More requests wait for their audit record than there is room for.
 * @remedy Try again in a moment; if it stays so, look at how fast the disk of the device is.
 */
export function auditBusy(): Failure {
  const message = "too many requests wait for their audit record; try again";
  return new Failure("unavailable", "audit-busy", message, { retryAfter: 1 });
}

/**
 * The node seals again. The reasons name places of this machine, and so are the cause: for the log, and
 * for callers on it.
 * @code audit-no-device Audit devices are configured and none of them can be opened, so the server
 *   does not open.
 * @remedy Read the reasons in the server's log, mend one device, then unseal again.
 */
export function noDeviceOpens(reasons: readonly string[]): Failure {
  const message =
    "audit devices are configured and not one of them can be opened; " +
    "the server's log, and callers on its machine, are told the path and the reason for each";
  const cause = new Failure("unavailable", "audit-no-device", reasons.join("; "), {
    texts: reasons,
  });
  return new Failure("unavailable", "audit-no-device", message, { cause });
}

/**
 * @code audit-path-in-use There is an audit device at this path already.
 * @remedy Choose another path, or disable the device that is there.
 */
export function deviceExists(path: string): Failure {
  return new Failure("invalid", "audit-path-in-use", `path already in use: ${path}/`);
}

/**
 * @code audit-file-in-use Another audit device writes this file.
 * @remedy Give each device a file of its own: two in one would break the chain of both.
 */
export function fileInUse(path: string): Failure {
  const message = `file_path is the file of the audit device ${path}/; each needs one of its own`;
  return new Failure("invalid", "audit-file-in-use", message);
}

/**
 * @code audit-device-declared This audit device is declared in the configuration file.
 * @remedy Change it there and reload the server.
 */
export function deviceDeclared(path: string): Failure {
  const message = `${path}/ is declared in the configuration file and can be changed only there`;
  return new Failure("invalid", "audit-device-declared", message);
}

/**
 * @code audit-device-unknown There is no audit device at this path.
 * @remedy List the devices with `GET sys/audit`.
 */
export function deviceUnknown(path: string): Failure {
  return new Failure("not-found", "audit-device-unknown", `no audit device at ${path}/`);
}

/**
 * @code audit-path-invalid The path of an audit device is not one of plain names.
 * @remedy Use one to eight names of letters, digits, dashes, underscores and dots.
 */
export function pathInvalid(): Failure {
  const message =
    "the path of an audit device is one to eight names of up to 64 letters, digits, dashes, " +
    "underscores and dots, with no dot at the beginning";
  return new Failure("invalid", "audit-path-invalid", message);
}

/**
 * @code audit-too-many-devices There are as many audit devices as there may be.
 * @remedy Disable one first.
 */
export function tooManyDevices(max: number): Failure {
  const message = `there are ${max} audit devices already, which is the most`;
  return new Failure("invalid", "audit-too-many-devices", message);
}

export function typeInvalid(types: readonly string[]): Failure {
  return optionInvalid("type", `must be one of ${types.join(", ")}`);
}

/**
 * @code audit-option-unknown An option of an audit device is not known.
 * @remedy Leave it out, or use one of those that the text lists.
 */
export function optionUnknown(name: string, known: readonly string[]): Failure {
  const message = `unknown option ${quoteName(name)}; accepted are ${known.join(", ")}`;
  return new Failure("invalid", "audit-option-unknown", message);
}

/**
 * @code audit-option-invalid An option of an audit device has a value that is not accepted.
 * @remedy Correct the option that the text names.
 */
export function optionInvalid(name: string, what: string): Failure {
  return new Failure("invalid", "audit-option-invalid", `${name} ${what}`);
}

/**
 * One text, whatever lies there: it must not tell what files this machine has.
 * @code audit-file-refused The file of an audit device is not in a place that the server accepts.
 * @remedy Use a regular file below audit_file_roots, in a directory that only the server can write
 *   to.
 */
export function fileRefused(): Failure {
  const message =
    "file_path must name a regular file of the server's own, without links, " +
    "in an existing directory below one of audit_file_roots that only the server can write to; " +
    "sys/config/state/sanitized shows audit_file_roots to whoever may read it";
  return new Failure("invalid", "audit-file-refused", message);
}

/**
 * For devices of the configuration file, whose author may know more.
 * @code audit-file-forbidden The file of an audit device lies among the server's own data or
 *   programs.
 * @remedy Choose a directory that is for audit files alone.
 */
export function fileForbidden(): Failure {
  const message = "the file lies in a directory that holds data or programs of the server";
  return new Failure("invalid", "audit-file-forbidden", message);
}

/**
 * The cause goes to the log.
 * @code audit-test-failed A new audit device did not take a test record.
 * @remedy Read the reason in the server's log; mend file, socket or permissions and try again.
 */
export function testFailed(path: string): Failure {
  const message = `the audit device ${path}/ did not take a test record; the server's log says why`;
  return new Failure("invalid", "audit-test-failed", message);
}

/**
 * @code audit-header-invalid The name of a header to be recorded is not valid, or too many are
 *   recorded.
 * @remedy Use letters, digits, dashes and underscores; remove a header that is not needed.
 */
export function headerInvalid(): Failure {
  const message =
    "the name of a header is 1 to 64 letters, digits, dashes and underscores; at most 64 are recorded";
  return new Failure("invalid", "audit-header-invalid", message);
}

/**
 * @code audit-header-secret A header that carries credentials was to be recorded in clear.
 * @remedy Give hmac=true, or do not record it.
 */
export function headerSecret(name: string): Failure {
  const message = `${name} carries credentials; it is recorded with hmac=true or not at all`;
  return new Failure("invalid", "audit-header-secret", message);
}

/**
 * @code audit-header-unknown This header is not recorded.
 * @remedy List the recorded ones with `GET sys/config/auditing/request-headers`.
 */
export function headerUnknown(name: string): Failure {
  return new Failure("not-found", "audit-header-unknown", `the header ${name} is not recorded`);
}

/**
 * @code audit-hash-limited Too many values were hashed for comparison with audit records.
 * @remedy Wait for the time that Retry-After says.
 */
export function hashedTooOften(retryAfter: number): Failure {
  const message = "too many values were hashed; try again later";
  return new Failure("rate-limited", "audit-hash-limited", message, { retryAfter });
}

/**
 * @code audit-not-chained The audit device has no file, and only files can be checked for gaps.
 * @remedy Name a device of type file.
 */
export function notChained(path: string): Failure {
  const message = `${path}/ has no file that could be checked; only files carry a chain`;
  return new Failure("invalid", "audit-not-chained", message);
}

function quoteName(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? name : "(unprintable or too long)";
}
