// The three kinds of policies as commands name them, and where the API keeps each.

import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { restOfPath } from "@holdfast/client/request-path";
import { flag } from "./flag.ts";

export const POLICY_KINDS = ["acl", "rgp", "egp"] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

export const LEVELS = ["advisory", "soft-mandatory", "hard-mandatory"] as const;

/** Where each kind is listed; a policy of that kind is one name further down. */
export const POLICY_PLACES: Readonly<Record<PolicyKind, string>> = {
  acl: "sys/policies/acl",
  rgp: "sys/policies/rgp",
  egp: "sys/policies/egp",
};

/** The same, with what is known of each. */
export const DETAILED_PLACES: Readonly<Record<PolicyKind, string>> = {
  acl: "sys/policies/detailed/acl",
  rgp: "sys/policies/detailed/rgp",
  egp: "sys/policies/detailed/egp",
};

export const KIND_FLAG = {
  type: flag
    .oneOf(POLICY_KINDS, "Kind of policy: what a token may do, or what governs")
    .default("acl"),
};

export const NAME_HELP = "Name of the policy";

/** The path of one policy, or of those below a prefix. */
export function policyPath(kind: PolicyKind, name: string): string {
  return `${POLICY_PLACES[kind]}/${restOfPath(name)}`;
}

/** "ACL policy", "RGP", "EGP": in sentences. */
export function nounOf(kind: PolicyKind): string {
  return kind === "acl" ? "ACL policy" : kind.toUpperCase();
}

/** Whether there is one of this name; null for whoever may not look. */
export async function isPolicy(
  client: Client,
  kind: PolicyKind,
  name: string,
): Promise<boolean | null> {
  try {
    await client.request("GET", policyPath(kind, name));
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.kind === "not-found" ? false : null;
  }
}
