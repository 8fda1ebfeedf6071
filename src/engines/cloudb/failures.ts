// What this engine refuses on its own, before or beside what the provider says.

import { Failure } from "../../base/failure.ts";

export function invalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}

export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

export function notConfigured(): Failure {
  return new Failure("invalid", "not-configured", "engine is not configured");
}

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

export function noIdentityTokens(cause: unknown): Failure {
  const message = "identity_token_audience: no identity token can be made";
  return new Failure("invalid", "identity-token-failed", message, { cause });
}

export function noRole(): Failure {
  return new Failure("not-found", "role-unknown", "no such role", { texts: [] });
}

export function unknownRole(name: string): Failure {
  return new Failure("invalid", "role-unknown", `unknown role ${JSON.stringify(name)}`);
}

export function roleGone(name: string): Failure {
  const message = `role ${JSON.stringify(name)} no longer exists; lease cannot be renewed`;
  return new Failure("invalid", "role-gone", message);
}

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

export function rotationPending(): Failure {
  const message = "a rotation is pending: its new secret is being proved; try again in 15 minutes";
  return new Failure("conflict", "rotation-pending", message);
}

export function cannotRotate(why: string): Failure {
  return new Failure("invalid", "cannot-rotate", why);
}

export function neverWorked(): Failure {
  const message = "the new secret has not worked for a day, and was given up";
  return new Failure("upstream", "rotation-given-up", message);
}
