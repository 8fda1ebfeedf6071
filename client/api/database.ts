// Endpoints of database as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { mountPath, needInput, oneSegment } from "../request-path.ts";

export type ConnectionsInput = {
  /** Only what comes after this. */
  readonly after?: string | undefined;
  /** How many at most; all unless given. */
  readonly limit?: number | undefined;
};

export type ConnectionsAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the names of all connections. */
export async function connections(
  client: Caller,
  mount: string,
  query: ConnectionsInput = {},
  options?: CallOptions,
): Promise<Answer<ConnectionsAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/config`, query, answer: "data" },
    options,
  );
}

export type ReadConnectionInput = {
  /** Name of the connection; its case matters. */
  readonly name: string;
};

export type ReadConnectionAnswer = {
  /** Plugin of the catalog. */
  readonly plugin_name: string;
  /** That was asked for; empty: whichever the catalog says. */
  readonly plugin_version: string;
  /** Who may use it. */
  readonly allowed_roles: readonly string[];
  /** As written. */
  readonly root_credentials_rotate_statements: readonly string[];
  /** Empty: there are none here. */
  readonly password_policy: string;
  /** What the plugin is handed, but for secrets. */
  readonly connection_details: JsonObject;
};

/** Tell about a connection, without any secret. */
export async function readConnection(
  client: Caller,
  mount: string,
  input: ReadConnectionInput,
  options?: CallOptions,
): Promise<Answer<ReadConnectionAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/config/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteConnectionInput = {
  /** Name of the connection; its case matters. */
  readonly name: string;
  /** Whatever else the plugin takes: kept, and handed on to it as it is. */
  readonly fields: JsonObject;
  /** Database plugin of the catalog. */
  readonly plugin_name?: string | undefined;
  /** Its version; empty: whichever the catalog says. Refused while one is pinned. */
  readonly plugin_version?: string | undefined;
  /** Whether the database is logged in to now. */
  readonly verify_connection?: boolean | undefined;
  /** Roles that may use it; * for all, and at the end of a name for all that begin so. */
  readonly allowed_roles?: readonly string[] | undefined;
  /** By which rotate-root sets the new password; empty: the plugin's own. */
  readonly root_rotation_statements?: readonly string[] | undefined;
  /** Must be empty. */
  readonly password_policy?: string | undefined;
  /** Template of user names, with .DisplayName and .RoleName; empty: the built-in one. */
  readonly username_template?: string | undefined;
  /** Where the database is, with {{username}} and {{password}} in their places. */
  readonly connection_url?: string | undefined;
  /** Whom the connection logs in as. */
  readonly username?: string | undefined;
  /** Its password. Never shown again. */
  readonly password?: string | undefined;
};

/** Make a connection by a plugin, or change one. */
export async function writeConnection(
  client: Caller,
  mount: string,
  input: WriteConnectionInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, fields } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/config/${oneSegment(name)}`,
      body: fields,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteConnectionInput = {
  /** Name of the connection; its case matters. */
  readonly name: string;
  /** Whether what uses it is ended first. */
  readonly force?: boolean | undefined;
};

/** Delete a connection that nothing uses. */
export async function deleteConnection(
  client: Caller,
  mount: string,
  input: DeleteConnectionInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `${mountPath(mount)}/config/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ResetConnectionInput = ReadConnectionInput;

/** Open a connection anew, and close the one before. */
export async function resetConnection(
  client: Caller,
  mount: string,
  input: ResetConnectionInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/reset/${oneSegment(name)}`, answer: "nothing" },
    options,
  );
}

export type ReloadPluginInput = {
  /** Name of the plugin. */
  readonly plugin: string;
};

export type ReloadPluginAnswer = {
  /** Those that were opened anew. */
  readonly connections: readonly string[];
  /** How many. */
  readonly count: number;
};

/** Open all connections of a plugin anew. */
export async function reloadPlugin(
  client: Caller,
  mount: string,
  input: ReloadPluginInput,
  options?: CallOptions,
): Promise<Answer<ReloadPluginAnswer>> {
  const { plugin } = needInput(input);
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/reload/${oneSegment(plugin)}`, answer: "data" },
    options,
  );
}

export type RotateRootInput = ReadConnectionInput;

/** Make a new password for the user of a connection. Nobody is shown it. */
export async function rotateRoot(
  client: Caller,
  mount: string,
  input: RotateRootInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/rotate-root/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}

export type RolesInput = ConnectionsInput;

export type RolesAnswer = ConnectionsAnswer;

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
  /** Its connection. */
  readonly db_name: string;
  /** By which a user is made. */
  readonly creation_statements: readonly string[];
  /** By which it is ended; empty: the plugin's own. */
  readonly revocation_statements: readonly string[];
  /** Run where making one failed half-way. */
  readonly rollback_statements: readonly string[];
  /** By which its end is put off; empty: the plugin's own. */
  readonly renew_statements: readonly string[];
  /** Seconds; 0: as the mount says. */
  readonly default_ttl: number;
  /** Seconds; 0: as the mount says. */
  readonly max_ttl: number;
  /** What a user proves itself with. */
  readonly credential_type: "password" | "rsa_private_key" | "client_certificate";
  /** How that is made. */
  readonly credential_config: Readonly<Record<string, string>>;
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
  /** Connection that it uses. */
  readonly db_name?: string | undefined;
  /** By which a user is made; {{name}}, {{password}} and {{expiration}} stand for its own. */
  readonly creation_statements?: readonly string[] | undefined;
  /** By which a user is ended; empty: the plugin's own. */
  readonly revocation_statements?: readonly string[] | undefined;
  /** What is run where making a user has failed half-way. */
  readonly rollback_statements?: readonly string[] | undefined;
  /** By which the end of a user is put off; empty: the plugin's own. */
  readonly renew_statements?: readonly string[] | undefined;
  /** How long leases are; 0: as the mount says. */
  readonly default_ttl?: string | number | undefined;
  /** How long at most; 0: as the mount says. */
  readonly max_ttl?: string | number | undefined;
  /** What a user proves itself with. */
  readonly credential_type?: "password" | "rsa_private_key" | "client_certificate" | undefined;
  /** Of rsa_private_key: key_bits and format. */
  readonly credential_config?: Readonly<Record<string, string>> | undefined;
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

export type DeleteRoleInput = ReadRoleInput;

/** Delete a role. What it has given lives on until its leases end. */
export async function deleteRole(
  client: Caller,
  mount: string,
  input: DeleteRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `${mountPath(mount)}/roles/${oneSegment(name)}`, answer: "nothing" },
    options,
  );
}

export type ReadCredsInput = ReadRoleInput;

export type ReadCredsAnswer = {
  /** Name of the user. */
  readonly username: string;
  /** Its password. */
  readonly password?: string;
  /** Its private key, as PEM. */
  readonly rsa_private_key?: string;
};

/** Make a user of the database for a role. */
export async function readCreds(
  client: Caller,
  mount: string,
  input: ReadCredsInput,
  options?: CallOptions,
): Promise<Answer<ReadCredsAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/creds/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type StaticRolesInput = ConnectionsInput;

export type StaticRolesAnswer = ConnectionsAnswer;

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

export type ReadStaticRoleInput = {
  /** Name of the static role; its case matters. */
  readonly name: string;
};

export type ReadStaticRoleAnswer = {
  /** Its connection. */
  readonly db_name: string;
  /** The user whose password is rotated. */
  readonly username: string;
  /** Empty: the plugin's own. */
  readonly rotation_statements: readonly string[];
  /** Whether the user changes its password itself. */
  readonly self_managed: boolean;
  /** Seconds between two rotations; 0: there is a schedule. */
  readonly rotation_period: number;
  /** Fields of cron, in UTC; empty: there is none. */
  readonly rotation_schedule: string;
  /** Seconds after a time of the schedule; 0: until the next. */
  readonly rotation_window: number;
  /** When the password was made; null: not here. */
  readonly last_rotation: string | null;
  /** When the password was made; null: not here. */
  readonly last_vault_rotation: string | null;
  /** When the next is to be made, or tried again. */
  readonly next_rotation: string;
  /** Why the last try failed; empty: it did not. */
  readonly last_error: string;
  /** What is rotated. */
  readonly credential_type: "password";
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
  /** Name of the static role; its case matters. */
  readonly name: string;
  /** Connection that it uses. */
  readonly db_name?: string | undefined;
  /** An existing user. */
  readonly username?: string | undefined;
  /** Time between two rotations; at least 5 seconds. */
  readonly rotation_period?: string | number | undefined;
  /** When it is rotated: five fields of cron, in UTC, such as "0 3 * * SUN". Excludes rotation_period. */
  readonly rotation_schedule?: string | undefined;
  /** How long after a time of rotation_schedule it may still be done, at least an hour; 0: until the next. */
  readonly rotation_window?: string | number | undefined;
  /** By which the new password is set; empty: the plugin's own. */
  readonly rotation_statements?: readonly string[] | undefined;
  /** Whether a new role is not rotated at once. */
  readonly skip_import_rotation?: boolean | undefined;
  /** The user's present password, with which it changes its password itself. */
  readonly self_managed_password?: string | undefined;
};

/** Adopt a user of the database and make its password, or change when it is rotated. */
export async function writeStaticRole(
  client: Caller,
  mount: string,
  input: WriteStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/static-roles/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteStaticRoleInput = ReadStaticRoleInput;

/** Delete a static role. The user stays as it is. */
export async function deleteStaticRole(
  client: Caller,
  mount: string,
  input: DeleteStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `${mountPath(mount)}/static-roles/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}

export type RotateStaticRoleInput = ReadStaticRoleInput;

/** Make a new password for a static role now. */
export async function rotateStaticRole(
  client: Caller,
  mount: string,
  input: RotateStaticRoleInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/rotate-role/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadStaticCredsInput = ReadStaticRoleInput;

export type ReadStaticCredsAnswer = {
  /** The user. */
  readonly username: string;
  /** Its password. */
  readonly password: string;
  /** Seconds until it is to be replaced. */
  readonly ttl: number;
  /** Seconds between two rotations; 0: there is a schedule. */
  readonly rotation_period: number;
  /** Fields of cron, in UTC; empty: there is none. */
  readonly rotation_schedule: string;
  /** Seconds after a time of the schedule; 0: until the next. */
  readonly rotation_window: number;
  /** When the password was made; null: not here. */
  readonly last_rotation: string | null;
  /** When the password was made; null: not here. */
  readonly last_vault_rotation: string | null;
};

/** Give the present password of a static role. It has no lease. */
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
