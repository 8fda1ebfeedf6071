// Endpoints of plugins as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type ReadPluginCatalogAnswer = {
  /** Names that stand for one without a version being said */
  readonly auth?: readonly string[];
  /** Names that stand for one without a version being said */
  readonly database?: readonly string[];
  /** Names that stand for one without a version being said */
  readonly secret?: readonly string[];
  /** By type, name and version */
  readonly detailed: readonly {
    /** Kind of plugin */
    readonly type: "auth" | "database" | "secret";
    /** Name that mounts call it by */
    readonly name: string;
    /** Version; empty for one that was registered without */
    readonly version: string;
    /** Part of the server, and not registered */
    readonly builtin: boolean;
    /** Sum of the file, or of the configuration of the image */
    readonly sha256?: string;
    /** Image that it is run from */
    readonly oci_image?: string;
    /** Plugin runtime that runs the image */
    readonly runtime?: string;
    /** Of what is built in: whether it will go */
    readonly deprecation_status?: "supported";
  }[];
};

/** List all plugins, built in and registered */
export async function readPluginCatalog(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadPluginCatalogAnswer>> {
  return client.call({ method: "GET", path: "sys/plugins/catalog", answer: "data" }, options);
}

export type ListAuthPluginsAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List plugins of type auth by name */
export async function listAuthPlugins(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListAuthPluginsAnswer>> {
  return client.call({ method: "LIST", path: "sys/plugins/catalog/auth", answer: "data" }, options);
}

export type ListDatabasePluginsAnswer = ListAuthPluginsAnswer;

/** List plugins of type database by name */
export async function listDatabasePlugins(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListDatabasePluginsAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/plugins/catalog/database", answer: "data" },
    options,
  );
}

export type ListSecretPluginsAnswer = ListAuthPluginsAnswer;

/** List plugins of type secret by name */
export async function listSecretPlugins(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListSecretPluginsAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/plugins/catalog/secret", answer: "data" },
    options,
  );
}

export type RegisterPluginInput = {
  /** What kind of plugin it is */
  readonly type: "auth" | "database" | "secret";
  /** Name of the plugin */
  readonly name: string;
  /** Refuse it where it cannot be started */
  readonly verify?: boolean | undefined;
  /** Semantic version, to be had beside others; empty for none */
  readonly version?: string | undefined;
  /** SHA-256 of the file, or of the configuration of the image: 64 digits */
  readonly sha256?: string | undefined;
  /** Name of a file in the plugin directory; with an image, a program in it */
  readonly command?: string | undefined;
  /** What it is started with */
  readonly args?: readonly string[] | undefined;
  /** Variables of its environment, each NAME=value; never shown */
  readonly env?: readonly string[] | undefined;
  /** Image to run it from, in a container; without a tag */
  readonly oci_image?: string | undefined;
  /** Plugin runtime to run the image by, default the usual one; or, of bwrap, a file */
  readonly runtime?: string | undefined;
  /** What a container reaches */
  readonly network?: "none" | "host" | undefined;
};

export type RegisterPluginAnswer = {
  /** What the plugin wrote where it did not start */
  readonly output: readonly string[];
};

/** Register a plugin, or replace one */
export async function registerPlugin(
  client: Caller,
  input: RegisterPluginInput,
  options?: CallOptions,
): Promise<Answer<RegisterPluginAnswer>> {
  const { type, name, verify, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/plugins/catalog/${oneSegment(type)}/${oneSegment(name)}`,
      query: { verify },
      body,
      answer: "data",
    },
    options,
  );
}

export type ReadPluginInput = {
  /** What kind of plugin it is */
  readonly type: "auth" | "database" | "secret";
  /** Name of the plugin */
  readonly name: string;
  /** Which one */
  readonly version?: string | undefined;
};

export type ReadPluginAnswer = {
  /** Name that mounts call it by */
  readonly name: string;
  /** Version; empty for one that was registered without */
  readonly version: string;
  /** Part of the server, and not registered */
  readonly builtin: boolean;
  /** File in the plugin directory, or program in the image */
  readonly command: string;
  /** What it is started with */
  readonly args: readonly string[];
  /** Sum of the file, or of the configuration of the image */
  readonly sha256: string;
  /** Image that it is run from */
  readonly oci_image?: string;
  /** Plugin runtime that runs the image */
  readonly runtime?: string;
  /** What the container reaches */
  readonly network?: "none" | "host";
  /** Of what is built in: whether it will go */
  readonly deprecation_status?: "supported";
  /** What it said of its version when it was registered; empty where it said nothing */
  readonly reported_version?: string;
  /** Comes from the configuration file and can be changed only there */
  readonly declared?: boolean;
  /** What makes use of it in this cluster */
  readonly mounts?: readonly {
    /** Path from the root namespace on, of a mount or of a connection in one */
    readonly path: string;
    /** Path of its namespace; empty for root */
    readonly namespace: string;
    /** Version that it is to have; empty: whichever is chosen */
    readonly version: string;
  }[];
  /** What runs of it in this cluster */
  readonly processes?: readonly {
    /** waiting: it failed, and is started again after a pause */
    readonly state: "absent" | "starting" | "ready" | "stopping" | "waiting";
    /** Number of the process */
    readonly pid: number | null;
    /** What it has in memory */
    readonly memory_bytes: number | null;
    /** How it is run */
    readonly runner: string | null;
    /** How many mounts or connections share it */
    readonly users: number;
    /** How often it was started again */
    readonly restarts: number;
    /** Sum of what runs */
    readonly sha256: string;
    /** Why it ended, or did not start, the last time */
    readonly last_cause: string | null;
  }[];
};

/** Read a plugin, what uses it and what runs of it */
export async function readPlugin(
  client: Caller,
  input: ReadPluginInput,
  options?: CallOptions,
): Promise<Answer<ReadPluginAnswer>> {
  const { type, name, ...query } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/plugins/catalog/${oneSegment(type)}/${oneSegment(name)}`,
      query,
      answer: "data",
    },
    options,
  );
}

export type DeletePluginInput = {
  /** What kind of plugin it is */
  readonly type: "auth" | "database" | "secret";
  /** Name of the plugin */
  readonly name: string;
  /** Which one; empty for the one without a version */
  readonly version?: string | undefined;
};

/** Remove a plugin from the catalog */
export async function deletePlugin(
  client: Caller,
  input: DeletePluginInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { type, name, ...body } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/plugins/catalog/${oneSegment(type)}/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ListPinnedPluginsAnswer = {
  /** By type and name */
  readonly pinned_versions: readonly {
    /** Name of the plugin */
    readonly name: string;
    /** Kind of plugin */
    readonly type: "auth" | "database" | "secret";
    /** Version that all that use it have */
    readonly version: string;
  }[];
};

/** List plugins of which one version is pinned */
export async function listPinnedPlugins(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListPinnedPluginsAnswer>> {
  return client.call({ method: "GET", path: "sys/plugins/pins", answer: "data" }, options);
}

export type ReadPluginPinInput = {
  /** Kind of plugin */
  readonly type: "auth" | "database" | "secret";
  /** Name of the plugin */
  readonly name: string;
};

export type ReadPluginPinAnswer = {
  /** Name of the plugin */
  readonly name: string;
  /** Kind of plugin */
  readonly type: "auth" | "database" | "secret";
  /** Version that all that use it have */
  readonly version: string;
};

/** Read which version of a plugin is pinned */
export async function readPluginPin(
  client: Caller,
  input: ReadPluginPinInput,
  options?: CallOptions,
): Promise<Answer<ReadPluginPinAnswer>> {
  const { type, name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/plugins/pins/${oneSegment(type)}/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type PinPluginInput = {
  /** Kind of plugin */
  readonly type: "auth" | "database" | "secret";
  /** Name of the plugin */
  readonly name: string;
  /** A registered version */
  readonly version?: string | undefined;
};

/** Pin a version of a plugin for whatever uses it */
export async function pinPlugin(
  client: Caller,
  input: PinPluginInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { type, name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/plugins/pins/${oneSegment(type)}/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type UnpinPluginInput = ReadPluginPinInput;

/** Take the pin of a plugin away */
export async function unpinPlugin(
  client: Caller,
  input: UnpinPluginInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { type, name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/plugins/pins/${oneSegment(type)}/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}

export type ReloadPluginInput = {
  /** Kind of plugin; unknown: any */
  readonly type: "auth" | "database" | "secret" | "unknown";
  /** Name of the plugin */
  readonly name: string;
  /** Empty: in this cluster; global: in all that share its data */
  readonly scope?: "" | "global" | undefined;
};

export type ReloadPluginAnswer = {
  /** By which its status is read */
  readonly reload_id: string;
  /** What was reloaded in this cluster */
  readonly mounts?: readonly {
    /** Path from the root namespace on */
    readonly path: string;
    /** Why it runs as before; empty: it was reloaded */
    readonly error: string;
  }[];
};

/** Start anew whatever runs a plugin */
export async function reloadPlugin(
  client: Caller,
  input: ReloadPluginInput,
  options?: CallOptions,
): Promise<Answer<ReloadPluginAnswer>> {
  const { type, name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/plugins/reload/${oneSegment(type)}/${oneSegment(name)}`,
      body,
      answer: "data",
    },
    options,
  );
}

export type ReloadPluginMountsInput = {
  /** Name of a plugin, of any kind */
  readonly plugin?: string | undefined;
  /** Paths of mounts from the root namespace on, such as team/kv/ or auth/people/ */
  readonly mounts?: readonly string[] | undefined;
  /** Empty: in this cluster; global: in all that share its data */
  readonly scope?: "" | "global" | undefined;
};

export type ReloadPluginMountsAnswer = ReloadPluginAnswer;

/** Start anew whatever runs a plugin, or is mounted at some paths */
export async function reloadPluginMounts(
  client: Caller,
  body: ReloadPluginMountsInput = {},
  options?: CallOptions,
): Promise<Answer<ReloadPluginMountsAnswer>> {
  return client.call(
    { method: "POST", path: "sys/plugins/reload/backend", body, answer: "data" },
    options,
  );
}

export type ReadPluginReloadInput = {
  /** Of the answer to the reload */
  readonly reload_id: string;
};

export type ReadPluginReloadAnswer = {
  /** Of the reload */
  readonly reload_id: string;
  /** By the name of the node that was asked */
  readonly results: Readonly<
    Record<
      string,
      {
        /** When it was done */
        readonly timestamp: string;
        /** What failed; empty: nothing */
        readonly error: string;
        /** What was reloaded in this cluster */
        readonly mounts: readonly {
          /** Path from the root namespace on */
          readonly path: string;
          /** Why it runs as before; empty: it was reloaded */
          readonly error: string;
        }[];
      }
    >
  >;
};

/** Read what became of a reload in this cluster */
export async function readPluginReload(
  client: Caller,
  query: ReadPluginReloadInput,
  options?: CallOptions,
): Promise<Answer<ReadPluginReloadAnswer>> {
  return client.call(
    { method: "GET", path: "sys/plugins/reload/backend/status", query, answer: "data" },
    options,
  );
}

export type ListPluginRuntimesInput = {
  /** Only those of this type; there is container */
  readonly type?: string | undefined;
};

export type ListPluginRuntimesAnswer = {
  /** By name */
  readonly runtimes: readonly {
    /** Name of the runtime */
    readonly name: string;
    /** Its type */
    readonly type: "container";
    /** Container runtime that runs the image */
    readonly oci_runtime: string;
    /** Control group that each container's is made in; empty for none */
    readonly cgroup_parent: string;
    /** Billionths of a processor for each container; 0: no limit */
    readonly cpu_nanos: number;
    /** Memory of each container; 0: no limit */
    readonly memory_bytes: number;
    /** Whether the container runtime runs without privileges */
    readonly rootless: boolean;
  }[];
};

/** List plugin runtimes */
export async function listPluginRuntimes(
  client: Caller,
  query: ListPluginRuntimesInput = {},
  options?: CallOptions,
): Promise<Answer<ListPluginRuntimesAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/plugins/runtimes/catalog", query, answer: "data" },
    options,
  );
}

export type ReadPluginRuntimesInput = ListPluginRuntimesInput;

export type ReadPluginRuntimesAnswer = ListPluginRuntimesAnswer;

/** List plugin runtimes */
export async function readPluginRuntimes(
  client: Caller,
  query: ReadPluginRuntimesInput = {},
  options?: CallOptions,
): Promise<Answer<ReadPluginRuntimesAnswer>> {
  return client.call(
    { method: "GET", path: "sys/plugins/runtimes/catalog", query, answer: "data" },
    options,
  );
}

export type RegisterPluginRuntimeInput = {
  /** Name of the runtime */
  readonly name: string;
  /** Whether the container runtime runs without privileges */
  readonly rootless?: boolean | undefined;
  /** One of plugin_oci_runtimes; empty for runsc */
  readonly oci_runtime?: string | undefined;
  /** Control group that each container's is made in: an absolute path */
  readonly cgroup_parent?: string | undefined;
  /** Billionths of a processor for each container; 0 for no limit */
  readonly cpu_nanos?: number | undefined;
  /** Memory of each container in bytes; 0 for no limit */
  readonly memory_bytes?: number | undefined;
};

/** Register a plugin runtime, or replace one */
export async function registerPluginRuntime(
  client: Caller,
  input: RegisterPluginRuntimeInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/plugins/runtimes/catalog/container/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ReadPluginRuntimeInput = {
  /** Name of the runtime */
  readonly name: string;
};

export type ReadPluginRuntimeAnswer = {
  /** Name of the runtime */
  readonly name: string;
  /** Its type */
  readonly type: "container";
  /** Container runtime that runs the image */
  readonly oci_runtime: string;
  /** Control group that each container's is made in; empty for none */
  readonly cgroup_parent: string;
  /** Billionths of a processor for each container; 0: no limit */
  readonly cpu_nanos: number;
  /** Memory of each container; 0: no limit */
  readonly memory_bytes: number;
  /** Whether the container runtime runs without privileges */
  readonly rootless: boolean;
};

/** Read a plugin runtime */
export async function readPluginRuntime(
  client: Caller,
  input: ReadPluginRuntimeInput,
  options?: CallOptions,
): Promise<Answer<ReadPluginRuntimeAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/plugins/runtimes/catalog/container/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type DeletePluginRuntimeInput = ReadPluginRuntimeInput;

/** Remove a plugin runtime */
export async function deletePluginRuntime(
  client: Caller,
  input: DeletePluginRuntimeInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/plugins/runtimes/catalog/container/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}
