// What a role must be and what it had better be. All faults are told
// at once: whoever writes roles by machine would else mend them one by one.

import { isCleanArn, isPolicyArn, parseArn } from "../provider/arn.ts";
import type { CredentialType, Role } from "./role.ts";
import { MAX_SESSION_ARNS, MAX_SESSION_CHARACTERS } from "./session-policies.ts";

export const CREDENTIAL_TYPES: readonly CredentialType[] = [
  "iam_user",
  "assumed_role",
  "federation_token",
];

// The rules here that are stricter than the comparable product's, each by itself.
const ROLE_ARNS_REQUIRED = true; // an assumed role names those it may assume
const POLICY_REQUIRED = true; // groups alone do not count

const USER_PATH = /^\/(?:[!-~]{1,510}\/)?$/;
const MAX_TAGS = 50;
const MAX_TAG_KEY = 128;
const MAX_TAG_VALUE = 256;
const MAX_GROUPS = 10; // of one user, unless the provider was asked for more
const MAX_EXTERNAL_ID = 1224;

/** As written: the type may be anything, and the document no JSON object. */
export interface RoleDraft extends Omit<Role, "credentialTypes"> {
  readonly credentialType: string;
  /** What is wrong with the document; null for nothing. */
  readonly documentFault: string | null;
}

export function isCredentialType(text: string): text is CredentialType {
  return CREDENTIAL_TYPES.some((type) => type === text);
}

/** In the order of the table; empty for a good role. */
export function faultsOf(role: RoleDraft): string[] {
  const type = role.credentialType;
  return [
    ...typeFaults(type),
    ...onlyFor(type, "assumed_role", { role_arns: role.roleArns.length > 0 }),
    ...missing(role),
    ...(role.documentFault === null ? [] : [`policy_document ${role.documentFault}`]),
    ...ttlFaults(role),
    ...userFaults(role),
    ...onlyFor(type, "assumed_role", {
      session_tags: Object.keys(role.sessionTags).length > 0,
      external_id: role.externalId !== "",
    }),
    ...tagFaults("iam_tags", role.iamTags),
    ...tagFaults("session_tags", role.sessionTags),
    ...arnFaults("role_arns", role.roleArns),
    ...arnFaults("policy_arns", role.policyArns),
    ...(role.externalId.length > MAX_EXTERNAL_ID
      ? [`external_id has more than ${MAX_EXTERNAL_ID} characters`]
      : []),
  ];
}

function typeFaults(type: string): string[] {
  const accepted = CREDENTIAL_TYPES.join(", ");
  if (type === "") return [`credential_type is required: ${accepted}`];
  if (isCredentialType(type)) return [];
  return [`unknown credential_type ${JSON.stringify(type.slice(0, 64))}; accepted are ${accepted}`];
}

function missing({
  credentialType: type,
  roleArns,
  policyArns,
  policyDocument,
}: RoleDraft): string[] {
  if (type === "assumed_role") {
    return ROLE_ARNS_REQUIRED && roleArns.length === 0
      ? ["role_arns is required when credential_type is assumed_role"]
      : [];
  }
  if (!isCredentialType(type) || !POLICY_REQUIRED) return [];
  return policyArns.length === 0 && policyDocument === ""
    ? [`at least one of policy_arns or policy_document is required for ${type}`]
    : [];
}

function ttlFaults({ credentialType, defaultStsTtl, maxStsTtl }: RoleDraft): string[] {
  const lengths = { default_sts_ttl: defaultStsTtl, max_sts_ttl: maxStsTtl };
  const misplaced = Object.entries(lengths)
    .filter(([, seconds]) => credentialType === "iam_user" && seconds !== 0)
    .map(([field]) => `${field} is for assumed_role and federation_token only`);
  const turned = defaultStsTtl > 0 && maxStsTtl > 0 && defaultStsTtl > maxStsTtl;
  return turned ? [...misplaced, "default_sts_ttl exceeds max_sts_ttl"] : misplaced;
}

function userFaults({ credentialType, userPath, permissionsBoundaryArn }: RoleDraft): string[] {
  const faults = onlyFor(credentialType, "iam_user", { user_path: userPath !== "" });
  if (userPath !== "" && !USER_PATH.test(userPath)) {
    faults.push(
      "user_path is invalid: it begins and ends with /, with at most 510 printable characters between",
    );
  }
  const boundary = permissionsBoundaryArn;
  faults.push(
    ...onlyFor(credentialType, "iam_user", { permissions_boundary_arn: boundary !== "" }),
  );
  if (boundary !== "" && !isPolicyArn(boundary)) {
    faults.push("permissions_boundary_arn is not a policy ARN");
  }
  return faults;
}

function onlyFor(
  type: string,
  only: CredentialType,
  present: Readonly<Record<string, boolean>>,
): string[] {
  return Object.entries(present)
    .filter(([, is]) => is && type !== only)
    .map(([field]) => `${field} is for ${only} only`);
}

function tagFaults(field: string, tags: Readonly<Record<string, string>>): string[] {
  const entries = Object.entries(tags);
  if (entries.length > MAX_TAGS) {
    return [`${field} has ${entries.length} tags; the provider takes at most ${MAX_TAGS}`];
  }
  const tooLong = entries.some(
    ([key, value]) => key.length > MAX_TAG_KEY || value.length > MAX_TAG_VALUE,
  );
  const max = `${MAX_TAG_KEY} characters in a key or ${MAX_TAG_VALUE} in a value`;
  return tooLong ? [`${field} has more than ${max}`] : [];
}

function arnFaults(field: string, arns: readonly string[]): string[] {
  return arns.every(isCleanArn) ? [] : [`${field} has an item with characters that no ARN has`];
}

/** What the provider will most likely refuse, or what has no effect. */
export function warningsOf(role: Role): string[] {
  const [type] = role.credentialTypes;
  const sts = type !== "iam_user";
  const warnings: string[] = [];
  const lists = { policy_arns: role.policyArns, role_arns: role.roleArns };
  for (const [field, arns] of Object.entries(lists)) {
    const odd = arns.filter((arn) => parseArn(arn) === null);
    if (odd.length > 0) warnings.push(`${field}: not an ARN: ${quoted(odd)}`);
  }
  if (sts && Object.keys(role.iamTags).length > 0) {
    warnings.push("iam_tags have no effect: they are for iam_user only");
  }
  if (role.iamGroups.length > MAX_GROUPS) {
    warnings.push(`iam_groups: the provider lets a user be in ${MAX_GROUPS} groups by itself`);
  }
  if (sts && role.policyArns.length > MAX_SESSION_ARNS) {
    warnings.push(`policy_arns: the provider takes at most ${MAX_SESSION_ARNS} for a session`);
  }
  if (sts && role.policyDocument.length > MAX_SESSION_CHARACTERS) {
    warnings.push(
      `policy_document: the provider takes at most ${MAX_SESSION_CHARACTERS} characters for a session`,
    );
  }
  return warnings;
}

const MAX_LISTED = 5;

function quoted(items: readonly string[]): string {
  const listed = items.slice(0, MAX_LISTED).map((item) => JSON.stringify(item.slice(0, 128)));
  const more = items.length > MAX_LISTED ? ` and ${items.length - MAX_LISTED} more` : "";
  return `${listed.join(", ")}${more}`;
}
