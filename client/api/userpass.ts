// Endpoints of userpass as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { mountPath, needInput, oneSegment } from "../request-path.ts";

export type LoginInput = {
  /** Name of the user; the case of letters is the same. */
  readonly username: string;
  /** The password. */
  readonly password: string;
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

/** Log in with a name and a password. */
export async function login(
  client: Caller,
  mount: string,
  input: LoginInput,
  options?: CallOptions,
): Promise<Answer<LoginAnswer>> {
  const { username, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/login/${oneSegment(username)}`,
      body,
      answer: "auth",
    },
    options,
  );
}

export type UsersInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type UsersAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the names of all users. */
export async function users(
  client: Caller,
  mount: string,
  query: UsersInput = {},
  options?: CallOptions,
): Promise<Answer<UsersAnswer>> {
  return client.call(
    { method: "LIST", path: `auth/${mountPath(mount)}/users`, query, answer: "data" },
    options,
  );
}

export type ReadUserInput = {
  /** Name of the user; the case of letters is the same. */
  readonly username: string;
};

export type ReadUserAnswer = {
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
};

/** Tell what a user's tokens will be like. */
export async function readUser(
  client: Caller,
  mount: string,
  input: ReadUserInput,
  options?: CallOptions,
): Promise<Answer<ReadUserAnswer>> {
  const { username } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `auth/${mountPath(mount)}/users/${oneSegment(username)}`,
      answer: "data",
    },
    options,
  );
}

export type WriteUserInput = {
  /** Name of the user; the case of letters is the same. */
  readonly username: string;
  /** The password. */
  readonly password?: string | undefined;
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
};

/** Make a user, or change one. */
export async function writeUser(
  client: Caller,
  mount: string,
  input: WriteUserInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { username, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/users/${oneSegment(username)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteUserInput = ReadUserInput;

/** Delete a user. Tokens that came of logins live on until they end. */
export async function deleteUser(
  client: Caller,
  mount: string,
  input: DeleteUserInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { username } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `auth/${mountPath(mount)}/users/${oneSegment(username)}`,
      answer: "nothing",
    },
    options,
  );
}

export type SetPasswordInput = LoginInput;

/** Give a user another password. Ends a lock for failed logins. */
export async function setPassword(
  client: Caller,
  mount: string,
  input: SetPasswordInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { username, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/users/${oneSegment(username)}/password`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type SetPoliciesInput = {
  /** Name of the user; the case of letters is the same. */
  readonly username: string;
  /** Names of the policies of a token. */
  readonly token_policies?: readonly string[] | undefined;
};

/** Say which policies a user's tokens will have. */
export async function setPolicies(
  client: Caller,
  mount: string,
  input: SetPoliciesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { username, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `auth/${mountPath(mount)}/users/${oneSegment(username)}/policies`,
      body,
      answer: "nothing",
    },
    options,
  );
}
