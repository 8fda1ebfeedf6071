// The three kinds of policies as commands name them, and where the API keeps each.

import { ApiError } from "@holdfast/client/api-error";
import type { Answer, Client } from "@holdfast/client/client";
import * as policies from "@holdfast/client/api/policies";
import { flag } from "../line/flag.ts";

export const POLICY_KINDS = ["acl", "rgp", "egp"] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

export const LEVELS = ["advisory", "soft-mandatory", "hard-mandatory"] as const;

type ListPolicies = (
  client: Client,
  folder: string,
) => Promise<Answer<policies.ListAclPoliciesAnswer>>;

/** What can be asked of each kind. A write is whole, of a policy that need not be there; the server says
 *  what is missing of one. */
interface PolicyCalls {
  readonly list: ListPolicies;
  /** With what is known of each. */
  readonly listDetailed: ListPolicies;
  readonly read: (client: Client, input: { readonly name: string }) => Promise<Answer<AnyPolicy>>;
  readonly write: (client: Client, input: policies.WriteEgpInput) => Promise<Answer<AnyPolicy>>;
  readonly patch: (client: Client, input: policies.PatchEgpInput) => Promise<Answer<AnyPolicy>>;
  readonly delete: (client: Client, input: { readonly name: string }) => Promise<Answer<undefined>>;
}

/** Kinds have different members. */
export type AnyPolicy = policies.ReadAclPolicyAnswer & Partial<policies.ReadEgpAnswer>;

export const POLICY_CALLS: Readonly<Record<PolicyKind, PolicyCalls>> = {
  acl: {
    list: (client, folder) =>
      folder === ""
        ? policies.listAclPolicies(client)
        : policies.listAclPoliciesBelow(client, { prefix: folder }),
    listDetailed: (client, folder) =>
      folder === ""
        ? policies.listAclPoliciesDetailed(client)
        : policies.listAclPoliciesDetailedBelow(client, { prefix: folder }),
    read: policies.readAclPolicy,
    write: policies.writeAclPolicy,
    patch: policies.patchAclPolicy,
    delete: policies.deleteAclPolicy,
  },
  rgp: {
    list: (client, folder) =>
      folder === ""
        ? policies.listRgps(client)
        : policies.listRgpsBelow(client, { prefix: folder }),
    listDetailed: (client, folder) =>
      folder === ""
        ? policies.listRgpsDetailed(client)
        : policies.listRgpsDetailedBelow(client, { prefix: folder }),
    read: policies.readRgp,
    write: policies.writeRgp,
    patch: policies.patchRgp,
    delete: policies.deleteRgp,
  },
  egp: {
    list: (client, folder) =>
      folder === ""
        ? policies.listEgps(client)
        : policies.listEgpsBelow(client, { prefix: folder }),
    listDetailed: (client, folder) =>
      folder === ""
        ? policies.listEgpsDetailed(client)
        : policies.listEgpsDetailedBelow(client, { prefix: folder }),
    read: policies.readEgp,
    write: policies.writeEgp,
    patch: policies.patchEgp,
    delete: policies.deleteEgp,
  },
};

export const KIND_FLAG = {
  type: flag
    .oneOf(POLICY_KINDS, "Kind of policy: what a token may do, or what governs")
    .default("acl"),
};

export const NAME_HELP = "Name of the policy";

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
    await POLICY_CALLS[kind].read(client, { name });
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.kind === "not-found" ? false : null;
  }
}
