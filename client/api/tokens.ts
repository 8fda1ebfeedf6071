// Endpoints of tokens as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type BootstrapAclInput = {
  /** The secret that it shall have, a UUID; a random one without it. */
  readonly BootstrapSecret?: string | undefined;
};

export type BootstrapAclAnswer = {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** Of a global token that was kept when this cluster left its set: the region that wrote it, which revokes it here no more. Absent for others. */
  readonly KeptFrom?: string;
  /** The credential. */
  readonly SecretID: string;
  /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
  readonly ExpirationTTL: string;
};

/** Make the first management token. */
export async function bootstrapAcl(
  client: Caller,
  body: BootstrapAclInput = {},
  options?: CallOptions,
): Promise<Answer<BootstrapAclAnswer>> {
  return client.call({ method: "POST", path: "acl/bootstrap", body, answer: "bare" }, options);
}

export type ListTokensInput = {
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Only tokens that are replicated to all regions. */
  readonly global?: boolean | undefined;
  /** Only tokens whose accessor starts so: an even number of hexadecimal digits. */
  readonly prefix?: string | undefined;
  /** Where the page starts: X-Service-NextToken of the page before. */
  readonly next_token?: string | undefined;
  /** How many at most; 0: all. */
  readonly per_page?: number | undefined;
  /** An expression that tokens must meet, such as Type == "client". */
  readonly filter?: string | undefined;
  /** In reverse order. */
  readonly reverse?: boolean | undefined;
};

export type ListTokensAnswer = readonly {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** Of a global token that was kept when this cluster left its set: the region that wrote it, which revokes it here no more. Absent for others. */
  readonly KeptFrom?: string;
}[];

/** List tokens, without their secrets. */
export async function listTokens(
  client: Caller,
  query: ListTokensInput = {},
  options?: CallOptions,
): Promise<Answer<ListTokensAnswer>> {
  return client.call({ method: "GET", path: "acl/tokens", query, answer: "bare" }, options);
}

export type CreateTokenInput = {
  /** Identifies the token. */
  readonly AccessorID?: string | undefined;
  /** For an upload: the secret of the token, a UUID. */
  readonly SecretID?: string | undefined;
  /** For people; up to 256 bytes. */
  readonly Name?: string | undefined;
  /** client or management. */
  readonly Type?: string | undefined;
  /** Names of policies; none for management. */
  readonly Policies?: readonly string[] | null | undefined;
  /** Must be null or empty: there are no roles. */
  readonly Roles?: readonly JsonObject[] | null | undefined;
  /** Replicated to all regions. */
  readonly Global?: boolean | null | undefined;
  /** When the token ends; RFC 3339. */
  readonly ExpirationTime?: string | null | undefined;
  /** Lifetime, such as 8h or 1h30m, or nanoseconds as a number. Wins over ExpirationTime. */
  readonly ExpirationTTL?: string | number | null | undefined;
  /** For an upload: when the token was made. */
  readonly CreateTime?: string | null | undefined;
  /** Ignored. */
  readonly Hash?: JsonValue | undefined;
  /** Ignored. */
  readonly CreateIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly ModifyIndex?: JsonValue | undefined;
  /** ModifyIndex that the token must have; otherwise nothing is changed (409). */
  readonly cas?: number | undefined;
  /** Whether names of policies that are not there are refused instead of warned of. */
  readonly strict_policies?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type CreateTokenAnswer = BootstrapAclAnswer;

/** Make a token. */
export async function createToken(
  client: Caller,
  { cas, strict_policies, region, ...body }: CreateTokenInput = {},
  options?: CallOptions,
): Promise<Answer<CreateTokenAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "acl/token",
      query: { cas, strict_policies, region },
      body,
      answer: "bare",
    },
    options,
  );
}

export type UpdateTokenInput = {
  /** Accessor of the token. */
  readonly accessor_id: string;
  /** Identifies the token. */
  readonly AccessorID?: string | undefined;
  /** For an upload: the secret of the token, a UUID. */
  readonly SecretID?: string | undefined;
  /** For people; up to 256 bytes. */
  readonly Name?: string | undefined;
  /** client or management. */
  readonly Type?: string | undefined;
  /** Names of policies; none for management. */
  readonly Policies?: readonly string[] | null | undefined;
  /** Must be null or empty: there are no roles. */
  readonly Roles?: readonly JsonObject[] | null | undefined;
  /** Replicated to all regions. */
  readonly Global?: boolean | null | undefined;
  /** When the token ends; RFC 3339. */
  readonly ExpirationTime?: string | null | undefined;
  /** Lifetime, such as 8h or 1h30m, or nanoseconds as a number. Wins over ExpirationTime. */
  readonly ExpirationTTL?: string | number | null | undefined;
  /** For an upload: when the token was made. */
  readonly CreateTime?: string | null | undefined;
  /** Ignored. */
  readonly Hash?: JsonValue | undefined;
  /** Ignored. */
  readonly CreateIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly ModifyIndex?: JsonValue | undefined;
  /** ModifyIndex that the token must have; otherwise nothing is changed (409). */
  readonly cas?: number | undefined;
  /** Whether names of policies that are not there are refused instead of warned of. */
  readonly strict_policies?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type UpdateTokenAnswer = BootstrapAclAnswer;

/** Change a token, or upload one with identifiers of your own. */
export async function updateToken(
  client: Caller,
  input: UpdateTokenInput,
  options?: CallOptions,
): Promise<Answer<UpdateTokenAnswer>> {
  const { accessor_id, cas, strict_policies, region, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `acl/token/${oneSegment(accessor_id)}`,
      query: { cas, strict_policies, region },
      body,
      answer: "bare",
    },
    options,
  );
}

export type ReadTokenInput = {
  /** Accessor of the token. */
  readonly accessor_id: string;
  /** false: the record comes with an empty SecretID. */
  readonly secret?: boolean | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type ReadTokenAnswer = BootstrapAclAnswer;

/** Read a token: for management, and for the token itself. */
export async function readToken(
  client: Caller,
  input: ReadTokenInput,
  options?: CallOptions,
): Promise<Answer<ReadTokenAnswer>> {
  const { accessor_id, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `acl/token/${oneSegment(accessor_id)}`, query, answer: "bare" },
    options,
  );
}

export type ReadSelfTokenInput = {
  /** false: the record comes with an empty SecretID. */
  readonly secret?: boolean | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type ReadSelfTokenAnswer = BootstrapAclAnswer;

/** Read the token that is presented. */
export async function readSelfToken(
  client: Caller,
  query: ReadSelfTokenInput = {},
  options?: CallOptions,
): Promise<Answer<ReadSelfTokenAnswer>> {
  return client.call({ method: "GET", path: "acl/token/self", query, answer: "bare" }, options);
}

export type DeleteTokenInput = {
  /** Accessor of the token. */
  readonly accessor_id: string;
  /** ModifyIndex that the token must have; otherwise nothing is changed (409). */
  readonly cas?: number | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

/** Delete a token. It lets nobody in from here on. */
export async function deleteToken(
  client: Caller,
  input: DeleteTokenInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { accessor_id, ...query } = needInput(input);
  return client.call(
    { method: "DELETE", path: `acl/token/${oneSegment(accessor_id)}`, query, answer: "nothing" },
    options,
  );
}

export type CreateOneTimeTokenInput = {
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type CreateOneTimeTokenAnswer = {
  /** Index of the write. */
  readonly Index: number;
  readonly OneTimeToken: {
    /** To be exchanged, once. */
    readonly OneTimeSecretID: string;
    /** Identifies the token: a UUID in lower case. */
    readonly AccessorID: string;
    /** Until when it can be exchanged. */
    readonly ExpiresAt: string;
    /** Index of the write that made it. */
    readonly CreateIndex: number;
    /** The same. */
    readonly ModifyIndex: number;
  };
};

/** Make a one-time token for the token that is presented. */
export async function createOneTimeToken(
  client: Caller,
  query: CreateOneTimeTokenInput = {},
  options?: CallOptions,
): Promise<Answer<CreateOneTimeTokenAnswer>> {
  return client.call({ method: "POST", path: "acl/token/onetime", query, answer: "bare" }, options);
}

export type ExchangeOneTimeTokenInput = {
  /** The secret of the one-time token. */
  readonly OneTimeSecretID?: string | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type ExchangeOneTimeTokenAnswer = {
  /** Index of the write. */
  readonly Index: number;
  readonly Token: {
    /** Identifies the token: a UUID in lower case. */
    readonly AccessorID: string;
    /** For people; may be empty. */
    readonly Name: string;
    /** What kind of token it is. */
    readonly Type: "client" | "management";
    /** In the order given; null for management. */
    readonly Policies: readonly string[] | null;
    /** Null: there are no roles. */
    readonly Roles:
      | readonly {
          /** Id of a role. */
          readonly ID: string;
          /** Its name. */
          readonly Name: string;
        }[]
      | null;
    /** Replicated to all regions. */
    readonly Global: boolean;
    /** Changes with what can be changed: base64 of 32 bytes. */
    readonly Hash: string;
    /** When it was made. */
    readonly CreateTime: string;
    /** When it ends; null: never. */
    readonly ExpirationTime: string | null;
    /** Index of the write that made it. */
    readonly CreateIndex: number;
    /** Index of the write that changed it last. */
    readonly ModifyIndex: number;
    /** Of a global token that was kept when this cluster left its set: the region that wrote it, which revokes it here no more. Absent for others. */
    readonly KeptFrom?: string;
    /** The credential. */
    readonly SecretID: string;
    /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
    readonly ExpirationTTL: string;
  };
};

/** Exchange a one-time token for the token that it was made for. */
export async function exchangeOneTimeToken(
  client: Caller,
  { region, ...body }: ExchangeOneTimeTokenInput = {},
  options?: CallOptions,
): Promise<Answer<ExchangeOneTimeTokenAnswer>> {
  return client.call(
    { method: "POST", path: "acl/token/onetime/exchange", query: { region }, body, answer: "bare" },
    options,
  );
}

export type CollectTokensInput = CreateOneTimeTokenInput;

export type CollectTokensAnswer = {
  /** How many tokens were removed. */
  readonly Tokens: number;
  /** How many one-time tokens were removed. */
  readonly OneTimeTokens: number;
};

/** Remove expired tokens and one-time tokens now. */
export async function collectTokens(
  client: Caller,
  query: CollectTokensInput = {},
  options?: CallOptions,
): Promise<Answer<CollectTokensAnswer>> {
  return client.call({ method: "POST", path: "acl/gc", query, answer: "bare" }, options);
}

export type ReadAclReplicationInput = {
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
};

export type ReadAclReplicationAnswer = {
  /** False while this region is its own authoritative one. */
  readonly Enabled: boolean;
  /** Whether it runs now. */
  readonly Running: boolean;
  /** Where they come from; empty: from nowhere. */
  readonly SourceRegion?: string;
  /** Up to which index of the source. */
  readonly ReplicatedPolicyIndex?: number;
  /** The same, of tokens. */
  readonly ReplicatedTokenIndex?: number;
  /** When it succeeded last; null: never. */
  readonly LastSuccess?: string | null;
  /** When it failed last; null: never. */
  readonly LastError?: string | null;
  /** Why; empty: it did not. */
  readonly LastErrorMessage?: string;
};

/** Whether global tokens and policies come from another region, and how far they have. */
export async function readAclReplication(
  client: Caller,
  query: ReadAclReplicationInput = {},
  options?: CallOptions,
): Promise<Answer<ReadAclReplicationAnswer>> {
  return client.call({ method: "GET", path: "acl/replication", query, answer: "bare" }, options);
}

export type AuthTokenCreateInput = {
  /** Names of policies: without sudo the caller's at most. Without it the caller's. */
  readonly policies?: readonly string[] | undefined;
  /** How long it lives; without it, or 0, default_lease_ttl. Cut to the maximum, with a warning; without sudo to the caller's last moment. */
  readonly ttl?: string | number | undefined;
  /** How long it lives at most, however often it is renewed. */
  readonly explicit_max_ttl?: string | number | undefined;
  /** How long it lives from each renewal on, whatever that asks for. Needs sudo. */
  readonly period?: string | number | undefined;
  /** How many requests it may make; 0: any number. */
  readonly num_uses?: number | undefined;
  /** For people; up to 256 bytes. */
  readonly display_name?: string | undefined;
  /** What its maker notes about it. Without sudo no policy builds on it, nor on the name. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
  /** Whether it can be renewed; without sudo only if the caller's can. */
  readonly renewable?: boolean | undefined;
  /** Whether the policy default does not count for it. */
  readonly no_default_policy?: boolean | undefined;
  /** There is one kind. */
  readonly type?: "service" | "default" | "" | undefined;
  /** Must be left out: the server draws the secret. */
  readonly id?: string | undefined;
  /** Must be empty: no entities. */
  readonly entity_alias?: string | undefined;
  /** It does not end with the caller's. Needs sudo. */
  readonly no_parent?: boolean | undefined;
};

export type AuthTokenCreateAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly client_token: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** What the token may do. */
  readonly policies: readonly string[];
  /** The same. */
  readonly token_policies: readonly string[];
  /** What was noted when it was made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds that are left; 0: it does not expire. */
  readonly lease_duration: number;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** There is one kind. */
  readonly token_type: "service";
  /** Empty: there are no entities. */
  readonly entity_id: string;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
};

/** Make a client token that ends with the caller's. */
export async function authTokenCreate(
  client: Caller,
  body: AuthTokenCreateInput = {},
  options?: CallOptions,
): Promise<Answer<AuthTokenCreateAnswer>> {
  return client.call({ method: "POST", path: "auth/token/create", body, answer: "auth" }, options);
}

export type AuthTokenCreateOrphanInput = {
  /** Names of policies: without sudo the caller's at most. Without it the caller's. */
  readonly policies?: readonly string[] | undefined;
  /** How long it lives; without it, or 0, default_lease_ttl. Cut to the maximum, with a warning; without sudo to the caller's last moment. */
  readonly ttl?: string | number | undefined;
  /** How long it lives at most, however often it is renewed. */
  readonly explicit_max_ttl?: string | number | undefined;
  /** How long it lives from each renewal on, whatever that asks for. Needs sudo. */
  readonly period?: string | number | undefined;
  /** How many requests it may make; 0: any number. */
  readonly num_uses?: number | undefined;
  /** For people; up to 256 bytes. */
  readonly display_name?: string | undefined;
  /** What its maker notes about it. Without sudo no policy builds on it, nor on the name. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
  /** Whether it can be renewed; without sudo only if the caller's can. */
  readonly renewable?: boolean | undefined;
  /** Whether the policy default does not count for it. */
  readonly no_default_policy?: boolean | undefined;
  /** There is one kind. */
  readonly type?: "service" | "default" | "" | undefined;
  /** Must be left out: the server draws the secret. */
  readonly id?: string | undefined;
  /** Must be empty: no entities. */
  readonly entity_alias?: string | undefined;
  /** True, as some clients say here too: it is so in any case. */
  readonly no_parent?: boolean | undefined;
};

export type AuthTokenCreateOrphanAnswer = AuthTokenCreateAnswer;

/** Make a client token that does not end with the caller's. */
export async function authTokenCreateOrphan(
  client: Caller,
  body: AuthTokenCreateOrphanInput = {},
  options?: CallOptions,
): Promise<Answer<AuthTokenCreateOrphanAnswer>> {
  return client.call(
    { method: "POST", path: "auth/token/create-orphan", body, answer: "auth" },
    options,
  );
}

export type AuthTokenLookupSelfAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly id: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** For people; may be empty. */
  readonly display_name: string;
  /** What it may do; root: everything. */
  readonly policies: readonly string[];
  /** When it was made, in seconds since 1970. */
  readonly creation_time: number;
  /** Seconds that it was made for; 0: no end. */
  readonly creation_ttl: number;
  /** When it ends; null: never. */
  readonly expire_time: string | null;
  /** Longest life that its maker allowed, in seconds; 0: the server's. */
  readonly explicit_max_ttl: number;
  /** When it was made. */
  readonly issue_time: string;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Where it was made. */
  readonly path: string;
  /** Seconds that each renewal gives. */
  readonly period?: number;
  /** Where it is good; absent: anywhere. */
  readonly bound_cidrs?: readonly string[];
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** Seconds that are left; 0: it does not expire. */
  readonly ttl: number;
  /** There is one kind. */
  readonly type: "service";
  /** What was noted when it was made. */
  readonly meta: Readonly<Record<string, string>> | null;
  /** Empty: there are no entities. */
  readonly entity_id: string;
};

/** Tell about the caller's own token. */
export async function authTokenLookupSelf(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<AuthTokenLookupSelfAnswer>> {
  return client.call({ method: "GET", path: "auth/token/lookup-self", answer: "data" }, options);
}

export type AuthTokenLookupInput = {
  /** Secret of the token. */
  readonly token: string;
};

export type AuthTokenLookupAnswer = AuthTokenLookupSelfAnswer;

/** Tell about a token by its secret. */
export async function authTokenLookup(
  client: Caller,
  body: AuthTokenLookupInput,
  options?: CallOptions,
): Promise<Answer<AuthTokenLookupAnswer>> {
  return client.call({ method: "POST", path: "auth/token/lookup", body, answer: "data" }, options);
}

export type AuthTokenLookupAccessorInput = {
  /** Accessor of the token. */
  readonly accessor: string;
};

export type AuthTokenLookupAccessorAnswer = AuthTokenLookupSelfAnswer;

/** Tell about a token by its accessor, without its secret. */
export async function authTokenLookupAccessor(
  client: Caller,
  body: AuthTokenLookupAccessorInput,
  options?: CallOptions,
): Promise<Answer<AuthTokenLookupAccessorAnswer>> {
  return client.call(
    { method: "POST", path: "auth/token/lookup-accessor", body, answer: "data" },
    options,
  );
}

export type AuthTokenRenewSelfInput = {
  /** How long it shall live from now; without it, or 0, as long as it was made for. */
  readonly increment?: string | number | undefined;
};

export type AuthTokenRenewSelfAnswer = AuthTokenCreateAnswer;

/** Prolong the caller's own token. */
export async function authTokenRenewSelf(
  client: Caller,
  body: AuthTokenRenewSelfInput = {},
  options?: CallOptions,
): Promise<Answer<AuthTokenRenewSelfAnswer>> {
  return client.call(
    { method: "POST", path: "auth/token/renew-self", body, answer: "auth" },
    options,
  );
}

export type AuthTokenRenewInput = {
  /** Secret of the token. */
  readonly token: string;
  /** How long it shall live from now; without it, or 0, as long as it was made for. */
  readonly increment?: string | number | undefined;
};

export type AuthTokenRenewAnswer = AuthTokenCreateAnswer;

/** Prolong a token by its secret. */
export async function authTokenRenew(
  client: Caller,
  body: AuthTokenRenewInput,
  options?: CallOptions,
): Promise<Answer<AuthTokenRenewAnswer>> {
  return client.call({ method: "POST", path: "auth/token/renew", body, answer: "auth" }, options);
}

export type AuthTokenRenewAccessorInput = {
  /** Accessor of the token. */
  readonly accessor: string;
  /** How long it shall live from now; without it, or 0, as long as it was made for. */
  readonly increment?: string | number | undefined;
};

export type AuthTokenRenewAccessorAnswer = AuthTokenCreateAnswer;

/** Prolong a token by its accessor. */
export async function authTokenRenewAccessor(
  client: Caller,
  body: AuthTokenRenewAccessorInput,
  options?: CallOptions,
): Promise<Answer<AuthTokenRenewAccessorAnswer>> {
  return client.call(
    { method: "POST", path: "auth/token/renew-accessor", body, answer: "auth" },
    options,
  );
}

/** End the caller's own token, and what it made. */
export async function authTokenRevokeSelf(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "auth/token/revoke-self", answer: "nothing" },
    options,
  );
}

export type AuthTokenRevokeInput = AuthTokenLookupInput;

/** End a token by its secret, and what it made. */
export async function authTokenRevoke(
  client: Caller,
  body: AuthTokenRevokeInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "auth/token/revoke", body, answer: "nothing" },
    options,
  );
}

export type AuthTokenRevokeAccessorInput = AuthTokenLookupAccessorInput;

/** End a token by its accessor, and what it made. */
export async function authTokenRevokeAccessor(
  client: Caller,
  body: AuthTokenRevokeAccessorInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "auth/token/revoke-accessor", body, answer: "nothing" },
    options,
  );
}

export type AuthTokenRevokeOrphanInput = AuthTokenLookupInput;

/** End a token by its secret, and leave what it made to itself. */
export async function authTokenRevokeOrphan(
  client: Caller,
  body: AuthTokenRevokeOrphanInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "auth/token/revoke-orphan", body, answer: "nothing" },
    options,
  );
}

export type AuthTokenAccessorsInput = {
  /** Only those after this accessor. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type AuthTokenAccessorsAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the accessors of all tokens. */
export async function authTokenAccessors(
  client: Caller,
  query: AuthTokenAccessorsInput = {},
  options?: CallOptions,
): Promise<Answer<AuthTokenAccessorsAnswer>> {
  return client.call(
    { method: "LIST", path: "auth/token/accessors", query, answer: "data" },
    options,
  );
}
