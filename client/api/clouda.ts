// Endpoints of clouda as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { mountPath, needInput, oneSegment } from "../request-path.ts";

export type WriteRootInput = {
  /** Id of the access key that this service calls with. */
  readonly access_key?: string | undefined;
  /** Its secret. Never shown again. */
  readonly secret_key?: string | undefined;
  /** Region; else CLOUDA_REGION, CLOUDA_DEFAULT_REGION, us-east-1. */
  readonly region?: string | undefined;
  /** URL of IAM, instead of the provider's. */
  readonly iam_endpoint?: string | undefined;
  /** URL of STS, instead of the provider's. */
  readonly sts_endpoint?: string | undefined;
  /** How often a call that failed is tried again; -1: as the provider's SDK does. */
  readonly max_retries?: number | undefined;
  /** Template of names, for users and sessions; left out or empty: the built-in one. */
  readonly username_template?: string | undefined;
  /** Region that goes with sts_endpoint. */
  readonly sts_region?: string | undefined;
  /** URLs of STS that are tried in turn when the one before cannot be reached. */
  readonly sts_fallback_endpoints?: readonly string[] | undefined;
  /** Their regions, equally many. */
  readonly sts_fallback_regions?: readonly string[] | undefined;
  /** Role that this service assumes with its identity token. */
  readonly role_arn?: string | undefined;
  /** Audience of its identity token; instead of access_key. */
  readonly identity_token_audience?: string | undefined;
  /** How long the token is good; 0: an hour. */
  readonly identity_token_ttl?: string | number | undefined;
  /** How often rotate-root is done by itself; 0: never. */
  readonly rotation_period?: string | number | undefined;
  /** When it is rotated: five fields of cron, in UTC, such as "0 3 * * SUN". Excludes rotation_period. */
  readonly rotation_schedule?: string | undefined;
  /** How long after a time of rotation_schedule it may still be done, at least an hour; 0: until the next. */
  readonly rotation_window?: string | number | undefined;
  /** Whether it is not rotated by itself for now. */
  readonly disable_automated_rotation?: boolean | undefined;
  /** Whether credentials of STS have a lease that is kept. */
  readonly sts_leases?: "record" | "virtual" | undefined;
};

/** Say how this service calls the provider. */
export async function writeRoot(
  client: Caller,
  mount: string,
  body: WriteRootInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/config/root`, body, answer: "nothing" },
    options,
  );
}

export type ReadRootAnswer = {
  /** Id of the access key; empty where none is stored. */
  readonly access_key: string;
  /** As stored. */
  readonly region: string;
  /** As stored. */
  readonly iam_endpoint: string;
  /** As stored. */
  readonly sts_endpoint: string;
  /** As stored; -1: as the provider's SDK does. */
  readonly max_retries: number;
  /** The template in use. */
  readonly username_template: string;
  /** As stored. */
  readonly sts_region: string;
  /** As stored. */
  readonly sts_fallback_endpoints: readonly string[];
  /** As stored. */
  readonly sts_fallback_regions: readonly string[];
  /** As stored. */
  readonly role_arn: string;
  /** As stored. */
  readonly identity_token_audience: string;
  /** Seconds; 0: an hour. */
  readonly identity_token_ttl: number;
  /** Whether credentials of STS have a lease. */
  readonly sts_leases: "record" | "virtual";
  /** Seconds between two rotations; 0: there is no period. */
  readonly rotation_period: number;
  /** Fields of cron, in UTC; empty: there is none. */
  readonly rotation_schedule: string;
  /** Seconds after a time of the schedule; 0: until the next. */
  readonly rotation_window: number;
  /** Whether it is not rotated by itself. */
  readonly disable_automated_rotation: boolean;
  /** When it is rotated by itself, or that is tried again; null: never. */
  readonly next_rotation: string | null;
  /** Why the last rotation by itself failed; empty: it did not. */
  readonly rotation_error: string;
  /** When rotate-root made the key; null: it did not. */
  readonly root_key_created: string | null;
  /** Where the credentials come from that this service calls with. */
  readonly credential_source: "config" | "identity_token" | "environment" | "chain";
};

/** Tell how this service calls the provider, without the secret. */
export async function readRoot(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<ReadRootAnswer>> {
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/config/root`, answer: "data" },
    options,
  );
}

export type RotateRootAnswer = {
  /** Id of the new access key. */
  readonly access_key: string;
};

/** Replace the stored access key by a new one that only this service knows. */
export async function rotateRoot(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<RotateRootAnswer>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/config/rotate-root`, answer: "data" },
    options,
  );
}

export type CheckAnswer = {
  /** By the provider's name of the action. */
  readonly actions: Readonly<Record<string, "allowed" | "denied" | "unknown">>;
};

/** Find out what the credentials of this service may do, without changing anything. */
export async function check(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<CheckAnswer>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/config/check`, answer: "data" },
    options,
  );
}

export type WriteLeaseInput = {
  /** Length, such as 30m; h is the largest unit. */
  readonly lease?: string | number | undefined;
  /** Length at most, renewals and all. */
  readonly lease_max?: string | number | undefined;
};

/** Say how long the leases of IAM users are. */
export async function writeLease(
  client: Caller,
  mount: string,
  body: WriteLeaseInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/config/lease`, body, answer: "nothing" },
    options,
  );
}

export type ReadLeaseAnswer = {
  /** Such as 30m0s. */
  readonly lease: string;
  /** Such as 12h0m0s. */
  readonly lease_max: string;
};

/** Tell how long the leases of IAM users are. */
export async function readLease(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<ReadLeaseAnswer>> {
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/config/lease`, answer: "data" },
    options,
  );
}

export type RolesInput = {
  /** Only what comes after this. */
  readonly after?: string | undefined;
  /** How many at most; all unless given. */
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
    { method: "LIST", path: `${mountPath(mount)}/roles`, query, answer: "data" },
    options,
  );
}

export type ReadRoleInput = {
  /** Name of the role; its case matters. */
  readonly name: string;
};

export type ReadRoleAnswer = {
  /** One type; of a deprecated policy two, with a comma between. */
  readonly credential_type: string;
  /** Roles that may be assumed. */
  readonly role_arns: readonly string[];
  /** Managed policies. */
  readonly policy_arns: readonly string[];
  /** JSON text without white space; empty for none. */
  readonly policy_document: string;
  /** Groups. */
  readonly iam_groups: readonly string[];
  /** Tags of users. */
  readonly iam_tags: Readonly<Record<string, string>>;
  /** Seconds; 0: not set. */
  readonly default_sts_ttl: number;
  /** Seconds; 0: not set. */
  readonly max_sts_ttl: number;
  /** Empty: not set, which is as /. */
  readonly user_path: string;
  /** Empty: none. */
  readonly permissions_boundary_arn: string;
  /** Tags of sessions. */
  readonly session_tags: Readonly<Record<string, string>>;
  /** Empty: none. */
  readonly external_id: string;
  /** What an earlier version stored and this one cannot read: write the role again. */
  readonly invalid_data?: string;
};

/** Tell about a role. */
export async function readRole(
  client: Caller,
  mount: string,
  input: ReadRoleInput,
  options?: CallOptions,
): Promise<Answer<ReadRoleAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/roles/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteRoleInput = {
  /** Name of the role; its case matters. */
  readonly name: string;
  /** iam_user, assumed_role or federation_token. */
  readonly credential_type?: string | undefined;
  /** Roles that may be assumed. For assumed_role only. */
  readonly role_arns?: readonly string[] | undefined;
  /** Managed policies: attached to users, or what a session may do at most. */
  readonly policy_arns?: readonly string[] | undefined;
  /** A policy as JSON text: of users, or what a session may do at most. */
  readonly policy_document?: string | undefined;
  /** Groups that users join; of sessions, groups whose policies are added. */
  readonly iam_groups?: readonly string[] | undefined;
  /** Tags of users: an object, or a list of key=value. Commas separate nothing. */
  readonly iam_tags?: Readonly<Record<string, string>> | readonly string[] | string | undefined;
  /** How long sessions last unless a request says so. */
  readonly default_sts_ttl?: string | number | undefined;
  /** How long sessions last at most. */
  readonly max_sts_ttl?: string | number | undefined;
  /** Path of users; / unless given. */
  readonly user_path?: string | undefined;
  /** Policy that bounds users. */
  readonly permissions_boundary_arn?: string | undefined;
  /** Tags of sessions, given as iam_tags are. For assumed_role only. */
  readonly session_tags?: Readonly<Record<string, string>> | readonly string[] | string | undefined;
  /** Sent when a role is assumed. For assumed_role only. */
  readonly external_id?: string | undefined;
  /** Deprecated: a policy as JSON text, or an ARN. */
  readonly policy?: string | undefined;
  /** Deprecated: ARN of a policy or a role. */
  readonly arn?: string | undefined;
};

/** Make a role, or change one. */
export async function writeRole(
  client: Caller,
  mount: string,
  input: WriteRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/roles/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteRoleInput = {
  /** Name of the role; its case matters. */
  readonly name: string;
  /** Whether what it has given is revoked as well. */
  readonly revoke_leases?: boolean | undefined;
  /** Also where a region that shares the mount is not reached, and may have leases of the role. */
  readonly force?: boolean | undefined;
};

/** Delete a role. What it has given lives on until its leases end. */
export async function deleteRole(
  client: Caller,
  mount: string,
  input: DeleteRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `${mountPath(mount)}/roles/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ReadCredsInput = {
  /** Name of the role; its case matters. */
  readonly name: string;
  /** Which role to assume; needed where the role allows several. */
  readonly role_arn?: string | undefined;
  /** Name of the session of an assumed role; a generated one by itself. */
  readonly role_session_name?: string | undefined;
  /** How long credentials of STS live. */
  readonly ttl?: string | number | undefined;
  /** Whether to wait until the provider accepts a new user's key. That it does so for one call does not prove that all its services do. */
  readonly verify?: boolean | undefined;
};

export type ReadCredsAnswer = {
  /** Id of the access key. Not a secret. */
  readonly access_key: string;
  /** The secret access key. */
  readonly secret_key: string;
  /** Of credentials of STS. */
  readonly session_token: string | null;
  /** The same, by its older name. */
  readonly security_token: string | null;
  /** Of the IAM user that was made. */
  readonly username?: string;
  /** Of the assumed role or federated user. */
  readonly arn?: string;
  /** Seconds until the credentials end by themselves. */
  readonly ttl?: number;
  /** Whether the provider accepted the key, where that was asked. */
  readonly verified?: boolean;
};

/** Make credentials for a role. */
export async function readCreds(
  client: Caller,
  mount: string,
  input: ReadCredsInput,
  options?: CallOptions,
): Promise<Answer<ReadCredsAnswer>> {
  const { name, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/creds/${oneSegment(name)}`, query, answer: "data" },
    options,
  );
}

export type WriteCredsInput = ReadCredsInput;

export type WriteCredsAnswer = ReadCredsAnswer;

/** Make credentials for a role. */
export async function writeCreds(
  client: Caller,
  mount: string,
  input: WriteCredsInput,
  options?: CallOptions,
): Promise<Answer<WriteCredsAnswer>> {
  const { name, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/creds/${oneSegment(name)}`, body, answer: "data" },
    options,
  );
}

export type ReadStsInput = ReadCredsInput;

export type ReadStsAnswer = ReadCredsAnswer;

/** Make credentials for a role; of a legacy role, those of STS. */
export async function readSts(
  client: Caller,
  mount: string,
  input: ReadStsInput,
  options?: CallOptions,
): Promise<Answer<ReadStsAnswer>> {
  const { name, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/sts/${oneSegment(name)}`, query, answer: "data" },
    options,
  );
}

export type WriteStsInput = ReadCredsInput;

export type WriteStsAnswer = ReadCredsAnswer;

/** Make credentials for a role; of a legacy role, those of STS. */
export async function writeSts(
  client: Caller,
  mount: string,
  input: WriteStsInput,
  options?: CallOptions,
): Promise<Answer<WriteStsAnswer>> {
  const { name, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/sts/${oneSegment(name)}`, body, answer: "data" },
    options,
  );
}

export type StaticRolesInput = RolesInput;

export type StaticRolesAnswer = RolesAnswer;

/** List the names of all static roles. */
export async function staticRoles(
  client: Caller,
  mount: string,
  query: StaticRolesInput = {},
  options?: CallOptions,
): Promise<Answer<StaticRolesAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/static-roles`, query, answer: "data" },
    options,
  );
}

export type ReadStaticRoleInput = ReadRoleInput;

export type ReadStaticRoleAnswer = {
  /** Name of the static role. */
  readonly name: string;
  /** The provider's id of the user. */
  readonly id: string;
  /** The user whose key is rotated. */
  readonly username: string;
  /** Seconds between two rotations; 0: there is a schedule. */
  readonly rotation_period: number;
  /** Fields of cron, in UTC; empty: there is none. */
  readonly rotation_schedule: string;
  /** Seconds after a time of the schedule; 0: until the next. */
  readonly rotation_window: number;
  /** Seconds that other keys live on beside a new one; null: until the next rotation. */
  readonly overlap: number | null;
  /** When the present key was made. */
  readonly last_rotation: string;
  /** When the next is to be made, or tried again. */
  readonly next_rotation: string;
  /** Why the last try failed; empty: it did not. */
  readonly last_error: string;
};

/** Tell about a static role. */
export async function readStaticRole(
  client: Caller,
  mount: string,
  input: ReadStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<ReadStaticRoleAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/static-roles/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteStaticRoleInput = {
  /** Name of the role; its case matters. */
  readonly name: string;
  /** An existing user. */
  readonly username?: string | undefined;
  /** Time between two rotations; at least 60 seconds. */
  readonly rotation_period?: string | number | undefined;
  /** When it is rotated: five fields of cron, in UTC, such as "0 3 * * SUN". Excludes rotation_period. */
  readonly rotation_schedule?: string | undefined;
  /** How long after a time of rotation_schedule it may still be done, at least an hour; 0: until the next. */
  readonly rotation_window?: string | number | undefined;
  /** How long other keys of the user live on beside a new one; until the next rotation unless given. */
  readonly overlap?: string | number | undefined;
};

export type WriteStaticRoleAnswer = ReadStaticRoleAnswer;

/** Adopt a user of the provider and make its key, or change when it is rotated. */
export async function writeStaticRole(
  client: Caller,
  mount: string,
  input: WriteStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<WriteStaticRoleAnswer>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/static-roles/${oneSegment(name)}`,
      body,
      answer: "data",
    },
    options,
  );
}

export type DeleteStaticRoleInput = {
  /** Name of the role; its case matters. */
  readonly name: string;
  /** Leave the keys at the provider as they are, without asking it. */
  readonly force?: boolean | undefined;
};

/** Delete a static role and the keys made for it. The user stays. */
export async function deleteStaticRole(
  client: Caller,
  mount: string,
  input: DeleteStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `${mountPath(mount)}/static-roles/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type RotateStaticRoleInput = ReadRoleInput;

export type RotateStaticRoleAnswer = ReadStaticRoleAnswer;

/** Make a new key for a static role now. */
export async function rotateStaticRole(
  client: Caller,
  mount: string,
  input: RotateStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<RotateStaticRoleAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/static-roles/${oneSegment(name)}/rotate`,
      answer: "data",
    },
    options,
  );
}

export type ReadStaticCredsInput = ReadRoleInput;

export type ReadStaticCredsAnswer = {
  /** Id of the key. */
  readonly access_key: string;
  /** The key. */
  readonly secret_key: string;
  /** When it is to be replaced. */
  readonly expiration: string;
  /** Seconds until then. */
  readonly ttl: number;
  /** Seconds between two rotations; 0: there is a schedule. */
  readonly rotation_period: number;
  /** Fields of cron, in UTC; empty: there is none. */
  readonly rotation_schedule: string;
  /** Seconds after a time of the schedule; 0: until the next. */
  readonly rotation_window: number;
  /** When it was made. */
  readonly last_rotation: string;
};

/** Give the present key of a static role. It has no lease. */
export async function readStaticCreds(
  client: Caller,
  mount: string,
  input: ReadStaticCredsInput,
  options?: CallOptions,
): Promise<Answer<ReadStaticCredsAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/static-creds/${oneSegment(name)}`, answer: "data" },
    options,
  );
}
