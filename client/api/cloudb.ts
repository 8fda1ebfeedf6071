// Endpoints of cloudb as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { mountPath, needInput, oneSegment } from "../request-path.ts";

export type WriteConfigInput = {
  /** The subscription. */
  readonly subscription_id?: string | undefined;
  /** The tenant. */
  readonly tenant_id?: string | undefined;
  /** The application that this mount works as. */
  readonly client_id?: string | undefined;
  /** Its secret; never shown again. Excludes identity_token_audience. */
  readonly client_secret?: string | undefined;
  /** For whom proofs of this mount's identity are made, instead of a secret. */
  readonly identity_token_audience?: string | undefined;
  /** How long such a proof is good; 0: an hour. */
  readonly identity_token_ttl?: string | number | undefined;
  /** CloudBPublicCloud, CloudBUSGovernmentCloud or CloudBChinaCloud; empty: the public one. */
  readonly environment?: string | undefined;
  /** How long a secret lasts that rotate-root makes; 0: 182 days. */
  readonly root_password_ttl?: string | number | undefined;
  /** How often rotate-root is done by itself; 0: never. */
  readonly rotation_period?: string | number | undefined;
  /** When it is rotated: five fields of cron, in UTC, such as "0 3 * * SUN". Excludes rotation_period. */
  readonly rotation_schedule?: string | undefined;
  /** How long after a time of rotation_schedule it may still be done, at least an hour; 0: until the next. */
  readonly rotation_window?: string | number | undefined;
  /** Whether it is not rotated by itself for now. */
  readonly disable_automated_rotation?: boolean | undefined;
};

/** Say with which account of the provider this mount works. */
export async function writeConfig(
  client: Caller,
  mount: string,
  body: WriteConfigInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/config`, body, answer: "nothing" },
    options,
  );
}

export type ReadConfigAnswer = {
  /** The subscription. */
  readonly subscription_id: string;
  /** The tenant. */
  readonly tenant_id: string;
  /** The application that this mount works as. */
  readonly client_id: string;
  /** The cloud; empty: the public one. */
  readonly environment: string;
  /** Seconds that a secret lasts which rotate-root makes. */
  readonly root_password_ttl: number;
  /** For whom proofs of identity are made; empty: none are. */
  readonly identity_token_audience: string;
  /** Seconds that such a proof is good. */
  readonly identity_token_ttl: number;
  /** When the secret ends that the last rotation has made. */
  readonly root_password_expiration_date?: string;
  /** Whether a new secret is being proved, or the last one never worked. */
  readonly root_rotation: "none" | "pending" | "failing";
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
  /** What the server's environment decides, whatever is stored. */
  readonly environment_overrides: readonly string[];
};

/** Tell with which account of the provider this mount works, without its secret. */
export async function readConfig(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<ReadConfigAnswer>> {
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/config`, answer: "data" },
    options,
  );
}

/** Forget the account and its secret. */
export async function deleteConfig(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: `${mountPath(mount)}/config`, answer: "nothing" },
    options,
  );
}

/** Give the account another secret, which nobody but the server knows. */
export async function rotateRoot(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/rotate-root`, answer: "nothing" },
    options,
  );
}

export type RolesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the names of all roles. */
export async function roles(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<RolesAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/roles`, answer: "data" },
    options,
  );
}

export type ReadRoleInput = {
  /** Name of the role; the case of letters does not matter. */
  readonly name: string;
};

export type ReadRoleAnswer = {
  /** Roles of the provider that credentials have. */
  readonly cloudb_roles: readonly {
    /** Name of the role. */
    readonly role_name: string;
    /** Its id. */
    readonly role_id: string;
    /** Where it holds. */
    readonly scope: string;
  }[];
  /** Groups that they are members of. */
  readonly cloudb_groups: readonly {
    /** Name of the group. */
    readonly group_name: string;
    /** Its id. */
    readonly object_id: string;
  }[];
  /** The same as cloudb_roles. */
  readonly azure_roles?: readonly {
    /** Name of the role. */
    readonly role_name: string;
    /** Its id. */
    readonly role_id: string;
    /** Where it holds. */
    readonly scope: string;
  }[];
  /** The same as cloudb_groups. */
  readonly azure_groups?: readonly {
    /** Name of the group. */
    readonly group_name: string;
    /** Its id. */
    readonly object_id: string;
  }[];
  /** The application whose passwords are given; empty: none. */
  readonly application_object_id: string;
  /** Whether that is one that this role keeps. */
  readonly managed_application?: boolean;
  /** Whether one application is kept for the life of the role. */
  readonly persist_app: boolean;
  /** Seconds that credentials last; 0: as the mount says. */
  readonly ttl: number;
  /** Seconds with renewals; 0: as the mount says. */
  readonly max_ttl: number;
  /** Seconds that lease and password last at most; 0: 10 years. */
  readonly explicit_max_ttl: number;
  /** Whether what is deleted cannot be restored. */
  readonly permanently_delete: boolean;
  /** Who may sign in; empty: as the provider says. */
  readonly sign_in_audience: string;
  /** Tags of applications. */
  readonly tags: readonly string[];
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
  /** Name of the role; the case of letters does not matter. */
  readonly name: string;
  /** Roles of the provider: a JSON array, or its text, of objects with role_id or role_name, and scope. */
  readonly cloudb_roles?: JsonValue | undefined;
  /** Groups: a JSON array, or its text, of objects with object_id or group_name. */
  readonly cloudb_groups?: JsonValue | undefined;
  /** An application that is there already: credentials are passwords on it. Empty: none. */
  readonly application_object_id?: string | undefined;
  /** Whether one application is kept for the whole life of the role. */
  readonly persist_app?: boolean | undefined;
  /** How long credentials last; 0: as the mount says. */
  readonly ttl?: string | number | undefined;
  /** How long with renewals; 0: as the mount says. */
  readonly max_ttl?: string | number | undefined;
  /** How long lease and password last at most; 0: 10 years. */
  readonly explicit_max_ttl?: string | number | undefined;
  /** Whether what was made cannot be restored once it is deleted. */
  readonly permanently_delete?: boolean | undefined;
  /** Who may sign in to applications that are made. */
  readonly sign_in_audience?: string | undefined;
  /** Tags of applications that are made. */
  readonly tags?: readonly string[] | undefined;
  /** Whether persist_app is switched off also where a region that shares the mount is not reached, and may have leases of the role. */
  readonly force?: boolean | undefined;
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
  /** Name of the role; the case of letters does not matter. */
  readonly name: string;
  /** Whether the leases of the role are revoked too. */
  readonly revoke_leases?: boolean | undefined;
  /** Also where a region that shares the mount is not reached, and may have leases of the role. */
  readonly force?: boolean | undefined;
};

/** Delete a role, and the application that it keeps. Leases stay unless told otherwise. */
export async function deleteRole(
  client: Caller,
  mount: string,
  input: DeleteRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...query } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `${mountPath(mount)}/roles/${oneSegment(name)}`,
      query,
      answer: "nothing",
    },
    options,
  );
}

export type ReadCredsInput = {
  /** Name of the role; the case of letters does not matter. */
  readonly name: string;
  /** Whether to wait until the provider takes them, some minutes at most. */
  readonly verify?: boolean | undefined;
};

export type ReadCredsAnswer = {
  /** What to log in as. */
  readonly client_id: string;
  /** Its secret. */
  readonly client_secret: string;
  /** Where to log in. */
  readonly tenant_id: string;
  /** What it has rights in. */
  readonly subscription_id: string;
  /** Whether the provider has taken them three times in a row. */
  readonly verified?: boolean;
};

/** Give credentials of a role, with a lease. */
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
