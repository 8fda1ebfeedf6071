// What this engine refuses on its own, before or beside what the provider says.

import { Failure, type FailureOptions } from "@holdfast/shared/failure";

export function invalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}

export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

/**
 * @code not-configured The mount has no configuration.
 * @remedy Write config first.
 */
export function notConfigured(): Failure {
  return new Failure("invalid", "not-configured", "engine is not configured");
}

/**
 * @code other-tenant Something was made in another tenant than the one now configured.
 * @remedy Put the configuration of that tenant back, or remove it there by hand.
 */
export function otherTenant(tenantId: string): Failure {
  const message = `this was made in tenant ${tenantId}, and the configuration is of another`;
  return new Failure("upstream", "other-tenant", message);
}

export function required(field: string): Failure {
  return invalid(`${field} is required`);
}

export function twoCredentials(): Failure {
  return invalid("client_secret and identity_token_audience exclude each other");
}

export function environmentUnknown(): Failure {
  return invalid(
    "unknown environment: accepted are CloudBPublicCloud, CloudBUSGovernmentCloud and CloudBChinaCloud",
  );
}

/**
 * @code identity-token-failed No identity token can be made for the cloud.
 * @remedy Check that api_addr is set, and identity_token_audience.
 */
export function noIdentityTokens(cause: unknown): Failure {
  const message = "identity_token_audience: no identity token can be made";
  return new Failure("invalid", "identity-token-failed", message, { cause });
}

export function noRole(): Failure {
  return new Failure("not-found", "role-unknown", "no such role", { texts: [] });
}

export function unknownRole(name: string): Failure {
  return new Failure("invalid", "creds-role-unknown", `unknown role ${JSON.stringify(name)}`);
}

/**
 * @code role-gone The role of a lease does not exist any more, so the lease is not renewed.
 * @remedy Ask for new credentials of another role.
 */
export function roleGone(name: string): Failure {
  const message = `role ${JSON.stringify(name)} no longer exists; lease cannot be renewed`;
  return new Failure("invalid", "role-gone", message);
}

/**
 * @code record-unreadable A record of work at the cloud does not say what it is about.
 * @remedy Look at the cloud by hand for what the log names, then drop the record.
 */
export function noName(): Failure {
  return new Failure(
    "internal",
    "record-unreadable",
    "the record does not say the name of a thing",
  );
}

export function newerVersion(): Failure {
  return new Failure("internal", "newer-version", "stored by a newer version");
}

// --- rotation ---

/**
 * @code rotation-pending A rotation is under way: its new secret is being proved.
 * @remedy Try again in 15 minutes.
 */
export function rotationPending(): Failure {
  const message = "a rotation is pending: its new secret is being proved; try again in 15 minutes";
  return new Failure("conflict", "rotation-pending", message);
}

/**
 * @code cannot-rotate The mount has nothing that can be rotated.
 * @remedy Read the reason in the text.
 */
export function cannotRotate(why: string): Failure {
  return new Failure("invalid", "cannot-rotate", why);
}

/**
 * @code rotation-given-up A new secret did not work for a day and was given up; the old one is in
 *   use.
 * @remedy Rotate again; look at the cloud for what refuses it.
 */
export function neverWorked(): Failure {
  const message = "the new secret has not worked for a day, and was given up";
  return new Failure("upstream", "rotation-given-up", message);
}

/**
 * @code provider-gave-up The cloud did not do it within the time that the server tries.
 * @remedy Try again later; read what it said last in the text.
 */
export function providerGaveUp(message: string, options?: FailureOptions): Failure {
  return new Failure("upstream", "provider-gave-up", message, options);
}

export function unknownOption(message: string): Failure {
  return new Failure("invalid", "unknown-option", message);
}

export function providerFailed(message: string): Failure {
  return new Failure("upstream", "provider-failed", message);
}

/**
 * @code password-lifetime The cloud does not allow passwords to live as long as the role says.
 * @remedy Set a shorter explicit_max_ttl on the role.
 */
export function passwordLifetime(message: string, options?: FailureOptions): Failure {
  return new Failure("invalid", "password-lifetime", message, options);
}

/**
 * @code passwords-full The application at the cloud holds as many passwords as it may.
 * @remedy Shorten the ttl of the role, or use another application.
 */
export function passwordsFull(message: string, options?: FailureOptions): Failure {
  return new Failure("invalid", "passwords-full", message, options);
}
