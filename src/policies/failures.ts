// Every way this room refuses.

import { Failure } from "../base/failure.ts";
import { ACCEPTED_NAMES } from "../policy/acl-name.ts";

export function nameInvalid(): Failure {
  const message = `invalid policy name: accepted are ${ACCEPTED_NAMES}`;
  return new Failure("invalid", "policy-name-invalid", message);
}

export function textMissing(): Failure {
  const message = "'policy' parameter not supplied or empty";
  return new Failure("invalid", "policy-text-missing", message);
}

export function notWritable(name: string): Failure {
  return new Failure("invalid", "policy-built-in", `cannot update "${name}" policy`);
}

export function notDeletable(name: string): Failure {
  const shown = name === "default" ? name : `"${name}"`;
  return new Failure("invalid", "policy-built-in", `cannot delete ${shown} policy`);
}

export function casMismatch(): Failure {
  const message = "check-and-set parameter did not match the current version";
  return new Failure("invalid", "policy-cas-mismatch", message);
}

export function casMissing(): Failure {
  const message = "check-and-set parameter required for this call";
  return new Failure("invalid", "policy-cas-required", message);
}

export function alreadyEnded(): Failure {
  const message = "expiration must lie in the future";
  return new Failure("invalid", "policy-expiration-past", message);
}

/** Whoever holds it is refused rather than judged by what is left: a deny may be what is lost. */
export function recordDamaged(name: string): Failure {
  const message = `the stored policy "${name}" cannot be read; write it again or restore a snapshot`;
  return new Failure("damaged", "policy-damaged", message);
}
