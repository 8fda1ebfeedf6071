// Endpoints of introspection as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type ReadMetricsInput = {
  /** prometheus for its text format 0.0.4, json otherwise */
  readonly format?: "json" | "prometheus" | "" | undefined;
};

/** Read the numbers about this node */
export async function readMetrics(
  client: Caller,
  query: ReadMetricsInput = {},
  options?: CallOptions,
): Promise<Answer<string>> {
  return client.call({ method: "GET", path: "sys/metrics", query, answer: "text" }, options);
}

export type ReadOpenapiInput = {
  /** Show the paths of a mount type once instead of those of each mount */
  readonly generic_mount_paths?: boolean | undefined;
};

/** Read the OpenAPI document of this server */
export async function readOpenapi(
  client: Caller,
  query: ReadOpenapiInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "GET", path: "sys/internal/specs/openapi", query, answer: "bare" },
    options,
  );
}

export type ListUsableNamespacesAnswer = {
  /** Child namespaces */
  readonly keys: readonly string[];
};

/** List the child namespaces that the caller may use */
export async function listUsableNamespaces(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListUsableNamespacesAnswer>> {
  return client.call(
    { method: "GET", path: "sys/internal/ui/namespaces", answer: "data" },
    options,
  );
}

/** Read the configuration in force, without secrets */
export async function readSanitizedConfig(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "GET", path: "sys/config/state/sanitized", answer: "data" },
    options,
  );
}

export type ReloadConfigInput = {
  /** Which part, such as listener */
  readonly what: string;
};

/** Read a part of the configuration again */
export async function reloadConfig(
  client: Caller,
  input: ReloadConfigInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { what } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/config/reload/${oneSegment(what)}`, answer: "nothing" },
    options,
  );
}

export type ReadHaStatusAnswer = {
  /** Nodes of the cluster */
  readonly nodes: readonly {
    /** Name of its host */
    readonly hostname: string;
    /** Where clients reach it */
    readonly api_address: string;
    /** Where nodes reach it; empty for a node on its own */
    readonly cluster_address: string;
    /** Whether it is the active one */
    readonly active_node: boolean;
    /** When the active node last heard of it */
    readonly last_echo: string | null;
    /** Version of its server */
    readonly version: string;
    /** Whether it answers reads as a standby */
    readonly performance_standby: boolean;
  }[];
};

/** Read which nodes the cluster has */
export async function readHaStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadHaStatusAnswer>> {
  return client.call({ method: "GET", path: "sys/ha-status", answer: "data" }, options);
}

export type ReadHostInfoAnswer = {
  readonly host: {
    /** Name of the host */
    readonly hostname: string;
    /** Operating system */
    readonly platform: string;
    /** Its version */
    readonly release: string;
    /** Kind of processor */
    readonly arch: string;
    /** Since the host started */
    readonly uptime_seconds: number;
  };
  readonly cpu: {
    /** Processors this process may use */
    readonly count: number;
    /** Over 1, 5 and 15 minutes */
    readonly load_average: readonly number[];
  };
  readonly memory: {
    /** Of the host */
    readonly total_bytes: number;
    /** Of the host */
    readonly free_bytes: number;
  };
  readonly disk: {
    /** Where data is kept; null when it is in memory */
    readonly free_bytes: number | null;
  };
  readonly process: {
    /** Number of the process */
    readonly pid: number;
    /** What it runs on */
    readonly runtime: string;
    /** Since the process started */
    readonly uptime_seconds: number;
    /** Memory of the process */
    readonly resident_bytes: number;
    /** Of it on the heap */
    readonly heap_used_bytes: number;
    /** Processor time since the start */
    readonly cpu_seconds: number;
  };
};

/** Read what this node runs on */
export async function readHostInfo(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadHostInfoAnswer>> {
  return client.call({ method: "GET", path: "sys/host-info", answer: "data" }, options);
}

export type ReadInFlightAnswer = Readonly<
  Record<
    string,
    {
      /** When it came in */
      readonly start_time: string;
      /** Verb */
      readonly request_method: string;
      /** Operation id; empty until it is known */
      readonly endpoint: string;
      /** Where it came from */
      readonly client_remote_address: string;
    }
  >
>;

/** Read which requests are being answered */
export async function readInFlight(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadInFlightAnswer>> {
  return client.call({ method: "GET", path: "sys/in-flight-req", answer: "data" }, options);
}

export type ListVersionHistoryAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the versions that have run on this storage */
export async function listVersionHistory(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListVersionHistoryAnswer>> {
  return client.call({ method: "LIST", path: "sys/version-history", answer: "data" }, options);
}

export type ReadLoggersAnswer = Readonly<
  Record<string, "debug" | "info" | "warn" | "error" | "off">
>;

/** Read how much each log of this node writes */
export async function readLoggers(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadLoggersAnswer>> {
  return client.call({ method: "GET", path: "sys/loggers", answer: "data" }, options);
}

export type WriteLoggersInput = {
  /** The least level that is written */
  readonly level: "debug" | "info" | "warn" | "error" | "off";
};

/** Change how much all logs of this node write, until it is restarted */
export async function writeLoggers(
  client: Caller,
  body: WriteLoggersInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/loggers", body, answer: "nothing" }, options);
}

/** Let all logs of this node write what the configuration says */
export async function resetLoggers(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "DELETE", path: "sys/loggers", answer: "nothing" }, options);
}

export type ReadLoggerInput = {
  /** Component, such as storage */
  readonly name: string;
};

export type ReadLoggerAnswer = ReadLoggersAnswer;

/** Read how much one log of this node writes */
export async function readLogger(
  client: Caller,
  input: ReadLoggerInput,
  options?: CallOptions,
): Promise<Answer<ReadLoggerAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/loggers/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteLoggerInput = {
  /** Component, such as storage */
  readonly name: string;
  /** The least level that is written */
  readonly level: "debug" | "info" | "warn" | "error" | "off";
};

/** Change how much one log of this node writes, until it is restarted */
export async function writeLogger(
  client: Caller,
  input: WriteLoggerInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/loggers/${oneSegment(name)}`, body, answer: "nothing" },
    options,
  );
}

export type ResetLoggerInput = ReadLoggerInput;

/** Let one log of this node write what the configuration says */
export async function resetLogger(
  client: Caller,
  input: ResetLoggerInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/loggers/${oneSegment(name)}`, answer: "nothing" },
    options,
  );
}
