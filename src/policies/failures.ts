// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";
import { ACCEPTED_NAMES } from "@holdfast/shared/text/policy-name";
import { showName } from "../document/document-failure.ts";
import type { TestOutcome } from "../program/program.ts";

/**
 * @code policy-name-invalid The name of a policy is not valid.
 * @remedy Keep to what the text says.
 */
export function nameInvalid(): Failure {
  const message = `invalid policy name: accepted are ${ACCEPTED_NAMES}`;
  return new Failure("invalid", "policy-name-invalid", message);
}

/**
 * @code policy-text-missing The policy has no text.
 * @remedy Give policy.
 */
export function textMissing(): Failure {
  const message = "'policy' parameter not supplied or empty";
  return new Failure("invalid", "policy-text-missing", message);
}

/**
 * @code policy-built-in The policy is built in and cannot be written or deleted.
 * @remedy Write one of your own.
 */
export function notWritable(name: string): Failure {
  return new Failure("invalid", "policy-built-in", `cannot update "${name}" policy`);
}

export function notDeletable(name: string): Failure {
  const display = name === "default" ? name : `"${name}"`;
  return new Failure("invalid", "policy-built-in", `cannot delete ${display} policy`);
}

/**
 * @code policy-cas-mismatch The policy has another version than cas says: somebody wrote in
 *   between.
 * @remedy Read it again, then write with its current version.
 */
export function casMismatch(): Failure {
  const message = "check-and-set parameter did not match the current version";
  return new Failure("invalid", "policy-cas-mismatch", message);
}

/**
 * @code policy-cas-required This policy is written only with cas.
 * @remedy Give its current version as cas.
 */
export function casMissing(): Failure {
  const message = "check-and-set parameter required for this call";
  return new Failure("invalid", "policy-cas-required", message);
}

/**
 * Nobody is told more than that there is none.
 * @code policy-not-found There is no such policy.
 * @remedy List the policies; check the namespace.
 */
export function absent(): Failure {
  return new Failure("not-found", "policy-not-found", "there is no such policy", { texts: [] });
}

/**
 * @code policy-name-taken An ACL policy and an RGP cannot have the same name.
 * @remedy Choose another name.
 */
export function nameShared(): Failure {
  const message = "cannot reuse policy names between ACLs and RGPs";
  return new Failure("invalid", "policy-name-taken", message);
}

/**
 * @code policy-expiration-twice The end of the policy is given in two ways.
 * @remedy Give expiration or ttl.
 */
export function twoEnds(): Failure {
  const message = "expiration and ttl say the same thing: give one of them";
  return new Failure("invalid", "policy-expiration-twice", message);
}

/**
 * @code policy-level-missing The enforcement level is missing.
 * @remedy Give enforcement_level.
 */
export function levelMissing(): Failure {
  const message = "'enforcement_level' parameter not supplied or empty";
  return new Failure("invalid", "policy-level-missing", message);
}

/**
 * @code policy-level-invalid There is no such enforcement level.
 * @remedy Use one that the text lists.
 */
export function levelInvalid(text: string, accepted: readonly string[]): Failure {
  const words = accepted.map((level) => `"${level}"`).join(", ");
  const message = `invalid enforcement_level ${showName(text)}: must be one of ${words}`;
  return new Failure("invalid", "policy-level-invalid", message);
}

/**
 * One text for each test that does not come out as its author wants it.
 * @code policy-test-failed The tests inside the policy failed, so it was not stored.
 * @remedy Correct the policy or the test that the text names.
 */
export function testsFailed(outcomes: readonly TestOutcome[]): Failure {
  const texts = outcomes.map(({ name, line, want, got, error }) => {
    const came = error === null ? String(got) : `an error: ${error}`;
    return `test ${showName(name)} on line ${line} failed: want ${want}, got ${came}`;
  });
  return new Failure("invalid", "policy-test-failed", texts.join("; "), { texts });
}

/**
 * Without it, who may write a policy could loosen one that binds.
 * @code sudo-needed The capability sudo is needed on this path.
 * @remedy Ask somebody who has it, or for a policy with sudo.
 */
export function sudoNeeded(doing: "changing" | "deleting"): Failure {
  const why = `${doing} a hard-mandatory policy needs the capability sudo on this path`;
  const texts = ["permission denied", why];
  return new Failure("denied", "sudo-needed", `permission denied: ${why}`, { texts });
}

/**
 * @code policy-expiration-past The end of the policy lies in the past.
 * @remedy Give a time in the future.
 */
export function alreadyEnded(): Failure {
  const message = "expiration must lie in the future";
  return new Failure("invalid", "policy-expiration-past", message);
}

/**
 * Whoever holds it is refused rather than judged by what is left: a deny may be what is lost.
 * @code policy-damaged A stored policy cannot be read; it allows nothing.
 * @remedy Write it again, or restore a backup.
 */
export function recordDamaged(name: string): Failure {
  const message = `the stored policy "${name}" cannot be read; write it again or restore a snapshot`;
  return new Failure("damaged", "policy-damaged", message);
}

// --- questions about tokens ---

/**
 * @code paths-missing No paths were asked about.
 * @remedy Give paths.
 */
export function pathsMissing(): Failure {
  return new Failure("invalid", "paths-missing", "paths must be supplied");
}

/**
 * @code token-missing No token was asked about.
 * @remedy Give token.
 */
export function tokenMissing(): Failure {
  return new Failure("invalid", "token-missing", "missing token");
}

/**
 * Unknown, deleted, expired, and of another part of the tree alike.
 * @code token-invalid The token asked about is not valid.
 * @remedy Check it; it may have expired.
 */
export function tokenInvalid(): Failure {
  return new Failure("invalid", "token-invalid", "invalid token");
}

/**
 * @code accessor-missing No accessor was given.
 * @remedy Give accessor.
 */
export function accessorMissing(): Failure {
  return new Failure("invalid", "accessor-missing", "missing accessor");
}

/**
 * @code accessor-invalid There is no token with this accessor.
 * @remedy Check it; the token may have expired.
 */
export function accessorInvalid(): Failure {
  return new Failure("invalid", "accessor-invalid", "invalid accessor");
}

/**
 * @code two-askers A question names a token and policies, which exclude each other.
 * @remedy Give one of them.
 */
export function twoAskers(): Failure {
  const text =
    "give token_accessor, or policies and no_default_policy: a token has policies of its own";
  return new Failure("invalid", "two-askers", text);
}

// --- the views of the ACL API ---

export function viewDenied(): Failure {
  return new Failure("denied", "permission_denied", "Permission denied");
}

/**
 * @code policy_not_found There is no such policy, or the token may not see it.
 * @remedy List the policies.
 */
export function viewAbsent(): Failure {
  return new Failure("not-found", "policy_not_found", "ACL policy not found");
}

export function viewNameMismatch(): Failure {
  const message = "ACL policy name does not match request path";
  return new Failure("invalid", "invalid_parameter", message);
}

export function rulesMissing(): Failure {
  const message = 'Rules is missing; it must be an ACL policy, such as path "secret/*" { ... }';
  return new Failure("invalid", "invalid_parameter", message);
}

/** A policy for another product is none that is almost right: its author is told so. */
export function rulesForeign(word: string): Failure {
  const message =
    `Rules is a policy in another product's language (${word}); an ACL policy here says what may be ` +
    'done on paths, such as path "secret/*" { capabilities = ["read", "list"] }';
  return new Failure("invalid", "invalid_parameter", message);
}

export function jobsUnknown(): Failure {
  const message = "JobACL must be null: there are no jobs here that a policy could be attached to";
  return new Failure("invalid", "invalid_parameter", message);
}

// --- sys/inspect/request ---

/**
 * @code path-invalid The path asked about is not one.
 * @remedy Use names joined by single slashes.
 */
export function pathInvalid(): Failure {
  const message = "path must be names joined by single slashes";
  return new Failure("invalid", "path-invalid", message);
}

/**
 * @code namespace-unknown The namespace asked about does not exist below that of the request.
 * @remedy Check it.
 */
export function namespaceUnknown(): Failure {
  const message = "namespace must be one that exists, below that of the request";
  return new Failure("invalid", "namespace-unknown", message);
}

/**
 * @code documents-invalid The documents to be tried are not a list of policies.
 * @remedy Keep to what the text says.
 */
export function documentsInvalid(): Failure {
  const message =
    "documents must be a list of at most 100 objects with type (acl, rgp or egp), name and policy; " +
    "enforcement_level (hard-mandatory) and paths (*) are optional";
  return new Failure("invalid", "documents-invalid", message);
}

/**
 * @code remote-address-invalid The address that a request is said to come from is none.
 * @remedy Give an IP address, or leave it out.
 */
export function addressInvalid(): Failure {
  const message = "remote_address must be an IP address such as 10.1.2.3 or 2001:db8::1, or unix";
  return new Failure("invalid", "remote-address-invalid", message);
}

/**
 * @code egp-paths-missing An EGP has no paths.
 * @remedy Give paths.
 */
export function egpPathsMissing(message: string): Failure {
  return new Failure("invalid", "egp-paths-missing", message);
}

/**
 * @code egp-path-invalid A path of an EGP is not valid.
 * @remedy Keep to what the text says.
 */
export function egpPathInvalid(message: string): Failure {
  return new Failure("invalid", "egp-path-invalid", message);
}
