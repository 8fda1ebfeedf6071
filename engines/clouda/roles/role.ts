// A role as the rest of the engine knows it, whatever version it was stored by.

export type CredentialType = "iam_user" | "assumed_role" | "federation_token";

export interface Role {
  readonly name: string;
  /** One; two of a legacy inline policy; none where its stored data are invalid. */
  readonly credentialTypes: readonly CredentialType[];
  readonly roleArns: readonly string[];
  readonly policyArns: readonly string[];
  /** JSON text; empty for none. */
  readonly policyDocument: string;
  readonly iamGroups: readonly string[];
  readonly iamTags: Readonly<Record<string, string>>;
  /** In seconds; 0: not set. */
  readonly defaultStsTtl: number;
  readonly maxStsTtl: number;
  /** Empty: not set. */
  readonly userPath: string;
  readonly permissionsBoundaryArn: string;
  readonly sessionTags: Readonly<Record<string, string>>;
  readonly externalId: string;
  /** Written with a legacy parameter: `creds` gives users only, `sts` sessions only. */
  readonly pathBound: boolean;
  /** What an earlier version stored and nobody can read; null for none. */
  readonly invalidData: string | null;
}

/** One about which nothing is said yet. */
export function emptyRole(name: string): Role {
  return {
    name,
    credentialTypes: [],
    roleArns: [],
    policyArns: [],
    policyDocument: "",
    iamGroups: [],
    iamTags: {},
    defaultStsTtl: 0,
    maxStsTtl: 0,
    userPath: "",
    permissionsBoundaryArn: "",
    sessionTags: {},
    externalId: "",
    pathBound: false,
    invalidData: null,
  };
}
