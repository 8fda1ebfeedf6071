// How static roles refuse, and why a rotation cannot go on.

import { Failure } from "@holdfast/shared/failure";
import { ProviderError } from "../../cloud/provider-error.ts";

function invalid(code: string, message: string): Failure {
  return new Failure("invalid", code, message);
}

/**
 * @code field-missing A field that is needed was not given.
 * @remedy Give the field that the text names.
 */
export function required(field: string): Failure {
  return invalid("field-missing", `${field} is required`);
}

export function periodTooShort(): Failure {
  return invalid("field-invalid", "rotation_period must be at least 60 seconds");
}

export function overlapTooLong(): Failure {
  return invalid("field-invalid", "overlap must not be greater than rotation_period");
}

export function usernameInvalid(): Failure {
  const message = "username must have 1 to 64 characters: letters, digits and + = , . @ _ -";
  return invalid("field-invalid", message);
}

/**
 * @code user-unreadable The cloud user of a static role cannot be read.
 * @remedy Check its name and the permissions of the mount.
 */
export function userUnreadable(username: string, error: ProviderError): Failure {
  return invalid("user-unreadable", `user ${username} cannot be read: ${error.message}`);
}

export function otherUser(requested: string, found: string): Failure {
  const names = `${JSON.stringify(found)} instead of ${JSON.stringify(requested)}`;
  return invalid("user-unreadable", `user cannot be adopted: the provider gives ${names}`);
}

/**
 * @code user-changed A static role cannot change the user that it manages.
 * @remedy Delete the role and make another.
 */
export function userChanged(name: string, username: string): Failure {
  const message =
    `static role ${JSON.stringify(name)} manages user ${username}, which cannot be changed: ` +
    "delete the static role and make another";
  return invalid("user-changed", message);
}

/**
 * @code user-managed Another static role manages this user.
 * @remedy Use that role, or delete it first.
 */
export function userManaged(username: string, by: string): Failure {
  return invalid("user-managed", `user ${username} is already managed by ${by}`);
}

/**
 * @code own-key A static role would delete the key that the service itself calls with.
 * @remedy Give config/root the key of a user that no static role manages.
 */
export function ownKey(username: string): Failure {
  const message =
    `user ${username} has the access key that this service itself calls with, which it does not delete: ` +
    "give config/root the key of a user that no static role manages";
  return invalid("own-key", message);
}

/**
 * The name is the same, the user is not: somebody deleted it and made another.
 * @code user-replaced The cloud user was deleted and made anew by somebody.
 * @remedy Delete the static role with force=true and make it again.
 */
export class UserReplaced extends Failure {
  constructor(username: string) {
    const message =
      `user ${username} is not the one that was adopted: its id at the provider differs; ` +
      "delete the static role with force=true and make it again";
    super("invalid", "user-replaced", message);
  }
}

/**
 * @code static-key-unseen The key of a static role is not at the provider, since another cluster led before this one.
 * @remedy Rotate the role by hand: that makes a key which is known here.
 */
export class KeyUnseen extends Failure {
  constructor(username: string) {
    const message =
      `the stored key of user ${username} is not at the provider: another cluster may have replaced it before this ` +
      "one took its place; rotate the static role by hand";
    super("invalid", "static-key-unseen", message);
  }
}

/** None of them gets well by itself soon. */
export function isLasting(error: unknown): boolean {
  if (error instanceof UserReplaced || error instanceof KeyUnseen) return true;
  return error instanceof ProviderError && error.gone;
}
