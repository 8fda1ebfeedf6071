// Every way this engine refuses by itself; what the provider refuses is told by ../cloud/provider-error.ts.

import { Failure, type FailureOptions } from "@holdfast/shared/failure";

/**
 * @code root-keys access_key and secret_key do not come together.
 * @remedy Give both in one write.
 * @code root-fallbacks Fallback endpoints and regions do not go in pairs.
 * @remedy Give equally many of each.
 * @code root-sources The mount was given two sources of credentials that exclude each other, or
 *   half of one.
 * @remedy Give one whole source, as the text says.
 * @code root-period Rotation was asked for without keys that could be rotated.
 * @remedy Write access_key and secret_key too.
 * @code identity-token No identity token can be made for the cloud.
 * @remedy Read the cause in the text; api_addr must be set.
 * @code root-moved The endpoint was changed while old keys were to be kept.
 * @remedy Give access_key and secret_key in the same write.
 * @code lease-order The usual lifetime of leases is above the longest.
 * @remedy Give lease_max of at least lease.
 */
export function invalid(code: string, message: string): Failure {
  return new Failure("invalid", code, message);
}

/** A name that no route has. */
export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

/**
 * @code not-found Nothing is stored here.
 * @remedy Write it first.
 */
export function notFound(): Failure {
  return new Failure("not-found", "not-found", "nothing is stored here", { texts: [] });
}

/**
 * @code no-root-credentials The mount has no credentials for the cloud.
 * @remedy Write them to config/root, or give the machine a role.
 */
export function noCredentials(why: string): Failure {
  const sources =
    "access_key and secret_key of config/root, CLOUDA_ACCESS_KEY and CLOUDA_SECRET_KEY, " +
    "shared credentials files, or the role of this machine";
  return invalid(
    "no-root-credentials",
    `no credentials for the provider: accepted are ${sources}${why}`,
  );
}

/**
 * @code no-root-keys The mount has no keys of its own to rotate.
 * @remedy Write access_key and secret_key to config/root.
 */
export function noKeysToRotate(): Failure {
  const message = "rotate-root needs access_key and secret_key in config/root";
  return invalid("no-root-keys", message);
}

/**
 * @code two-access-keys The cloud user has two access keys already, so none can be added.
 * @remedy Delete the one that this service does not use.
 */
export function twoKeys(): Failure {
  const message =
    "the IAM user already has two access keys; delete the one this service does not use";
  return invalid("two-access-keys", message);
}

/**
 * @code creds-role-unknown Credentials were asked of a role that does not exist.
 * @remedy List the roles of the mount; write the role first.
 */
export function noRole(name: string): Failure {
  return invalid("creds-role-unknown", `role ${JSON.stringify(name)} not found`);
}

/**
 * @code role-invalid A stored role is not valid any more.
 * @remedy Write it again.
 */
export function roleInvalid(name: string): Failure {
  const message =
    `role ${JSON.stringify(name)} holds invalid data from an earlier version; ` + "write it again";
  return invalid("role-invalid", message);
}

/**
 * @code legacy-path The role's type is not available on this old path.
 * @remedy Use the path creds/ of the mount.
 */
export function wrongPath(type: string, path: string): Failure {
  return invalid("legacy-path", `legacy role: ${type} is not available on ${path}`);
}

/**
 * @code role-arn-missing The role allows several ARNs and none was chosen.
 * @remedy Give role_arn.
 */
export function roleArnMissing(count: number): Failure {
  return invalid("role-arn-missing", `role_arn is required: the role allows ${count} ARNs`);
}

/**
 * @code role-arn-foreign The ARN that was asked for is not one of the role's.
 * @remedy Choose one that the role lists.
 */
export function roleArnForeign(arn: string, name: string): Failure {
  // Shortened, and without what could steer a terminal: it is the caller's own text.
  const quoted = JSON.stringify(arn.slice(0, 256));
  return invalid("role-arn-foreign", `role_arn ${quoted} is not allowed by role ${name}`);
}

/**
 * @code root-temporary Federation tokens need the keys of a cloud user, and the mount has
 *   temporary credentials.
 * @remedy Write a user's keys to config/root, or use another type of role.
 */
export function temporaryRoot(): Failure {
  const message =
    "federation_token needs the keys of an IAM user: the provider gives no federation token to " +
    "temporary credentials, which is what this service calls with";
  return invalid("root-temporary", message);
}

/**
 * @code no-session-policy A federation token without a policy would have all power of the service.
 * @remedy Give policy_arns, policy_document or groups on the role.
 */
export function noSessionPolicy(): Failure {
  const message =
    "federation_token needs policy_arns, policy_document or groups with policies: without any the " +
    "token would have all the power of this service";
  return invalid("no-session-policy", message);
}

/**
 * @code user-not-visible A new cloud user is not visible yet.
 * @remedy Nothing: it is tried again.
 */
export function userNotVisible(message: string): Failure {
  return new Failure("upstream", "user-not-visible", message);
}

/**
 * @code rotation-not-stored A new key was made at the cloud and could not be stored; it is removed
 *   again.
 * @remedy Mend the storage, then rotate again; the old key still works.
 */
export function rotationNotStored(message: string, options?: FailureOptions): Failure {
  return new Failure("internal", "rotation-not-stored", message, options);
}

/**
 * @code rotation-overtaken The configuration was changed while its key was rotated; nothing was
 *   rotated.
 * @remedy Rotate again.
 */
export function rotationOvertaken(message: string): Failure {
  return new Failure("conflict", "rotation-overtaken", message);
}

/**
 * @code newer-version A record of the mount was stored by a newer version.
 * @remedy Run that version, or write the record again.
 */
export function newerVersion(message: string): Failure {
  return new Failure("internal", "newer-version", message);
}

/**
 * @code template-invalid The template of user names is wrong.
 * @remedy Correct the line and column that the text names.
 */
export function templateInvalid(message: string): Failure {
  return new Failure("invalid", "template-invalid", message);
}

/**
 * @code name-unusable A user name could not be made from the template.
 * @remedy Correct username_template of config/root.
 */
export function nameUnusable(message: string): Failure {
  return new Failure("internal", "name-unusable", message);
}

/**
 * @code stored-by-newer The configuration of the mount was stored by a newer version.
 * @remedy Run that version, or write the configuration again.
 */
export function storedByNewer(message: string): Failure {
  return new Failure("internal", "stored-by-newer", message);
}

/**
 * @code other-account Something was made in another cloud account than the one now configured.
 * @remedy Put credentials of the account that the text names back, or remove it there by hand.
 */
export function otherAccount(message: string): Failure {
  return new Failure("upstream", "other-account", message);
}

/**
 * @code policy-without-statement A policy document has no Statement and cannot be joined with
 *   others.
 * @remedy Correct policy_document of the role.
 */
export function policyWithoutStatement(message: string): Failure {
  return new Failure("invalid", "policy-without-statement", message);
}

/**
 * @code session-policy-too-large The policies of a role are larger than the cloud takes for a
 *   session.
 * @remedy Shorten them, or use policy_arns.
 */
export function sessionPolicyTooLarge(message: string): Failure {
  return new Failure("invalid", "session-policy-too-large", message);
}

/**
 * @code unknown-option A mount was given an option that its type does not have.
 * @remedy Leave it out.
 */
export function unknownOption(message: string): Failure {
  return new Failure("invalid", "unknown-option", message);
}
