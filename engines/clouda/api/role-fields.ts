// The fields of roles on the wire, and pairs, a kind of field that only roles have.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import { out } from "@holdfast/shared/endpoint/output";
import type { Field } from "@holdfast/shared/endpoint/field";
import * as fields from "../../cloud/fields.ts";
import { invalid } from "../failures.ts";
import { roleOfText } from "../roles/stored-role.ts";
import { compacted, withoutEscapes } from "../roles/policy-document.ts";
import type { Role } from "../roles/role.ts";

const MAX_DOCUMENT = 131_072; // far beyond the provider's 6,144 for a managed policy
const MAX_PAIRS = 1000;
const MAX_LOOKED_AT = 1024; // longer than any tag of the provider

const text = (name: string, help: string, max = 4096) => fields.trimmed(name, help, max).optional();

/** Without insignificant white space where it is JSON: what is wrong with it is told later. Services and
 *  actions in it have no case for the provider, so what rules deny they deny in every case. */
const document = (name: string, help: string) =>
  fields
    .trimmed(name, help, MAX_DOCUMENT, (input) => compacted(input).text, withoutEscapes, true)
    .optional();

const items = (name: string, help: string) => fields.items(name, help).optional();

export const seconds = (name: string, help: string) => fields.seconds(name, help).optional();

/** An object of texts, a list of key=value, or one such text. */
function pairs(name: string, help: string): Field<Readonly<Record<string, string>> | undefined> {
  const accepts = `${name} must be an object of texts, a list of key=value, or one key=value`;
  const read = (input: JsonValue | undefined) => {
    if (input === undefined || input === null) return undefined;
    if (input === "") return {};
    const entries = isObject(input) ? Object.entries(input) : halves(input);
    if (entries === null || entries.length > MAX_PAIRS) throw invalid("field-invalid", accepts);
    const found: Record<string, string> = {};
    for (const [key, value] of entries) {
      const written = value === undefined ? undefined : fields.textOf(value);
      if (written === undefined || reachesPrototype(key)) {
        throw invalid("field-invalid", accepts);
      }
      if (key === "") throw invalid("field-invalid", `${name} has an empty key`);
      found[key] = written;
    }
    return found;
  };
  const schema = {
    description: help,
    oneOf: [
      { type: "object" as const, additionalProperties: { type: "string" as const } },
      { type: "array" as const, items: { type: "string" as const } },
      { type: "string" as const },
    ],
  };
  const canonical = (input: JsonValue): JsonObject | undefined => read(input);
  const place = { source: "body", name, help, secret: false, required: false } as const;
  const notice = (input: JsonValue) => (looksLikeSeveral(input) ? [oneTag(name)] : []);
  return { ...place, schema, canonical, pairs: true, notice, read };
}

/** Tags may hold commas, so that one text is one of them; whoever meant several learns of it here, and not
 *  from the provider. */
function looksLikeSeveral(input: JsonValue): boolean {
  return typeof input === "string" && /=[^,]*,[^,=]+=/.test(input.slice(0, MAX_LOOKED_AT));
}

function oneTag(name: string): string {
  return `${name} is one tag with commas in its value: several are given as an object, or as a list of key=value`;
}

/** Split at the first "="; null for what is no list of such texts. A comma separates nothing. */
function halves(input: JsonValue): [string, string][] | null {
  const list = typeof input === "string" ? [input] : input;
  if (!Array.isArray(list)) return null;
  const found: [string, string][] = [];
  for (const item of list as readonly JsonValue[]) {
    const at = typeof item === "string" ? item.indexOf("=") : -1;
    if (typeof item !== "string" || at === -1) return null;
    found.push([item.slice(0, at).trim(), item.slice(at + 1).trim()]);
  }
  return found;
}

export const roleFields = {
  credentialType: text("credential_type", "iam_user, assumed_role or federation_token.", 128),
  roleArns: items("role_arns", "Roles that may be assumed. For assumed_role only."),
  policyArns: items(
    "policy_arns",
    "Managed policies: attached to users, or what a session may do at most.",
  ),
  policyDocument: document(
    "policy_document",
    "A policy as JSON text: of users, or what a session may do at most.",
  ),
  iamGroups: items(
    "iam_groups",
    "Groups that users join; of sessions, groups whose policies are added.",
  ),
  iamTags: pairs(
    "iam_tags",
    "Tags of users: an object, or a list of key=value. Commas separate nothing.",
  ),
  defaultStsTtl: seconds("default_sts_ttl", "How long sessions last unless a request says so."),
  maxStsTtl: seconds("max_sts_ttl", "How long sessions last at most."),
  userPath: text("user_path", "Path of users; / unless given."),
  permissionsBoundaryArn: text("permissions_boundary_arn", "Policy that bounds users."),
  sessionTags: pairs(
    "session_tags",
    "Tags of sessions, given as iam_tags are. For assumed_role only.",
  ),
  externalId: text("external_id", "Sent when a role is assumed. For assumed_role only."),
};

export const legacyFields = {
  policy: document("policy", "Deprecated: a policy as JSON text, or an ARN."),
  arn: document("arn", "Deprecated: ARN of a policy or a role."),
};

/** A role in the form of an earlier version, and beside it what it stands for: rules on the present names
 *  hold for it too. */
export function withPresentNames(data: JsonObject): JsonObject {
  const input = [data["policy"], data["arn"]].find((one) => one !== undefined && one !== "");
  const role = typeof input === "string" ? roleOfText("", input) : null;
  if (role === null) return data;
  const { credential_type, role_arns, policy_arns, policy_document } = showRole(role);
  return {
    credential_type,
    ...(role_arns.length === 0 ? {} : { role_arns }),
    ...(policy_arns.length === 0 ? {} : { policy_arns }),
    ...(policy_document === "" ? {} : { policy_document: withoutEscapes(policy_document) }),
    ...data, // what is given beside it is refused by whoever runs it
  };
}

export const roleOutput = out.object({
  credential_type: out.string("One type; of a deprecated policy two, with a comma between."),
  role_arns: out.list(out.string("ARN."), "Roles that may be assumed."),
  policy_arns: out.list(out.string("ARN."), "Managed policies."),
  policy_document: out.string("JSON text without white space; empty for none."),
  iam_groups: out.list(out.string("Name."), "Groups."),
  iam_tags: out.mapOf(out.string("Value."), "Tags of users."),
  default_sts_ttl: out.integer("Seconds; 0: not set."),
  max_sts_ttl: out.integer("Seconds; 0: not set."),
  user_path: out.string("Empty: not set, which is as /."),
  permissions_boundary_arn: out.string("Empty: none."),
  session_tags: out.mapOf(out.string("Value."), "Tags of sessions."),
  external_id: out.string("Empty: none."),
  invalid_data: out.optional(
    out.string("What an earlier version stored and this one cannot read: write the role again."),
  ),
});

export function showRole(role: Role) {
  return {
    credential_type: role.credentialTypes.join(","),
    role_arns: role.roleArns,
    policy_arns: role.policyArns,
    policy_document: role.policyDocument,
    iam_groups: role.iamGroups,
    iam_tags: role.iamTags,
    default_sts_ttl: role.defaultStsTtl,
    max_sts_ttl: role.maxStsTtl,
    user_path: role.userPath,
    permissions_boundary_arn: role.permissionsBoundaryArn,
    session_tags: role.sessionTags,
    external_id: role.externalId,
    ...(role.invalidData === null ? {} : { invalid_data: role.invalidData }),
  };
}
