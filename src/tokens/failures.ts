// Every way this room refuses. No text holds a secret; codes have underscores, as /acl/ tells them,
// and texts are those that clients of this API know.

import { Failure } from "@holdfast/shared/failure";
import { shortName, someNames } from "@holdfast/shared/text/some-names";

/**
 * All problems at once, in the form that clients of this API know.
 * @code invalid_token The fields of a token are not accepted.
 * @remedy Correct what the text lists.
 */
export function tokenInvalid(problems: readonly string[]): Failure {
  const count = problems.length === 1 ? "1 error" : `${problems.length} errors`;
  const lines = problems.map((problem) => `\t* ${problem}\n`).join("");
  return new Failure("invalid", "invalid_token", `token 0 invalid: ${count} occurred:\n${lines}\n`);
}

/**
 * A request that was still under way when the node was sealed.
 * @code tokens-closed The server is sealed.
 * @remedy Unseal it.
 */
export function tokensClosed(): Failure {
  return new Failure("sealed", "tokens-closed", "service is sealed");
}

export function denied(why = ""): Failure {
  const message = why === "" ? "Permission denied" : `Permission denied: ${why}`;
  return new Failure("denied", "permission_denied", message);
}

// --- single tokens ---

/**
 * @code invalid_parameter A parameter of a request to the ACL API is not accepted.
 * @remedy Correct the parameter that the text names.
 */
export function accessorMismatch(): Failure {
  const message = "ACL token accessor does not match request path";
  return new Failure("invalid", "invalid_parameter", message);
}

/** To a write. It is 400 there. */
export function cannotFind(accessor: string): Failure {
  return unknownAccessor("cannot find token", `cannot find token ${shortName(accessor)}`);
}

export function cannotDelete(accessor: string): Failure {
  const message = "Cannot delete nonexistent tokens";
  return unknownAccessor(message, `${message}: ${shortName(accessor)}`);
}

/**
 * The caller's client wants to see what was given. The audit trail must not: it may be a secret that
 * was taken for an accessor.
 * @code token_unknown A token that was to be changed or deleted does not exist.
 * @remedy Check the accessor; the token may have expired.
 */
function unknownAccessor(message: string, reason: string): Failure {
  return new Failure("invalid", "token_unknown", message, { texts: [reason] });
}

/** Roles are not there yet, so whatever is named is none. */
export function roleUnknown(role: string): Failure {
  return new Failure("invalid", "invalid_parameter", `cannot find role ${shortName(role)}`);
}

/** Where the caller wants to be told so (strict_policies). */
export function policiesUnknown(names: readonly string[]): Failure {
  return new Failure("invalid", "invalid_parameter", `unknown policies: ${someNames(names)}`);
}

/**
 * `cas` names another state than the stored one.
 * @code token_modified The token was changed in between.
 * @remedy Read it again, then write with its current index.
 */
export function tokenModified(index: bigint | null): Failure {
  // Another cluster has sent it on: what the index is there it knows itself.
  const now = index === null ? "" : ` (index ${index})`;
  return new Failure("conflict", "token_modified", `token was modified${now}`);
}

/** Deleted while it made another. */
export function parentGone(): Failure {
  const texts = ["permission denied", "invalid token"];
  return new Failure("denied", "invalid-token", "permission denied: invalid token", { texts });
}

/**
 * @code token_not_renewable The token cannot be renewed.
 * @remedy Log in again before it ends.
 */
export function notRenewable(): Failure {
  const message =
    "lease is not renewable: only tokens made through auth/token as renewable can be renewed";
  return new Failure("invalid", "token_not_renewable", message);
}

/**
 * To a renewal.
 * @code login_closed The login method that the token came by was disabled.
 * @remedy Log in anew by another.
 */
export function loginClosed(): Failure {
  const message = "the login method that this token came by is closed: log in anew";
  return new Failure("denied", "login_closed", message);
}

/**
 * @code prefix_invalid Tokens made through auth/token cannot be revoked by a prefix.
 * @remedy Revoke each, or the login they come from.
 */
export function prefixNotLogins(): Failure {
  const message =
    "tokens made through auth/token have no common prefix: end each with auth/token/revoke or " +
    "revoke-accessor, or the login that they come from with the path of its mount, such as auth/userpass";
  return new Failure("invalid", "prefix_invalid", message);
}

export function wrappingFixed(): Failure {
  return new Failure(
    "invalid",
    "invalid_token",
    "a wrapping token cannot be changed, only deleted",
  );
}

export function secretInUse(): Failure {
  return new Failure("invalid", "invalid_token", "secret already in use");
}

/** Lists show accessors to everybody who may see them. */
export function secretIsAccessor(): Failure {
  const message = "SecretID must not be the accessor of a token, nor AccessorID the secret of one";
  return new Failure("invalid", "invalid_token", message);
}

export function secretUnusable(): Failure {
  const message = "the secret of a token must have 1 to 8192 characters, and be no placeholder";
  return new Failure("invalid", "invalid_token", message);
}

// --- bootstrap ---

/**
 * @code already_bootstrapped The ACL system was bootstrapped already, or the reset index is wrong.
 * @remedy If every management token is lost, use `holdfast acl bootstrap reset`.
 */
export function alreadyBootstrapped(resetIndex: bigint): Failure {
  const message = `ACL bootstrap already done (reset index: ${resetIndex})`;
  return new Failure("invalid", "already_bootstrapped", message);
}

export function resetIndexWrong(sent: bigint, resetIndex: bigint): Failure {
  const message = `Invalid bootstrap reset index (specified ${sent}, reset index: ${resetIndex})`;
  return new Failure("invalid", "already_bootstrapped", message);
}

export function bootstrapSecretInvalid(): Failure {
  return new Failure("invalid", "invalid_token", "invalid acl token");
}

// --- one-time tokens ---

export function oneTimeSecretInvalid(): Failure {
  const message = "missing or invalid OneTimeSecretID";
  return new Failure("invalid", "invalid_parameter", message);
}

/**
 * @code too_many_attempts Too many attempts came from this address.
 * @remedy Wait for the time that Retry-After says.
 */
export function tooOften(retryAfter: number): Failure {
  const message = "too many attempts from this address; try again later";
  return new Failure("rate-limited", "too_many_attempts", message, { retryAfter });
}

// --- what is stored ---

export const RECORD_UNUSABLE = "token-record-unusable";

/**
 * A stored record that nobody may be let in by.
 * @code token-record-unusable A stored token is not one that this server writes; nobody is let in
 *   by it.
 * @remedy Find what touched the disk, then restore a backup.
 */
export function recordUnusable(): Failure {
  const message = "a stored token record is not one that this server writes; it is not used";
  return new Failure("damaged", RECORD_UNUSABLE, message);
}

/**
 * @code token-row-missing A row that the tokens need is missing in storage.
 * @remedy Restore a backup.
 */
export function rowMissing(what: string): Failure {
  const message = `the stored ${what} of the tokens is missing; restore it from a snapshot`;
  return new Failure("damaged", "token-row-missing", message);
}

/**
 * @code closing-stopped The closing of tokens was stopped, because the server seals or stops.
 * @remedy Nothing: it goes on at the next start.
 */
export function closingStopped(message: string): Failure {
  return new Failure("unavailable", "closing-stopped", message);
}

export function invalidParameter(message: string): Failure {
  return new Failure("invalid", "invalid_parameter", message);
}
