// Endpoints of mounts as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { mountPath, needInput, oneSegment, restOfPath } from "../request-path.ts";

export type ListMountsAnswer = Readonly<
  Record<
    string,
    {
      /** Names the mount in policies and audit; never changes. */
      readonly accessor: string;
      /** Its type. */
      readonly type: string;
      /** What operators noted about it. */
      readonly description: string;
      /** Unique for ever. */
      readonly uuid: string;
      /** Kept out of performance replication. */
      readonly local: boolean;
      /** Whether that was asked for. */
      readonly seal_wrap: boolean;
      /** Always false. */
      readonly external_entropy_access: boolean;
      /** Options of its type. */
      readonly options: Readonly<Record<string, string>> | null;
      readonly config: {
        /** Seconds; 0: as the server says. */
        readonly default_lease_ttl: number;
        /** Seconds; 0: as the server says. */
        readonly max_lease_ttl: number;
        /** Kept for older clients. */
        readonly force_no_cache: boolean;
        /** Members of requests that audit shows in clear. */
        readonly audit_non_hmac_request_keys?: readonly string[];
        /** Members of answers that audit shows in clear. */
        readonly audit_non_hmac_response_keys?: readonly string[];
        /** Whether everybody is shown it. */
        readonly listing_visibility?: string;
        /** Headers for plugins. */
        readonly passthrough_request_headers?: readonly string[];
        /** Headers of plugins. */
        readonly allowed_response_headers?: readonly string[];
        /** Name of a key. */
        readonly identity_token_key?: string;
        /** Kind of the tokens of an auth method. */
        readonly token_type?: string;
        /** When logins of one name are refused. */
        readonly user_lockout_config?: JsonObject;
      };
      /** The version that was asked for. */
      readonly plugin_version: string;
      /** The version that runs. */
      readonly running_plugin_version: string;
      /** Of a plugin. */
      readonly running_sha256: string;
      /** Whether the type will go. */
      readonly deprecation_status: string;
      /** Why no request reaches it, or none is answered. */
      readonly state?: "disabling" | "moving" | "unloaded";
      /** Leases still to be revoked. */
      readonly leases_left?: number;
      /** Why it does not answer, or does not get on. */
      readonly trouble?: string;
      /** Shared mounts of another region that no path leads to here, since this local one is in their way. */
      readonly shadowed?: readonly {
        /** Where it is in other regions. */
        readonly path: string;
        /** Names it in policies and audit. */
        readonly accessor: string;
        /** Its type. */
        readonly type: string;
        /** Unique for ever. */
        readonly uuid: string;
      }[];
    }
  >
>;

/** List the secret engines of the namespace. */
export async function listMounts(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListMountsAnswer>> {
  return client.call({ method: "GET", path: "sys/mounts", answer: "data" }, options);
}

export type EnableMountInput = {
  /** Path of the mount. */
  readonly path: string;
  /** Type of the engine: one that is built in, or a plugin. */
  readonly type: string;
  /** Name of a plugin, where type is "plugin": older clients say it so. */
  readonly plugin_name?: string | undefined;
  /** What operators note. */
  readonly description?: string | undefined;
  /** What can be tuned. */
  readonly config?: JsonObject | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Keep it out of performance replication. */
  readonly local?: boolean | undefined;
  /** Kept for older clients, without effect: the barrier encrypts everything. */
  readonly seal_wrap?: boolean | undefined;
  /** Kept for older clients, without effect: there is no other source. */
  readonly external_entropy_access?: boolean | undefined;
  /** Version of its type. */
  readonly plugin_version?: string | undefined;
};

/** Mount a secret engine. */
export async function enableMount(
  client: Caller,
  input: EnableMountInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/mounts/${restOfPath(path)}`, body, answer: "nothing" },
    options,
  );
}

export type ReadMountInput = {
  /** Path of the mount. */
  readonly path: string;
};

export type ReadMountAnswer = {
  /** Names the mount in policies and audit; never changes. */
  readonly accessor: string;
  /** Its type. */
  readonly type: string;
  /** What operators noted about it. */
  readonly description: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Kept out of performance replication. */
  readonly local: boolean;
  /** Whether that was asked for. */
  readonly seal_wrap: boolean;
  /** Always false. */
  readonly external_entropy_access: boolean;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  readonly config: {
    /** Seconds; 0: as the server says. */
    readonly default_lease_ttl: number;
    /** Seconds; 0: as the server says. */
    readonly max_lease_ttl: number;
    /** Kept for older clients. */
    readonly force_no_cache: boolean;
    /** Members of requests that audit shows in clear. */
    readonly audit_non_hmac_request_keys?: readonly string[];
    /** Members of answers that audit shows in clear. */
    readonly audit_non_hmac_response_keys?: readonly string[];
    /** Whether everybody is shown it. */
    readonly listing_visibility?: string;
    /** Headers for plugins. */
    readonly passthrough_request_headers?: readonly string[];
    /** Headers of plugins. */
    readonly allowed_response_headers?: readonly string[];
    /** Name of a key. */
    readonly identity_token_key?: string;
    /** Kind of the tokens of an auth method. */
    readonly token_type?: string;
    /** When logins of one name are refused. */
    readonly user_lockout_config?: JsonObject;
  };
  /** The version that was asked for. */
  readonly plugin_version: string;
  /** The version that runs. */
  readonly running_plugin_version: string;
  /** Of a plugin. */
  readonly running_sha256: string;
  /** Whether the type will go. */
  readonly deprecation_status: string;
  /** Why no request reaches it, or none is answered. */
  readonly state?: "disabling" | "moving" | "unloaded";
  /** Leases still to be revoked. */
  readonly leases_left?: number;
  /** Why it does not answer, or does not get on. */
  readonly trouble?: string;
  /** Shared mounts of another region that no path leads to here, since this local one is in their way. */
  readonly shadowed?: readonly {
    /** Where it is in other regions. */
    readonly path: string;
    /** Names it in policies and audit. */
    readonly accessor: string;
    /** Its type. */
    readonly type: string;
    /** Unique for ever. */
    readonly uuid: string;
  }[];
};

/** Read what is mounted at a path. */
export async function readMount(
  client: Caller,
  input: ReadMountInput,
  options?: CallOptions,
): Promise<Answer<ReadMountAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/mounts/${restOfPath(path)}`, answer: "data" },
    options,
  );
}

export type DisableMountInput = {
  /** Path of the mount. */
  readonly path: string;
  /** Leave behind what it made outside without leases, and what nobody can remove. */
  readonly abandon?: boolean | undefined;
  /** How long to wait for it. */
  readonly wait?: string | number | undefined;
};

export type DisableMountAnswer = {
  /** It goes on, also after a restart. */
  readonly state: "disabling";
  /** Leases still to be revoked. */
  readonly leases_left: number;
};

/** Disable a secret engine and remove everything in it. */
export async function disableMount(
  client: Caller,
  input: DisableMountInput,
  options?: CallOptions,
): Promise<Answer<DisableMountAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/mounts/${restOfPath(path)}`, query, answer: "data" },
    options,
  );
}

export type ReadMountTuningInput = ReadMountInput;

export type ReadMountTuningAnswer = {
  /** Seconds. */
  readonly default_lease_ttl: number;
  /** Seconds. */
  readonly max_lease_ttl: number;
  /** Kept for older clients. */
  readonly force_no_cache: boolean;
  /** What operators noted about it. */
  readonly description: string;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  /** Members of requests that audit shows in clear. */
  readonly audit_non_hmac_request_keys?: readonly string[];
  /** Members of answers that audit shows in clear. */
  readonly audit_non_hmac_response_keys?: readonly string[];
  /** Whether everybody is shown it. */
  readonly listing_visibility?: string;
  /** Headers for plugins. */
  readonly passthrough_request_headers?: readonly string[];
  /** Headers of plugins. */
  readonly allowed_response_headers?: readonly string[];
  /** Name of a key. */
  readonly identity_token_key?: string;
  /** Kind of the tokens of an auth method. */
  readonly token_type?: string;
  /** When logins of one name are refused. */
  readonly user_lockout_config?: JsonObject;
};

/** Read what holds for a secret engine. */
export async function readMountTuning(
  client: Caller,
  input: ReadMountTuningInput,
  options?: CallOptions,
): Promise<Answer<ReadMountTuningAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/mounts/${restOfPath(path)}/tune`, answer: "data" },
    options,
  );
}

export type TuneMountInput = {
  /** Path of the mount. */
  readonly path: string;
  /** Lifetime of a lease for which none was asked. */
  readonly default_lease_ttl?: string | number | undefined;
  /** Longest lifetime of a lease. */
  readonly max_lease_ttl?: string | number | undefined;
  /** Kept for older clients, without effect: nothing that is cached is ever old. */
  readonly force_no_cache?: boolean | undefined;
  /** Members of requests that audit shows in clear. */
  readonly audit_non_hmac_request_keys?: readonly string[] | undefined;
  /** Members of answers that audit shows in clear. */
  readonly audit_non_hmac_response_keys?: readonly string[] | undefined;
  /** Whether sys/internal/ui/mounts shows it to everybody. */
  readonly listing_visibility?: "" | "hidden" | "unauth" | undefined;
  /** Headers of requests that the engine is told of. */
  readonly passthrough_request_headers?: readonly string[] | undefined;
  /** Headers that the engine may answer with. */
  readonly allowed_response_headers?: readonly string[] | undefined;
  /** Name of the key for identity tokens: default. */
  readonly identity_token_key?: string | undefined;
  /** Kind of the tokens of an auth method. Ignored, with a warning: this is no auth method. */
  readonly token_type?: "default-service" | "service" | "" | undefined;
  /** When logins of one name are refused for a while; of auth methods with passwords. Ignored, with a warning: this is no auth method. */
  readonly user_lockout_config?:
    | {
        /** Failures in a row that lock. */
        readonly lockout_threshold?: number;
        /** How long. */
        readonly lockout_duration?: string | number;
        /** After how long the count starts anew. */
        readonly lockout_counter_reset_duration?: string | number;
        /** Whether nobody is locked out. */
        readonly lockout_disable?: boolean;
      }
    | undefined;
  /** What operators note. */
  readonly description?: string | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Version of its type. */
  readonly plugin_version?: string | undefined;
};

/** Tune a secret engine. */
export async function tuneMount(
  client: Caller,
  input: TuneMountInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/mounts/${restOfPath(path)}/tune`, body, answer: "nothing" },
    options,
  );
}

export type ListAuthMethodsAnswer = ListMountsAnswer;

/** List the auth methods of the namespace. */
export async function listAuthMethods(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListAuthMethodsAnswer>> {
  return client.call({ method: "GET", path: "sys/auth", answer: "data" }, options);
}

export type EnableAuthMethodInput = EnableMountInput;

/** Mount an auth method. */
export async function enableAuthMethod(
  client: Caller,
  input: EnableAuthMethodInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/auth/${restOfPath(path)}`, body, answer: "nothing" },
    options,
  );
}

export type ReadAuthMethodInput = ReadMountInput;

export type ReadAuthMethodAnswer = ReadMountAnswer;

/** Read what is mounted at a path. */
export async function readAuthMethod(
  client: Caller,
  input: ReadAuthMethodInput,
  options?: CallOptions,
): Promise<Answer<ReadAuthMethodAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/auth/${restOfPath(path)}`, answer: "data" },
    options,
  );
}

export type DisableAuthMethodInput = DisableMountInput;

export type DisableAuthMethodAnswer = DisableMountAnswer;

/** Disable an auth method and remove everything in it. */
export async function disableAuthMethod(
  client: Caller,
  input: DisableAuthMethodInput,
  options?: CallOptions,
): Promise<Answer<DisableAuthMethodAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/auth/${restOfPath(path)}`, query, answer: "data" },
    options,
  );
}

export type ReadAuthMethodTuningInput = ReadMountInput;

export type ReadAuthMethodTuningAnswer = ReadMountTuningAnswer;

/** Read what holds for an auth method. */
export async function readAuthMethodTuning(
  client: Caller,
  input: ReadAuthMethodTuningInput,
  options?: CallOptions,
): Promise<Answer<ReadAuthMethodTuningAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/auth/${restOfPath(path)}/tune`, answer: "data" },
    options,
  );
}

export type TuneAuthMethodInput = {
  /** Path of the mount. */
  readonly path: string;
  /** Lifetime of a lease for which none was asked. */
  readonly default_lease_ttl?: string | number | undefined;
  /** Longest lifetime of a lease. */
  readonly max_lease_ttl?: string | number | undefined;
  /** Kept for older clients, without effect: nothing that is cached is ever old. */
  readonly force_no_cache?: boolean | undefined;
  /** Members of requests that audit shows in clear. */
  readonly audit_non_hmac_request_keys?: readonly string[] | undefined;
  /** Members of answers that audit shows in clear. */
  readonly audit_non_hmac_response_keys?: readonly string[] | undefined;
  /** Whether sys/internal/ui/mounts shows it to everybody. */
  readonly listing_visibility?: "" | "hidden" | "unauth" | undefined;
  /** Headers of requests that the engine is told of. */
  readonly passthrough_request_headers?: readonly string[] | undefined;
  /** Headers that the engine may answer with. */
  readonly allowed_response_headers?: readonly string[] | undefined;
  /** Name of the key for identity tokens: default. */
  readonly identity_token_key?: string | undefined;
  /** Kind of the tokens of an auth method. */
  readonly token_type?: "default-service" | "service" | "" | undefined;
  /** When logins of one name are refused for a while; of auth methods with passwords. */
  readonly user_lockout_config?:
    | {
        /** Failures in a row that lock. */
        readonly lockout_threshold?: number;
        /** How long. */
        readonly lockout_duration?: string | number;
        /** After how long the count starts anew. */
        readonly lockout_counter_reset_duration?: string | number;
        /** Whether nobody is locked out. */
        readonly lockout_disable?: boolean;
      }
    | undefined;
  /** What operators note. */
  readonly description?: string | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Version of its type. */
  readonly plugin_version?: string | undefined;
};

/** Tune an auth method. */
export async function tuneAuthMethod(
  client: Caller,
  input: TuneAuthMethodInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/auth/${restOfPath(path)}/tune`, body, answer: "nothing" },
    options,
  );
}

export type ReadAuthMethodTuningAsMountInput = ReadMountInput;

export type ReadAuthMethodTuningAsMountAnswer = ReadMountTuningAnswer;

/** Read what holds for an auth method. */
export async function readAuthMethodTuningAsMount(
  client: Caller,
  input: ReadAuthMethodTuningAsMountInput,
  options?: CallOptions,
): Promise<Answer<ReadAuthMethodTuningAsMountAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/mounts/auth/${restOfPath(path)}/tune`, answer: "data" },
    options,
  );
}

export type TuneAuthMethodAsMountInput = TuneAuthMethodInput;

/** Tune an auth method. */
export async function tuneAuthMethodAsMount(
  client: Caller,
  input: TuneAuthMethodAsMountInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/mounts/auth/${restOfPath(path)}/tune`, body, answer: "nothing" },
    options,
  );
}

export type ListVisibleMountsAnswer = {
  /** Secret engines by path. */
  readonly secret: Readonly<Record<string, JsonObject>>;
  /** Auth methods by path. */
  readonly auth: Readonly<Record<string, JsonObject>>;
};

/** List the mounts that the caller may see. */
export async function listVisibleMounts(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListVisibleMountsAnswer>> {
  return client.call({ method: "GET", path: "sys/internal/ui/mounts", answer: "data" }, options);
}

export type ReadServingMountInput = {
  /** Any path. */
  readonly path: string;
};

export type ReadServingMountAnswer = {
  /** Names the mount in policies and audit; never changes. */
  readonly accessor: string;
  /** Its type. */
  readonly type: string;
  /** What operators noted about it. */
  readonly description: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Kept out of performance replication. */
  readonly local: boolean;
  /** Whether that was asked for. */
  readonly seal_wrap: boolean;
  /** Always false. */
  readonly external_entropy_access: boolean;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  readonly config: {
    /** Seconds; 0: as the server says. */
    readonly default_lease_ttl: number;
    /** Seconds; 0: as the server says. */
    readonly max_lease_ttl: number;
    /** Kept for older clients. */
    readonly force_no_cache: boolean;
    /** Members of requests that audit shows in clear. */
    readonly audit_non_hmac_request_keys?: readonly string[];
    /** Members of answers that audit shows in clear. */
    readonly audit_non_hmac_response_keys?: readonly string[];
    /** Whether everybody is shown it. */
    readonly listing_visibility?: string;
    /** Headers for plugins. */
    readonly passthrough_request_headers?: readonly string[];
    /** Headers of plugins. */
    readonly allowed_response_headers?: readonly string[];
    /** Name of a key. */
    readonly identity_token_key?: string;
    /** Kind of the tokens of an auth method. */
    readonly token_type?: string;
    /** When logins of one name are refused. */
    readonly user_lockout_config?: JsonObject;
  };
  /** The version that was asked for. */
  readonly plugin_version: string;
  /** The version that runs. */
  readonly running_plugin_version: string;
  /** Of a plugin. */
  readonly running_sha256: string;
  /** Whether the type will go. */
  readonly deprecation_status: string;
  /** Why no request reaches it, or none is answered. */
  readonly state?: "disabling" | "moving" | "unloaded";
  /** Leases still to be revoked. */
  readonly leases_left?: number;
  /** Why it does not answer, or does not get on. */
  readonly trouble?: string;
  /** Shared mounts of another region that no path leads to here, since this local one is in their way. */
  readonly shadowed?: readonly {
    /** Where it is in other regions. */
    readonly path: string;
    /** Names it in policies and audit. */
    readonly accessor: string;
    /** Its type. */
    readonly type: string;
    /** Unique for ever. */
    readonly uuid: string;
  }[];
  /** Where it is, with a slash. */
  readonly path: string;
};

/** Read which mount serves a path. */
export async function readServingMount(
  client: Caller,
  input: ReadServingMountInput,
  options?: CallOptions,
): Promise<Answer<ReadServingMountAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/internal/ui/mounts/${restOfPath(path)}`, answer: "data" },
    options,
  );
}

export type MoveMountInput = {
  /** Path of the mount. */
  readonly from: string;
  /** Where it is to be. */
  readonly to: string;
};

export type MoveMountAnswer = {
  /** Asks for its status. */
  readonly migration_id: string;
};

/** Move a mount to another path. */
export async function moveMount(
  client: Caller,
  body: MoveMountInput,
  options?: CallOptions,
): Promise<Answer<MoveMountAnswer>> {
  return client.call({ method: "POST", path: "sys/remount", body, answer: "data" }, options);
}

export type ReadMountMoveInput = {
  /** Id of the move. */
  readonly id: string;
};

export type ReadMountMoveAnswer = {
  /** Id of the move. */
  readonly migration_id: string;
  readonly migration_info: {
    /** Where it was. */
    readonly source_mount: string;
    /** Where it is to be. */
    readonly target_mount: string;
    /** How it goes. */
    readonly status: "in-progress" | "success" | "failure";
    /** Why it failed. */
    readonly error?: string;
  };
};

/** Read how the move of a mount goes. */
export async function readMountMove(
  client: Caller,
  input: ReadMountMoveInput,
  options?: CallOptions,
): Promise<Answer<ReadMountMoveAnswer>> {
  const { id } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/remount/status/${oneSegment(id)}`, answer: "data" },
    options,
  );
}

export type ReadOrphansAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List what was made outside and could not be removed for a day. */
export async function readOrphans(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<ReadOrphansAnswer>> {
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/orphans`, answer: "data" },
    options,
  );
}

export type ListOrphansAnswer = ReadOrphansAnswer;

/** List what was made outside and could not be removed for a day. */
export async function listOrphans(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<ListOrphansAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/orphans`, answer: "data" },
    options,
  );
}

export type DeleteOrphanInput = {
  /** Id of the record. */
  readonly id: string;
};

/** Give up such a record: nobody tries any more to remove what it tells of. */
export async function deleteOrphan(
  client: Caller,
  mount: string,
  input: DeleteOrphanInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { id } = needInput(input);
  return client.call(
    { method: "DELETE", path: `${mountPath(mount)}/orphans/${oneSegment(id)}`, answer: "nothing" },
    options,
  );
}
