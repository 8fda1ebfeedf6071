// What the fake of cloud B keeps: the objects of a directory and of subscriptions, as the provider's
// public reference describes them. Times are milliseconds since 1970, on the fake's own clock.

export type Surface = "authority" | "graph" | "arm";

export interface Password {
  readonly keyId: string;
  readonly displayName: string | null;
  /** Its first three letters: all that is ever shown of it again. */
  readonly hint: string;
  readonly start: number;
  readonly end: number;
  readonly secretText: string;
  readonly created: number;
}

export interface FederatedCredential {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
  /** Where the issuer's documents are fetched; default the issuer itself. */
  readonly discovery: string;
}

export interface Application {
  readonly id: string;
  readonly appId: string;
  readonly displayName: string;
  readonly signInAudience: string;
  readonly tags: readonly string[];
  readonly created: number;
  /** Client ids of whoever may change it with Application.ReadWrite.OwnedBy. */
  readonly owners: Set<string>;
  readonly federated: FederatedCredential[];
  passwords: Password[];
}

export interface Principal {
  readonly id: string;
  readonly appId: string;
  readonly displayName: string;
  readonly created: number;
  passwords: Password[];
}

export interface Group {
  readonly id: string;
  readonly displayName: string;
  readonly members: Set<string>;
}

export interface User {
  readonly id: string;
  readonly displayName: string;
}

export type DeletedItem =
  | { readonly kind: "application"; readonly deleted: number; readonly object: Application }
  | { readonly kind: "servicePrincipal"; readonly deleted: number; readonly object: Principal };

export interface RoleDefinition {
  /** The last segment of its id. */
  readonly name: string;
  readonly roleName: string;
  /** Null: built in, and so found below every scope. */
  readonly scope: string | null;
}

export interface RoleAssignment {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly roleDefinitionId: string;
  readonly principalId: string;
  readonly principalType: string;
  readonly created: number;
}

/** Who calls, by the token that came along. */
export interface Caller {
  readonly appId: string;
  readonly permissions: ReadonlySet<string>;
}

/** All that one needs to run both engines' flows, and what whoever runs the fake may take away. */
export const ALL_PERMISSIONS = [
  "Application.ReadWrite.All",
  "Group.Read.All",
  "GroupMember.ReadWrite.All",
  "Microsoft.Authorization/roleAssignments/delete",
  "Microsoft.Authorization/roleAssignments/read",
  "Microsoft.Authorization/roleAssignments/write",
  "Microsoft.Authorization/roleDefinitions/read",
] as const;
