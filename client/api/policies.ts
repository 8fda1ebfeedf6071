// Endpoints of policies as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, restOfPath } from "../request-path.ts";

export type ListAclPoliciesInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListAclPoliciesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the ACL policies. */
export async function listAclPolicies(
  client: Caller,
  query: ListAclPoliciesInput = {},
  options?: CallOptions,
): Promise<Answer<ListAclPoliciesAnswer>> {
  return client.call({ method: "LIST", path: "sys/policies/acl", query, answer: "data" }, options);
}

export type ListAclPoliciesBelowInput = {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListAclPoliciesBelowAnswer = ListAclPoliciesAnswer;

/** List the ACL policies in a folder of names. */
export async function listAclPoliciesBelow(
  client: Caller,
  input: ListAclPoliciesBelowInput,
  options?: CallOptions,
): Promise<Answer<ListAclPoliciesBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    { method: "LIST", path: `sys/policies/acl/${restOfPath(prefix)}`, query, answer: "data" },
    options,
  );
}

export type ListAclPoliciesDetailedInput = ListAclPoliciesInput;

export type ListAclPoliciesDetailedAnswer = ListAclPoliciesAnswer;

/** List the ACL policies with their documents. */
export async function listAclPoliciesDetailed(
  client: Caller,
  query: ListAclPoliciesDetailedInput = {},
  options?: CallOptions,
): Promise<Answer<ListAclPoliciesDetailedAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/policies/detailed/acl", query, answer: "data" },
    options,
  );
}

export type ListAclPoliciesDetailedBelowInput = ListAclPoliciesBelowInput;

export type ListAclPoliciesDetailedBelowAnswer = ListAclPoliciesAnswer;

/** List the ACL policies in a folder of names with their documents. */
export async function listAclPoliciesDetailedBelow(
  client: Caller,
  input: ListAclPoliciesDetailedBelowInput,
  options?: CallOptions,
): Promise<Answer<ListAclPoliciesDetailedBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    {
      method: "LIST",
      path: `sys/policies/detailed/acl/${restOfPath(prefix)}`,
      query,
      answer: "data",
    },
    options,
  );
}

export type ReadAclPolicyInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
};

export type ReadAclPolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an ACL policy. */
export async function readAclPolicy(
  client: Caller,
  input: ReadAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<ReadAclPolicyAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/policies/acl/${restOfPath(name)}`, answer: "data" },
    options,
  );
}

export type WriteAclPolicyInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly policy: string;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expiration?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly dry_run?: boolean | undefined;
};

export type WriteAclPolicyAnswer = ReadAclPolicyAnswer;

/** Write an ACL policy. */
export async function writeAclPolicy(
  client: Caller,
  input: WriteAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<WriteAclPolicyAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/policies/acl/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type PatchAclPolicyInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly policy?: string | undefined;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expiration?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly dry_run?: boolean | undefined;
};

export type PatchAclPolicyAnswer = ReadAclPolicyAnswer;

/** Change some of an ACL policy. */
export async function patchAclPolicy(
  client: Caller,
  input: PatchAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<PatchAclPolicyAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "PATCH",
      path: `sys/policies/acl/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type DeleteAclPolicyInput = ReadAclPolicyInput;

/** Delete an ACL policy. Tokens keep its name, which counts as empty. */
export async function deleteAclPolicy(
  client: Caller,
  input: DeleteAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/policies/acl/${restOfPath(name)}`, answer: "nothing" },
    options,
  );
}

export type ListPoliciesInput = ListAclPoliciesInput;

export type ListPoliciesAnswer = {
  /** Names, sorted; root last. */
  readonly keys: readonly string[];
  /** The same. */
  readonly policies: readonly string[];
};

/** List the ACL policies: the older form. */
export async function listPolicies(
  client: Caller,
  query: ListPoliciesInput = {},
  options?: CallOptions,
): Promise<Answer<ListPoliciesAnswer>> {
  return client.call({ method: "LIST", path: "sys/policy", query, answer: "data" }, options);
}

export type GetPoliciesInput = ListAclPoliciesInput;

export type GetPoliciesAnswer = ListPoliciesAnswer;

/** List the ACL policies: the older form, by GET. */
export async function getPolicies(
  client: Caller,
  query: GetPoliciesInput = {},
  options?: CallOptions,
): Promise<Answer<GetPoliciesAnswer>> {
  return client.call({ method: "GET", path: "sys/policy", query, answer: "data" }, options);
}

export type ReadPolicyInput = ReadAclPolicyInput;

export type ReadPolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly rules: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an ACL policy: the older form. */
export async function readPolicy(
  client: Caller,
  input: ReadPolicyInput,
  options?: CallOptions,
): Promise<Answer<ReadPolicyAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/policy/${restOfPath(name)}`, answer: "data" },
    options,
  );
}

export type WritePolicyInput = WriteAclPolicyInput;

export type WritePolicyAnswer = ReadAclPolicyAnswer;

/** Write an ACL policy: the older form. */
export async function writePolicy(
  client: Caller,
  input: WritePolicyInput,
  options?: CallOptions,
): Promise<Answer<WritePolicyAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/policy/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type DeletePolicyInput = ReadAclPolicyInput;

/** Delete an ACL policy: the older form. */
export async function deletePolicy(
  client: Caller,
  input: DeletePolicyInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/policy/${restOfPath(name)}`, answer: "nothing" },
    options,
  );
}

export type ListRgpsInput = ListAclPoliciesInput;

export type ListRgpsAnswer = ListAclPoliciesAnswer;

/** List the RGPs. */
export async function listRgps(
  client: Caller,
  query: ListRgpsInput = {},
  options?: CallOptions,
): Promise<Answer<ListRgpsAnswer>> {
  return client.call({ method: "LIST", path: "sys/policies/rgp", query, answer: "data" }, options);
}

export type ListRgpsBelowInput = ListAclPoliciesBelowInput;

export type ListRgpsBelowAnswer = ListAclPoliciesAnswer;

/** List the RGPs in a folder of names. */
export async function listRgpsBelow(
  client: Caller,
  input: ListRgpsBelowInput,
  options?: CallOptions,
): Promise<Answer<ListRgpsBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    { method: "LIST", path: `sys/policies/rgp/${restOfPath(prefix)}`, query, answer: "data" },
    options,
  );
}

export type ListRgpsDetailedInput = ListAclPoliciesInput;

export type ListRgpsDetailedAnswer = ListAclPoliciesAnswer;

/** List the RGPs with their documents. */
export async function listRgpsDetailed(
  client: Caller,
  query: ListRgpsDetailedInput = {},
  options?: CallOptions,
): Promise<Answer<ListRgpsDetailedAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/policies/detailed/rgp", query, answer: "data" },
    options,
  );
}

export type ListRgpsDetailedBelowInput = ListAclPoliciesBelowInput;

export type ListRgpsDetailedBelowAnswer = ListAclPoliciesAnswer;

/** List the RGPs in a folder of names with their documents. */
export async function listRgpsDetailedBelow(
  client: Caller,
  input: ListRgpsDetailedBelowInput,
  options?: CallOptions,
): Promise<Answer<ListRgpsDetailedBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    {
      method: "LIST",
      path: `sys/policies/detailed/rgp/${restOfPath(prefix)}`,
      query,
      answer: "data",
    },
    options,
  );
}

export type ReadRgpInput = ReadAclPolicyInput;

export type ReadRgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an RGP. */
export async function readRgp(
  client: Caller,
  input: ReadRgpInput,
  options?: CallOptions,
): Promise<Answer<ReadRgpAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/policies/rgp/${restOfPath(name)}`, answer: "data" },
    options,
  );
}

export type WriteRgpInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly policy: string;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expiration?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly dry_run?: boolean | undefined;
};

export type WriteRgpAnswer = ReadRgpAnswer;

/** Write an RGP: a program that judges the requests of tokens that carry its name. */
export async function writeRgp(
  client: Caller,
  input: WriteRgpInput,
  options?: CallOptions,
): Promise<Answer<WriteRgpAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/policies/rgp/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type PatchRgpInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly policy?: string | undefined;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly enforcement_level?: "advisory" | "soft-mandatory" | "hard-mandatory" | undefined;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expiration?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly dry_run?: boolean | undefined;
};

export type PatchRgpAnswer = ReadRgpAnswer;

/** Change some of an RGP. */
export async function patchRgp(
  client: Caller,
  input: PatchRgpInput,
  options?: CallOptions,
): Promise<Answer<PatchRgpAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "PATCH",
      path: `sys/policies/rgp/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type DeleteRgpInput = ReadAclPolicyInput;

/** Delete an RGP. Tokens keep its name, which restricts no more. */
export async function deleteRgp(
  client: Caller,
  input: DeleteRgpInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/policies/rgp/${restOfPath(name)}`, answer: "nothing" },
    options,
  );
}

export type ListEgpsInput = ListAclPoliciesInput;

export type ListEgpsAnswer = {
  /** Names, sorted. */
  readonly keys: readonly string[];
  /** Paths by name. */
  readonly name_path_map: Readonly<
    Record<
      string,
      readonly {
        /** Without the star. */
        readonly path: string;
        /** Whether it stands for everything that starts so. */
        readonly glob: boolean;
      }[]
    >
  >;
  /** The same. */
  readonly key_info: Readonly<
    Record<
      string,
      readonly {
        /** Without the star. */
        readonly path: string;
        /** Whether it stands for everything that starts so. */
        readonly glob: boolean;
      }[]
    >
  >;
};

/** List the EGPs and what they guard. */
export async function listEgps(
  client: Caller,
  query: ListEgpsInput = {},
  options?: CallOptions,
): Promise<Answer<ListEgpsAnswer>> {
  return client.call({ method: "LIST", path: "sys/policies/egp", query, answer: "data" }, options);
}

export type ListEgpsBelowInput = ListAclPoliciesBelowInput;

export type ListEgpsBelowAnswer = ListAclPoliciesAnswer;

/** List the EGPs in a folder of names. */
export async function listEgpsBelow(
  client: Caller,
  input: ListEgpsBelowInput,
  options?: CallOptions,
): Promise<Answer<ListEgpsBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    { method: "LIST", path: `sys/policies/egp/${restOfPath(prefix)}`, query, answer: "data" },
    options,
  );
}

export type ListEgpsDetailedInput = ListAclPoliciesInput;

export type ListEgpsDetailedAnswer = ListAclPoliciesAnswer;

/** List the EGPs with their documents. */
export async function listEgpsDetailed(
  client: Caller,
  query: ListEgpsDetailedInput = {},
  options?: CallOptions,
): Promise<Answer<ListEgpsDetailedAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/policies/detailed/egp", query, answer: "data" },
    options,
  );
}

export type ListEgpsDetailedBelowInput = ListAclPoliciesBelowInput;

export type ListEgpsDetailedBelowAnswer = ListAclPoliciesAnswer;

/** List the EGPs in a folder of names with their documents. */
export async function listEgpsDetailedBelow(
  client: Caller,
  input: ListEgpsDetailedBelowInput,
  options?: CallOptions,
): Promise<Answer<ListEgpsDetailedBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    {
      method: "LIST",
      path: `sys/policies/detailed/egp/${restOfPath(prefix)}`,
      query,
      answer: "data",
    },
    options,
  );
}

export type ReadEgpInput = ReadAclPolicyInput;

export type ReadEgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** What it guards. */
  readonly paths: readonly string[];
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an EGP. */
export async function readEgp(
  client: Caller,
  input: ReadEgpInput,
  options?: CallOptions,
): Promise<Answer<ReadEgpAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/policies/egp/${restOfPath(name)}`, answer: "data" },
    options,
  );
}

export type WriteEgpInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly policy: string;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** Paths that it guards; a * at the end stands for the rest. */
  readonly paths: readonly string[];
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expiration?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly dry_run?: boolean | undefined;
};

export type WriteEgpAnswer = ReadEgpAnswer;

/** Write an EGP: a program that judges the requests to its paths. */
export async function writeEgp(
  client: Caller,
  input: WriteEgpInput,
  options?: CallOptions,
): Promise<Answer<WriteEgpAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/policies/egp/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type PatchEgpInput = {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly policy?: string | undefined;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly enforcement_level?: "advisory" | "soft-mandatory" | "hard-mandatory" | undefined;
  /** Paths that it guards; a * at the end stands for the rest. */
  readonly paths?: readonly string[] | undefined;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expiration?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly dry_run?: boolean | undefined;
};

export type PatchEgpAnswer = ReadEgpAnswer;

/** Change some of an EGP. */
export async function patchEgp(
  client: Caller,
  input: PatchEgpInput,
  options?: CallOptions,
): Promise<Answer<PatchEgpAnswer>> {
  const { name, dry_run, ...body } = needInput(input);
  return client.call(
    {
      method: "PATCH",
      path: `sys/policies/egp/${restOfPath(name)}`,
      query: { dry_run },
      body,
      answer: "data",
    },
    options,
  );
}

export type DeleteEgpInput = ReadAclPolicyInput;

/** Delete an EGP, from all its paths. */
export async function deleteEgp(
  client: Caller,
  input: DeleteEgpInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/policies/egp/${restOfPath(name)}`, answer: "nothing" },
    options,
  );
}

export type TokenCapabilitiesInput = {
  /** Secret of the token. */
  readonly token?: string | undefined;
  /** Paths, relative to the namespace of the request. */
  readonly paths?: readonly string[] | undefined;
  /** Also name the rule that decides for each path, and the policies it stands in. */
  readonly explain?: boolean | undefined;
};

/** Tell what a token may do on paths, by its secret. */
export async function tokenCapabilities(
  client: Caller,
  { explain, ...body }: TokenCapabilitiesInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "POST", path: "sys/capabilities", query: { explain }, body, answer: "data" },
    options,
  );
}

export type AccessorCapabilitiesInput = {
  /** Accessor of the token. */
  readonly accessor?: string | undefined;
  /** Paths, relative to the namespace of the request. */
  readonly paths?: readonly string[] | undefined;
  /** Also name the rule that decides for each path, and the policies it stands in. */
  readonly explain?: boolean | undefined;
};

/** Tell what a token may do on paths, by its accessor. */
export async function accessorCapabilities(
  client: Caller,
  { explain, ...body }: AccessorCapabilitiesInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "POST", path: "sys/capabilities-accessor", query: { explain }, body, answer: "data" },
    options,
  );
}

export type OwnCapabilitiesInput = {
  /** Paths, relative to the namespace of the request. */
  readonly paths?: readonly string[] | undefined;
};

/** Tell what the caller's own token may do on paths. */
export async function ownCapabilities(
  client: Caller,
  body: OwnCapabilitiesInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "POST", path: "sys/capabilities-self", body, answer: "data" },
    options,
  );
}

export type ResultantAclAnswer = {
  /** Whether it is a management token, which no rule binds. */
  readonly root: boolean;
  /** Always empty. */
  readonly chroot_namespace: string;
  /** Rules by path. */
  readonly exact_paths: Readonly<
    Record<
      string,
      {
        /** What the rule grants. */
        readonly capabilities: readonly string[];
      }
    >
  >;
  /** Rules by path. */
  readonly glob_paths: Readonly<
    Record<
      string,
      {
        /** What the rule grants. */
        readonly capabilities: readonly string[];
      }
    >
  >;
};

/** Tell all rules of the caller's policies together. */
export async function resultantAcl(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ResultantAclAnswer>> {
  return client.call(
    { method: "GET", path: "sys/internal/ui/resultant-acl", answer: "data" },
    options,
  );
}

export type InspectRequestInput = {
  /** Accessor of the token that asks, instead of policies. */
  readonly token_accessor?: string | undefined;
  /** Policies of a token that asks. */
  readonly policies?: readonly string[] | undefined;
  /** The policies do without the built-in default. */
  readonly no_default_policy?: boolean | undefined;
  /** What is done. */
  readonly operation: "create" | "read" | "update" | "patch" | "delete" | "list" | "scan";
  /** Where, relative to the namespace. */
  readonly path: string;
  /** Namespace below that of the request. */
  readonly namespace?: string | undefined;
  /** Body, or parameters of the query. */
  readonly data?: JsonObject | undefined;
  /** Where from: an IP address, or unix. Default: as this request. */
  readonly remote_address?: string | undefined;
  /** Port there. Default: as this request. */
  readonly remote_port?: number | undefined;
  /** Headers that programs may see. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** When; RFC 3339. Default: now. */
  readonly time?: string | undefined;
  /** Wrapping that is asked for. */
  readonly wrap_ttl?: string | number | undefined;
  /** Override that is asked for. */
  readonly policy_override?: boolean | undefined;
  /** Documents that are tried and not stored, each in place of the stored one of its name: type, name, policy, and for rgp and egp enforcement_level and paths. */
  readonly documents?: readonly JsonObject[] | undefined;
};

export type InspectRequestAnswer = {
  /** Whether the request would pass. */
  readonly allowed: boolean;
  /** What it needs on its path. */
  readonly capability: string;
  /** Whether it needs sudo beside it. */
  readonly sudo: boolean;
  /** Why, in words. */
  readonly reason: string;
  readonly rule: {
    /** First policy that the rule stands in. */
    readonly policy: string;
    /** The rule as it is written. */
    readonly path: string;
    /** Line in the document. */
    readonly line: number;
    /** Column in the document. */
    readonly column: number;
    /** What the rule grants. */
    readonly capabilities: readonly string[];
    /** Where the rule stands. */
    readonly policies: readonly {
      /** Name of the policy. */
      readonly name: string;
      /** Namespace that it belongs to. */
      readonly namespace_id: string;
      /** As written there. */
      readonly path: string;
      /** Line in the document. */
      readonly line: number;
      /** Column in the document. */
      readonly column: number;
    }[];
  } | null;
  /** Other rules that match, and why they do not decide. */
  readonly candidates: readonly {
    /** The rule. */
    readonly path: string;
    /** Where the rule stands. */
    readonly policies: readonly {
      /** Name of the policy. */
      readonly name: string;
      /** Namespace that it belongs to. */
      readonly namespace_id: string;
      /** As written there. */
      readonly path: string;
      /** Line in the document. */
      readonly line: number;
      /** Column in the document. */
      readonly column: number;
    }[];
    /** In words. */
    readonly why: string;
  }[];
  /** The policies that were asked, in order. */
  readonly steps: readonly {
    /** Kind of the policy. */
    readonly kind: "acl" | "rgp" | "egp";
    /** Name of the policy; empty where no rule of any matches, and for one of a namespace above. */
    readonly name: string;
    /** Namespace that it belongs to; empty as the name. */
    readonly namespace_id: string;
    /** allow or deny of an ACL; pass, fail or error of a program. */
    readonly result: string;
    /** What a failure of the program does. */
    readonly level?: "advisory" | "soft-mandatory" | "hard-mandatory";
    /** Why, in words. */
    readonly message?: string;
    /** Rules of the program that were evaluated. */
    readonly rules?: readonly {
      /** Name of the rule. */
      readonly name: string;
      /** Line in the document. */
      readonly line: number;
      /** Column in the document. */
      readonly column: number;
      /** What it came to; null: an error. */
      readonly value: boolean | null;
    }[];
  }[];
  /** Whether a soft-mandatory policy fails. */
  readonly override_needed: boolean;
  /** The smallest rule that would let the ACL allow it. */
  readonly minimal_policy: string | null;
  /** Where the rule stands. */
  readonly minimal_policy_replaces?: readonly {
    /** Name of the policy. */
    readonly name: string;
    /** Namespace that it belongs to. */
    readonly namespace_id: string;
    /** As written there. */
    readonly path: string;
    /** Line in the document. */
    readonly line: number;
    /** Column in the document. */
    readonly column: number;
  }[];
};

/** Tell what would become of a request, and why. */
export async function inspectRequest(
  client: Caller,
  body: InspectRequestInput,
  options?: CallOptions,
): Promise<Answer<InspectRequestAnswer>> {
  return client.call(
    { method: "POST", path: "sys/inspect/request", body, answer: "data" },
    options,
  );
}

export type ViewAclPoliciesInput = {
  /** Only names that begin so. */
  readonly prefix?: string | undefined;
  /** How many at most; 0: all. */
  readonly per_page?: number | undefined;
  /** Where the page starts: X-Service-NextToken of the page before. */
  readonly next_token?: string | undefined;
  /** In reverse order. */
  readonly reverse?: boolean | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** An expression that tokens must meet, such as Type == "client". */
  readonly filter?: string | undefined;
};

export type ViewAclPoliciesAnswer = readonly {
  /** Its name. */
  readonly Name: string;
  /** For people; may be empty. */
  readonly Description: string;
  /** Changes with the document: base64 of 32 bytes. */
  readonly Hash: string;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
}[];

/** List the ACL policies; for clients those that their token carries. */
export async function viewAclPolicies(
  client: Caller,
  query: ViewAclPoliciesInput = {},
  options?: CallOptions,
): Promise<Answer<ViewAclPoliciesAnswer>> {
  return client.call({ method: "GET", path: "acl/policies", query, answer: "bare" }, options);
}

export type ViewOwnAclPoliciesInput = ViewAclPoliciesInput;

export type ViewOwnAclPoliciesAnswer = ViewAclPoliciesAnswer;

/** The ACL policies that the token carries; all of them for management. */
export async function viewOwnAclPolicies(
  client: Caller,
  query: ViewOwnAclPoliciesInput = {},
  options?: CallOptions,
): Promise<Answer<ViewOwnAclPoliciesAnswer>> {
  return client.call({ method: "GET", path: "acl/policy/self", query, answer: "bare" }, options);
}

export type ViewAclPolicyInput = {
  /** Name of the policy. */
  readonly name: string;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
};

export type ViewAclPolicyAnswer = {
  /** Its name. */
  readonly Name: string;
  /** For people; may be empty. */
  readonly Description: string;
  /** Changes with the document: base64 of 32 bytes. */
  readonly Hash: string;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The document. */
  readonly Rules: string;
};

/** Read an ACL policy: for management, and for tokens that carry it. */
export async function viewAclPolicy(
  client: Caller,
  input: ViewAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<ViewAclPolicyAnswer>> {
  const { name, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `acl/policy/${restOfPath(name)}`, query, answer: "bare" },
    options,
  );
}

export type ApplyAclPolicyInput = {
  /** Name of the policy. */
  readonly name: string;
  /** Name of the policy, as in the path. */
  readonly Name?: string | undefined;
  /** For people. */
  readonly Description?: string | undefined;
  /** The document: an ACL policy. */
  readonly Rules?: string | undefined;
  /** Must be null: there are no jobs. */
  readonly JobACL?: JsonValue | undefined;
  /** Ignored. */
  readonly Hash?: JsonValue | undefined;
  /** Ignored. */
  readonly CreateIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly ModifyIndex?: JsonValue | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

/** Write an ACL policy. */
export async function applyAclPolicy(
  client: Caller,
  input: ApplyAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, region, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `acl/policy/${restOfPath(name)}`,
      query: { region },
      body,
      answer: "nothing",
    },
    options,
  );
}

export type RemoveAclPolicyInput = {
  /** Name of the policy. */
  readonly name: string;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

/** Delete an ACL policy. Tokens keep its name, which counts as empty. */
export async function removeAclPolicy(
  client: Caller,
  input: RemoveAclPolicyInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...query } = needInput(input);
  return client.call(
    { method: "DELETE", path: `acl/policy/${restOfPath(name)}`, query, answer: "nothing" },
    options,
  );
}

export type ViewAnonymousAclPolicyInput = {
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
};

export type ViewAnonymousAclPolicyAnswer = ViewAclPolicyAnswer;

/** Read the ACL policy for callers without a token; everybody may. */
export async function viewAnonymousAclPolicy(
  client: Caller,
  query: ViewAnonymousAclPolicyInput = {},
  options?: CallOptions,
): Promise<Answer<ViewAnonymousAclPolicyAnswer>> {
  return client.call(
    { method: "GET", path: "acl/policy/anonymous", query, answer: "bare" },
    options,
  );
}

export type ApplyAnonymousAclPolicyInput = {
  /** Name of the policy, as in the path. */
  readonly Name?: string | undefined;
  /** For people. */
  readonly Description?: string | undefined;
  /** The document: an ACL policy. */
  readonly Rules?: string | undefined;
  /** Must be null: there are no jobs. */
  readonly JobACL?: JsonValue | undefined;
  /** Ignored. */
  readonly Hash?: JsonValue | undefined;
  /** Ignored. */
  readonly CreateIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly ModifyIndex?: JsonValue | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

/** Write the ACL policy for callers without a token. */
export async function applyAnonymousAclPolicy(
  client: Caller,
  { region, ...body }: ApplyAnonymousAclPolicyInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "acl/policy/anonymous", query: { region }, body, answer: "nothing" },
    options,
  );
}

export type RemoveAnonymousAclPolicyInput = {
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

/** Delete the ACL policy for callers without a token. */
export async function removeAnonymousAclPolicy(
  client: Caller,
  query: RemoveAnonymousAclPolicyInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "acl/policy/anonymous", query, answer: "nothing" },
    options,
  );
}
