// Endpoints of quotas as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type ReadQuotaConfigAnswer = {
  /** Paths that no quota counts, beside those that never are */
  readonly rate_limit_exempt_paths: readonly string[];
  /** Whether refused requests are audited */
  readonly enable_rate_limit_audit_logging: boolean;
  /** Whether answers carry X-Ratelimit headers */
  readonly enable_rate_limit_response_headers: boolean;
};

/** Read the settings of quotas */
export async function readQuotaConfig(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadQuotaConfigAnswer>> {
  return client.call({ method: "GET", path: "sys/quotas/config", answer: "data" }, options);
}

export type WriteQuotaConfigInput = {
  /** Whole paths that no quota counts, a * at the end for all that begin so. Health, seal status, unseal and the generation of a root token are never counted */
  readonly rate_limit_exempt_paths?: readonly string[] | undefined;
  /** Audit requests that are refused; a flood then fills the audit log */
  readonly enable_rate_limit_audit_logging?: boolean | undefined;
  /** Send X-Ratelimit-Limit, -Remaining and -Reset (seconds until it is full again) */
  readonly enable_rate_limit_response_headers?: boolean | undefined;
};

/** Change the settings of quotas */
export async function writeQuotaConfig(
  client: Caller,
  body: WriteQuotaConfigInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/quotas/config", body, answer: "nothing" },
    options,
  );
}

export type ListRateLimitQuotasAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List rate-limit quotas */
export async function listRateLimitQuotas(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListRateLimitQuotasAnswer>> {
  return client.call({ method: "LIST", path: "sys/quotas/rate-limit", answer: "data" }, options);
}

export type ReadRateLimitQuotaInput = {
  /** Name of the quota */
  readonly name: string;
};

export type ReadRateLimitQuotaAnswer = {
  /** Name of the quota */
  readonly name: string;
  /** Kind of quota */
  readonly type: "rate-limit";
  /** What it is on; empty for every request */
  readonly path: string;
  /** Requests in an interval, for each client address */
  readonly rate: number;
  /** Length of the interval in seconds */
  readonly interval: number;
  /** Seconds for which a client is refused that asked too often */
  readonly block_interval: number;
  /** Always empty: there are no logins with roles yet */
  readonly role: string;
  /** Whether it reaches namespaces below that have none of their own */
  readonly inheritable: boolean;
};

/** Read a rate-limit quota */
export async function readRateLimitQuota(
  client: Caller,
  input: ReadRateLimitQuotaInput,
  options?: CallOptions,
): Promise<Answer<ReadRateLimitQuotaAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/quotas/rate-limit/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteRateLimitQuotaInput = {
  /** Name of the quota */
  readonly name: string;
  /** Empty for every request; a namespace (team/), a mount (team/secret/) or a path below a mount, a * at its end for all that begin so */
  readonly path?: string | undefined;
  /** Requests in an interval, above 0 */
  readonly rate: number;
  /** Length of the interval */
  readonly interval?: string | number | undefined;
  /** How long a client is refused altogether that exceeded the rate; 0 for not */
  readonly block_interval?: string | number | undefined;
  /** Not supported yet: there are no logins with roles */
  readonly role?: string | undefined;
  /** For a namespace: reaches the namespaces below that have no quota of their own */
  readonly inheritable?: boolean | undefined;
};

/** Create or replace a rate-limit quota */
export async function writeRateLimitQuota(
  client: Caller,
  input: WriteRateLimitQuotaInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/quotas/rate-limit/${oneSegment(name)}`, body, answer: "nothing" },
    options,
  );
}

export type DeleteRateLimitQuotaInput = ReadRateLimitQuotaInput;

/** Delete a rate-limit quota */
export async function deleteRateLimitQuota(
  client: Caller,
  input: DeleteRateLimitQuotaInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/quotas/rate-limit/${oneSegment(name)}`, answer: "nothing" },
    options,
  );
}

export type ListLeaseCountQuotasAnswer = ListRateLimitQuotasAnswer;

/** List lease-count quotas */
export async function listLeaseCountQuotas(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListLeaseCountQuotasAnswer>> {
  return client.call({ method: "LIST", path: "sys/quotas/lease-count", answer: "data" }, options);
}

export type ReadLeaseCountQuotaInput = ReadRateLimitQuotaInput;

export type ReadLeaseCountQuotaAnswer = {
  /** Name of the quota */
  readonly name: string;
  /** Kind of quota */
  readonly type: "lease-count";
  /** What it is on; empty for every lease */
  readonly path: string;
  /** How many leases there may be */
  readonly max_leases: number;
  /** How many there are */
  readonly counter: number;
  /** Always empty: leases are not counted by role of a login */
  readonly role: string;
  /** Whether it reaches namespaces below that have none of their own */
  readonly inheritable: boolean;
};

/** Read a lease-count quota */
export async function readLeaseCountQuota(
  client: Caller,
  input: ReadLeaseCountQuotaInput,
  options?: CallOptions,
): Promise<Answer<ReadLeaseCountQuotaAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/quotas/lease-count/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteLeaseCountQuotaInput = {
  /** Name of the quota */
  readonly name: string;
  /** Empty for every lease; a namespace (team/), a mount (team/clouda/) or a path below a mount (clouda/creds/deploy), a * at its end for all that begin so */
  readonly path?: string | undefined;
  /** How many leases there may be */
  readonly max_leases: number;
  /** Not supported: leave it out */
  readonly role?: string | undefined;
  /** For a namespace: reaches the namespaces below that have no quota of their own */
  readonly inheritable?: boolean | undefined;
};

/** Create or replace a lease-count quota */
export async function writeLeaseCountQuota(
  client: Caller,
  input: WriteLeaseCountQuotaInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/quotas/lease-count/${oneSegment(name)}`, body, answer: "nothing" },
    options,
  );
}

export type DeleteLeaseCountQuotaInput = ReadRateLimitQuotaInput;

/** Delete a lease-count quota */
export async function deleteLeaseCountQuota(
  client: Caller,
  input: DeleteLeaseCountQuotaInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/quotas/lease-count/${oneSegment(name)}`, answer: "nothing" },
    options,
  );
}
