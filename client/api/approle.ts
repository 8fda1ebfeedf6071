// Endpoints of approle as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { mountPath, needInput, oneSegment } from "../request-path.ts";

export type LoginInput = {
  /** The role id. */
  readonly role_id: string;
  /** The secret id, unless the role needs none. */
  readonly secret_id?: string | undefined;
};

export type LoginAnswer = {
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

/** Log in with a role id and a secret id. */
export async function login(
  client: Caller,
  mount: string,
  body: LoginInput,
  options?: CallOptions,
): Promise<Answer<LoginAnswer>> {
  return client.call(
    { method: "POST", path: `auth/${mountPath(mount)}/login`, body, answer: "auth" },
    options,
  );
}

export type RolesInput = {
  /** Only what comes after this. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type RolesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the names of all roles. */
export async function roles(
  client: Caller,
  mount: string,
  query: RolesInput = {},
  options?: CallOptions,
): Promise<Answer<RolesAnswer>> {
  return client.call(
    { method: "LIST", path: `auth/${mountPath(mount)}/role`, query, answer: "data" },
    options,
  );
}

export type ReadRoleInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
};

export type ReadRoleAnswer = {
  /** How long a token lives. In seconds; 0: as the mount says. */
  readonly token_ttl: number;
  /** How long it lives at most. In seconds; 0: as the mount says. */
  readonly token_max_ttl: number;
  /** How long it lives at most. In seconds; 0: as the mount says. */
  readonly token_explicit_max_ttl: number;
  /** How long it lives from each renewal on, in seconds; 0: none. */
  readonly token_period: number;
  /** Policies of a token. */
  readonly token_policies: readonly string[];
  /** Where it is good; empty: anywhere. */
  readonly token_bound_cidrs: readonly string[];
  /** Whether the policy default does not count for it. */
  readonly token_no_default_policy: boolean;
  /** How many requests it may make; 0: any number. */
  readonly token_num_uses: number;
  /** There is one kind. */
  readonly token_type: "default";
  /** Whether a login needs a secret id. */
  readonly bind_secret_id: boolean;
  /** Seconds that its secret ids are good; 0: without end. */
  readonly secret_id_ttl: number;
  /** How many logins a secret id is good for; 0: any number. */
  readonly secret_id_num_uses: number;
  /** Where one may log in from. */
  readonly secret_id_bound_cidrs: readonly string[];
  /** Always false. */
  readonly local_secret_ids: boolean;
};

/** Tell about a role. */
export async function readRole(
  client: Caller,
  mount: string,
  input: ReadRoleInput,
  options?: CallOptions,
): Promise<Answer<ReadRoleAnswer>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}`,
      answer: "data",
    },
    options,
  );
}

export type WriteRoleInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How long a token lives; 0: as the mount says. */
  readonly token_ttl?: string | number | undefined;
  /** How long it lives at most, renewals and all; 0: as the mount. */
  readonly token_max_ttl?: string | number | undefined;
  /** The same: the shorter of the two holds. */
  readonly token_explicit_max_ttl?: string | number | undefined;
  /** How long it lives from each renewal on; 0: none. */
  readonly token_period?: string | number | undefined;
  /** Names of the policies of a token. */
  readonly token_policies?: readonly string[] | undefined;
  /** Addresses and ranges from which one may log in, and use the token. */
  readonly token_bound_cidrs?: readonly string[] | undefined;
  /** Whether the policy default does not count for a token. */
  readonly token_no_default_policy?: boolean | undefined;
  /** How many requests a token may make; 0: any number. */
  readonly token_num_uses?: number | undefined;
  /** There is one kind. */
  readonly token_type?: "default" | "default-service" | "service" | "" | undefined;
  /** What the role presents to log in; a random one by itself. */
  readonly role_id?: string | undefined;
  /** Whether a login needs a secret id. A new role needs one. */
  readonly bind_secret_id?: boolean | undefined;
  /** How long its secret ids are good; 0: without end. */
  readonly secret_id_ttl?: string | number | undefined;
  /** How many logins a secret id is good for; 0: any number. */
  readonly secret_id_num_uses?: number | undefined;
  /** Addresses and ranges from which one may log in. */
  readonly secret_id_bound_cidrs?: readonly string[] | undefined;
  /** Must be false. */
  readonly local_secret_ids?: boolean | undefined;
};

/** Make a role, or change one. */
export async function writeRole(
  client: Caller,
  mount: string,
  input: WriteRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteRoleInput = ReadRoleInput;

/** Delete a role and its secret ids. Tokens that came of logins live on until they end. */
export async function deleteRole(
  client: Caller,
  mount: string,
  input: DeleteRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadRoleIdInput = ReadRoleInput;

export type ReadRoleIdAnswer = {
  /** What the role presents to log in. Not a secret. */
  readonly role_id: string;
};

/** Tell the role id of a role. */
export async function readRoleId(
  client: Caller,
  mount: string,
  input: ReadRoleIdInput,
  options?: CallOptions,
): Promise<Answer<ReadRoleIdAnswer>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/role-id`,
      answer: "data",
    },
    options,
  );
}

export type WriteRoleIdInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** The new role id. */
  readonly role_id: string;
};

/** Give a role another role id. */
export async function writeRoleId(
  client: Caller,
  mount: string,
  input: WriteRoleIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/role-id`,
      body,
      answer: "nothing",
    },
    options,
  );
}

/** Clear away secret ids that have expired or whose role is gone. */
export async function tidy(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: `auth/${mountPath(mount)}/tidy/secret-id`, answer: "nothing" },
    options,
  );
}

export type MakeSecretIdInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** An object of strings, or the JSON text of one: noted on tokens. Policies build on it only where it was written with sudo on this path. */
  readonly metadata?: JsonValue | undefined;
  /** Addresses and ranges from which it is good, within those of the role. */
  readonly cidr_list?: readonly string[] | undefined;
  /** Where its tokens are good, within what the role says. */
  readonly token_bound_cidrs?: readonly string[] | undefined;
  /** How many logins it is good for; 0: any number. */
  readonly num_uses?: number | undefined;
  /** How long it is good; 0: without end. */
  readonly ttl?: string | number | undefined;
};

export type MakeSecretIdAnswer = {
  /** The secret id. Shown once. */
  readonly secret_id: string;
  /** Identifies it, without being a credential. */
  readonly secret_id_accessor: string;
  /** Seconds that it is good; 0: without end. */
  readonly secret_id_ttl: number;
  /** How many logins it is good for; 0: any number. */
  readonly secret_id_num_uses: number;
};

/** Make a secret id. */
export async function makeSecretId(
  client: Caller,
  mount: string,
  input: MakeSecretIdInput,
  options?: CallOptions,
): Promise<Answer<MakeSecretIdAnswer>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id`,
      body,
      answer: "data",
    },
    options,
  );
}

export type ChooseSecretIdInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** The secret id. */
  readonly secret_id: string;
  /** An object of strings, or the JSON text of one: noted on tokens. Policies build on it only where it was written with sudo on this path. */
  readonly metadata?: JsonValue | undefined;
  /** Addresses and ranges from which it is good, within those of the role. */
  readonly cidr_list?: readonly string[] | undefined;
  /** Where its tokens are good, within what the role says. */
  readonly token_bound_cidrs?: readonly string[] | undefined;
  /** How many logins it is good for; 0: any number. */
  readonly num_uses?: number | undefined;
  /** How long it is good; 0: without end. */
  readonly ttl?: string | number | undefined;
};

export type ChooseSecretIdAnswer = MakeSecretIdAnswer;

/** Register a secret id that was made elsewhere. */
export async function chooseSecretId(
  client: Caller,
  mount: string,
  input: ChooseSecretIdInput,
  options?: CallOptions,
): Promise<Answer<ChooseSecretIdAnswer>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/custom-secret-id`,
      body,
      answer: "data",
    },
    options,
  );
}

export type SecretIdsInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** Only what comes after this. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type SecretIdsAnswer = RolesAnswer;

/** List the accessors of a role's secret ids. */
export async function secretIds(
  client: Caller,
  mount: string,
  input: SecretIdsInput,
  options?: CallOptions,
): Promise<Answer<SecretIdsAnswer>> {
  const { role_name, ...query } = needInput(input);
  return client.call(
    {
      method: "LIST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id`,
      query,
      answer: "data",
    },
    options,
  );
}

export type LookUpSecretIdInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** The secret id. */
  readonly secret_id: string;
};

export type LookUpSecretIdAnswer = {
  /** Identifies it, without being a credential. */
  readonly secret_id_accessor: string;
  /** Seconds that it was made for; 0: without end. */
  readonly secret_id_ttl: number;
  /** How many logins are left; 0: any number. */
  readonly secret_id_num_uses: number;
  /** When it was made. */
  readonly creation_time: string;
  /** When it was made, or a use was taken last. */
  readonly last_updated_time: string;
  /** When it ends; null: never. */
  readonly expiration_time: string | null;
  /** Noted on tokens. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Where it is good; empty: as the role. */
  readonly cidr_list: readonly string[];
  /** Where its tokens are good. */
  readonly token_bound_cidrs: readonly string[];
};

/** Tell about a secret id. */
export async function lookUpSecretId(
  client: Caller,
  mount: string,
  input: LookUpSecretIdInput,
  options?: CallOptions,
): Promise<Answer<LookUpSecretIdAnswer>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id/lookup`,
      body,
      answer: "data",
    },
    options,
  );
}

export type LookUpAccessorInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** Its accessor. */
  readonly secret_id_accessor: string;
};

export type LookUpAccessorAnswer = LookUpSecretIdAnswer;

/** Tell about a secret id by its accessor. */
export async function lookUpAccessor(
  client: Caller,
  mount: string,
  input: LookUpAccessorInput,
  options?: CallOptions,
): Promise<Answer<LookUpAccessorAnswer>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-accessor/lookup`,
      body,
      answer: "data",
    },
    options,
  );
}

export type DestroySecretIdInput = LookUpSecretIdInput;

/** End a secret id. */
export async function destroySecretId(
  client: Caller,
  mount: string,
  input: DestroySecretIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id/destroy`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DestroyAccessorInput = LookUpAccessorInput;

/** End a secret id by its accessor. */
export async function destroyAccessor(
  client: Caller,
  mount: string,
  input: DestroyAccessorInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-accessor/destroy`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteSecretIdInput = LookUpSecretIdInput;

/** End a secret id. */
export async function deleteSecretId(
  client: Caller,
  mount: string,
  input: DeleteSecretIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id/destroy`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteAccessorInput = LookUpAccessorInput;

/** End a secret id by its accessor. */
export async function deleteAccessor(
  client: Caller,
  mount: string,
  input: DeleteAccessorInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-accessor/destroy`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ReadPoliciesInput = ReadRoleInput;

/** Tell token_policies of a role. */
export async function readPolicies(
  client: Caller,
  mount: string,
  input: ReadPoliciesInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/policies`,
      answer: "data",
    },
    options,
  );
}

export type WritePoliciesInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** Names of the policies of a token. */
  readonly token_policies?: readonly string[] | undefined;
};

/** Change token_policies of a role. */
export async function writePolicies(
  client: Caller,
  mount: string,
  input: WritePoliciesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/policies`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearPoliciesInput = ReadRoleInput;

/** Set token_policies of a role back to what a new role has. */
export async function clearPolicies(
  client: Caller,
  mount: string,
  input: ClearPoliciesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/policies`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadTtlInput = ReadRoleInput;

/** Tell token_ttl of a role. */
export async function readTtl(
  client: Caller,
  mount: string,
  input: ReadTtlInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-ttl`,
      answer: "data",
    },
    options,
  );
}

export type WriteTtlInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How long a token lives; 0: as the mount says. */
  readonly token_ttl?: string | number | undefined;
};

/** Change token_ttl of a role. */
export async function writeTtl(
  client: Caller,
  mount: string,
  input: WriteTtlInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-ttl`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearTtlInput = ReadRoleInput;

/** Set token_ttl of a role back to what a new role has. */
export async function clearTtl(
  client: Caller,
  mount: string,
  input: ClearTtlInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-ttl`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadMaxTtlInput = ReadRoleInput;

/** Tell token_max_ttl of a role. */
export async function readMaxTtl(
  client: Caller,
  mount: string,
  input: ReadMaxTtlInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-max-ttl`,
      answer: "data",
    },
    options,
  );
}

export type WriteMaxTtlInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How long it lives at most, renewals and all; 0: as the mount. */
  readonly token_max_ttl?: string | number | undefined;
};

/** Change token_max_ttl of a role. */
export async function writeMaxTtl(
  client: Caller,
  mount: string,
  input: WriteMaxTtlInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-max-ttl`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearMaxTtlInput = ReadRoleInput;

/** Set token_max_ttl of a role back to what a new role has. */
export async function clearMaxTtl(
  client: Caller,
  mount: string,
  input: ClearMaxTtlInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-max-ttl`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadUsesInput = ReadRoleInput;

/** Tell token_num_uses of a role. */
export async function readUses(
  client: Caller,
  mount: string,
  input: ReadUsesInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-num-uses`,
      answer: "data",
    },
    options,
  );
}

export type WriteUsesInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How many requests a token may make; 0: any number. */
  readonly token_num_uses?: number | undefined;
};

/** Change token_num_uses of a role. */
export async function writeUses(
  client: Caller,
  mount: string,
  input: WriteUsesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-num-uses`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearUsesInput = ReadRoleInput;

/** Set token_num_uses of a role back to what a new role has. */
export async function clearUses(
  client: Caller,
  mount: string,
  input: ClearUsesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-num-uses`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadPeriodInput = ReadRoleInput;

/** Tell token_period of a role. */
export async function readPeriod(
  client: Caller,
  mount: string,
  input: ReadPeriodInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/period`,
      answer: "data",
    },
    options,
  );
}

export type WritePeriodInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How long it lives from each renewal on; 0: none. */
  readonly token_period?: string | number | undefined;
};

/** Change token_period of a role. */
export async function writePeriod(
  client: Caller,
  mount: string,
  input: WritePeriodInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/period`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearPeriodInput = ReadRoleInput;

/** Set token_period of a role back to what a new role has. */
export async function clearPeriod(
  client: Caller,
  mount: string,
  input: ClearPeriodInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/period`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadBoundToInput = ReadRoleInput;

/** Tell token_bound_cidrs of a role. */
export async function readBoundTo(
  client: Caller,
  mount: string,
  input: ReadBoundToInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-bound-cidrs`,
      answer: "data",
    },
    options,
  );
}

export type WriteBoundToInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** Addresses and ranges from which one may log in, and use the token. */
  readonly token_bound_cidrs?: readonly string[] | undefined;
};

/** Change token_bound_cidrs of a role. */
export async function writeBoundTo(
  client: Caller,
  mount: string,
  input: WriteBoundToInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-bound-cidrs`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearBoundToInput = ReadRoleInput;

/** Set token_bound_cidrs of a role back to what a new role has. */
export async function clearBoundTo(
  client: Caller,
  mount: string,
  input: ClearBoundToInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/token-bound-cidrs`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadBindSecretIdInput = ReadRoleInput;

/** Tell bind_secret_id of a role. */
export async function readBindSecretId(
  client: Caller,
  mount: string,
  input: ReadBindSecretIdInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/bind-secret-id`,
      answer: "data",
    },
    options,
  );
}

export type WriteBindSecretIdInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** Whether a login needs a secret id. A new role needs one. */
  readonly bind_secret_id?: boolean | undefined;
};

/** Change bind_secret_id of a role. */
export async function writeBindSecretId(
  client: Caller,
  mount: string,
  input: WriteBindSecretIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/bind-secret-id`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearBindSecretIdInput = ReadRoleInput;

/** Set bind_secret_id of a role back to what a new role has. */
export async function clearBindSecretId(
  client: Caller,
  mount: string,
  input: ClearBindSecretIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/bind-secret-id`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadSecretIdTtlInput = ReadRoleInput;

/** Tell secret_id_ttl of a role. */
export async function readSecretIdTtl(
  client: Caller,
  mount: string,
  input: ReadSecretIdTtlInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-ttl`,
      answer: "data",
    },
    options,
  );
}

export type WriteSecretIdTtlInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How long its secret ids are good; 0: without end. */
  readonly secret_id_ttl?: string | number | undefined;
};

/** Change secret_id_ttl of a role. */
export async function writeSecretIdTtl(
  client: Caller,
  mount: string,
  input: WriteSecretIdTtlInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-ttl`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearSecretIdTtlInput = ReadRoleInput;

/** Set secret_id_ttl of a role back to what a new role has. */
export async function clearSecretIdTtl(
  client: Caller,
  mount: string,
  input: ClearSecretIdTtlInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-ttl`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadSecretIdUsesInput = ReadRoleInput;

/** Tell secret_id_num_uses of a role. */
export async function readSecretIdUses(
  client: Caller,
  mount: string,
  input: ReadSecretIdUsesInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-num-uses`,
      answer: "data",
    },
    options,
  );
}

export type WriteSecretIdUsesInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** How many logins a secret id is good for; 0: any number. */
  readonly secret_id_num_uses?: number | undefined;
};

/** Change secret_id_num_uses of a role. */
export async function writeSecretIdUses(
  client: Caller,
  mount: string,
  input: WriteSecretIdUsesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-num-uses`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearSecretIdUsesInput = ReadRoleInput;

/** Set secret_id_num_uses of a role back to what a new role has. */
export async function clearSecretIdUses(
  client: Caller,
  mount: string,
  input: ClearSecretIdUsesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-num-uses`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadSecretIdRangesInput = ReadRoleInput;

/** Tell secret_id_bound_cidrs of a role. */
export async function readSecretIdRanges(
  client: Caller,
  mount: string,
  input: ReadSecretIdRangesInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-bound-cidrs`,
      answer: "data",
    },
    options,
  );
}

export type WriteSecretIdRangesInput = {
  /** Name of the role; the case of letters is the same. */
  readonly role_name: string;
  /** Addresses and ranges from which one may log in. */
  readonly secret_id_bound_cidrs?: readonly string[] | undefined;
};

/** Change secret_id_bound_cidrs of a role. */
export async function writeSecretIdRanges(
  client: Caller,
  mount: string,
  input: WriteSecretIdRangesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-bound-cidrs`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ClearSecretIdRangesInput = ReadRoleInput;

/** Set secret_id_bound_cidrs of a role back to what a new role has. */
export async function clearSecretIdRanges(
  client: Caller,
  mount: string,
  input: ClearSecretIdRangesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { role_name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/role/${oneSegment(role_name)}/secret-id-bound-cidrs`,
      answer: "nothing",
    },
    options,
  );
}
