// Every way this method refuses. Whoever cannot log in is told one thing, whatever was wrong (T-B22).

import { Failure } from "@holdfast/shared/failure";
import { ACCEPTED_LOGIN_NAMES } from "@holdfast/plugin-sdk/login-terms";

function invalid(code: string, message: string): Failure {
  return new Failure("invalid", code, message);
}

/**
 * Unknown role, unknown, expired or used up secret id, wrong place: all alike.
 * @code login-refused The login failed: name, password, role, secret id or address are not right.
 * @remedy Check all of them; the server says no more on purpose.
 */
export function loginRefused(): Failure {
  return invalid("login-refused", "invalid role or secret ID");
}

export function roleNameInvalid(): Failure {
  return invalid("field-invalid", `role_name must be ${ACCEPTED_LOGIN_NAMES}`);
}

/**
 * @code role-unknown There is no such role.
 * @remedy List the roles of the mount.
 */
export function noRole(): Failure {
  return new Failure("not-found", "role-unknown", "no such role", { texts: [] });
}

/**
 * @code secret-id-unknown There is no such secret id.
 * @remedy List the accessors of the role's secret ids.
 */
export function noSecretId(): Failure {
  return new Failure("not-found", "secret-id-unknown", "no such secret id", { texts: [] });
}

/**
 * @code role-unbound The role would let in everybody who knows its id.
 * @remedy Set bind_secret_id, secret_id_bound_cidrs or token_bound_cidrs.
 */
export function unbound(): Failure {
  const message =
    "at least one constraint should be enabled on the role: bind_secret_id, " +
    "secret_id_bound_cidrs or token_bound_cidrs";
  return invalid("role-unbound", message);
}

/**
 * @code role-id-taken Another role has this role_id.
 * @remedy Choose another, or leave it out.
 */
export function roleIdTaken(): Failure {
  return invalid("role-id-taken", "role_id is already in use by another role");
}

export function roleIdInvalid(): Failure {
  return invalid("field-invalid", "role_id must have 1 to 512 characters");
}

/**
 * @code secret-ids-off The role takes no secret ids.
 * @remedy Set bind_secret_id on the role.
 */
export function secretIdsOff(): Failure {
  return invalid("secret-ids-off", "bind_secret_id is not set on the role");
}

export function secretIdInvalid(): Failure {
  const message = "secret_id must have 16 to 1024 characters; leave it out for a random one";
  return invalid("field-invalid", message);
}

/**
 * @code secret-id-taken This secret id is registered already.
 * @remedy Choose another, or let the server draw one.
 */
export function secretIdTaken(): Failure {
  return invalid("secret-id-taken", "secret_id is already registered");
}

export function aboveRole(field: string, of: string): Failure {
  const why = `${field} must not be greater than ${of} of the role, nor 0, which is without a bound`;
  return invalid("field-invalid", why);
}

export function outsideRole(field: string, of: string): Failure {
  return invalid("field-invalid", `${field} must lie within ${of} of the role`);
}

export function metadataInvalid(): Failure {
  const message = "metadata must be an object of strings, or the JSON text of one";
  return invalid("field-invalid", message);
}

export function outOfScope(): Failure {
  const message = "local_secret_ids must be false: secret ids go where their mount goes";
  return invalid("field-invalid", message);
}
