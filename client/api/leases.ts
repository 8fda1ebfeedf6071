// Endpoints of leases as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, restOfPath } from "../request-path.ts";

export type LookupLeaseInput = {
  /** Id of the lease. */
  readonly lease_id: string;
};

export type LookupLeaseAnswer = {
  /** Id of the lease. */
  readonly id: string;
  /** Path of the request that it came of. */
  readonly path: string;
  /** When it was issued. */
  readonly issue_time: string;
  /** When it ends. */
  readonly expire_time: string;
  /** When it was last renewed. */
  readonly last_renewal: string | null;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** Seconds until then; 0 when that is over. */
  readonly ttl: number;
  /** Namespace, with a slash at the end; empty for root. */
  readonly namespace_path: string;
  /** Why it could not be revoked yet; empty when nothing failed. */
  readonly revoke_error: string;
};

/** Look up a lease. */
export async function lookupLease(
  client: Caller,
  body: LookupLeaseInput,
  options?: CallOptions,
): Promise<Answer<LookupLeaseAnswer>> {
  return client.call({ method: "POST", path: "sys/leases/lookup", body, answer: "data" }, options);
}

export type ListLeasesInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListLeasesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the first parts of the paths that have leases. */
export async function listLeases(
  client: Caller,
  query: ListLeasesInput = {},
  options?: CallOptions,
): Promise<Answer<ListLeasesAnswer>> {
  return client.call({ method: "LIST", path: "sys/leases/lookup", query, answer: "data" }, options);
}

export type ListLeasesBelowInput = {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListLeasesBelowAnswer = ListLeasesAnswer;

/** List leases one level below a path. */
export async function listLeasesBelow(
  client: Caller,
  input: ListLeasesBelowInput,
  options?: CallOptions,
): Promise<Answer<ListLeasesBelowAnswer>> {
  const { prefix, ...query } = needInput(input);
  return client.call(
    { method: "LIST", path: `sys/leases/lookup/${restOfPath(prefix)}`, query, answer: "data" },
    options,
  );
}

export type RenewLeaseInput = {
  /** Id of the lease. */
  readonly lease_id: string;
  /** How long from now. Default: as its role says, or its mount. */
  readonly increment?: string | number | undefined;
};

/** Renew a lease. */
export async function renewLease(
  client: Caller,
  body: RenewLeaseInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/leases/renew", body, answer: "nothing" },
    options,
  );
}

export type RenewLeaseByIdInput = {
  /** Id of the lease, with its slashes. */
  readonly lease_id: string;
  /** How long from now. Default: as its role says, or its mount. */
  readonly increment?: string | number | undefined;
};

/** Renew the lease that the path names. */
export async function renewLeaseById(
  client: Caller,
  input: RenewLeaseByIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { lease_id, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/leases/renew/${restOfPath(lease_id)}`, body, answer: "nothing" },
    options,
  );
}

export type RevokeLeaseInput = {
  /** Id of the lease. */
  readonly lease_id: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
};

/** Revoke a lease. */
export async function revokeLease(
  client: Caller,
  body: RevokeLeaseInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/leases/revoke", body, answer: "nothing" },
    options,
  );
}

export type RevokeLeaseByIdInput = {
  /** Id of the lease, with its slashes. */
  readonly lease_id: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
};

/** Revoke the lease that the path names. */
export async function revokeLeaseById(
  client: Caller,
  input: RevokeLeaseByIdInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { lease_id, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/leases/revoke/${restOfPath(lease_id)}`, body, answer: "nothing" },
    options,
  );
}

export type RevokeLeasesBelowInput = {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
};

/** Revoke all leases below a path. */
export async function revokeLeasesBelow(
  client: Caller,
  input: RevokeLeasesBelowInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { prefix, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/leases/revoke-prefix/${restOfPath(prefix)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ForceRevokeLeasesInput = {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
};

/** Forget all leases below a path, revoked or not. */
export async function forceRevokeLeases(
  client: Caller,
  input: ForceRevokeLeasesInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { prefix } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/leases/revoke-force/${restOfPath(prefix)}`, answer: "nothing" },
    options,
  );
}

/** Look through all leases for what nothing stands behind any more. */
export async function tidyLeases(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/leases/tidy", answer: "nothing" }, options);
}

export type CountLeasesInput = {
  /** Which leases. */
  readonly type: "irrevocable";
  /** Whether those of child namespaces count as well. */
  readonly include_child_namespaces?: boolean | undefined;
};

export type CountLeasesAnswer = {
  /** How many there are. */
  readonly lease_count: number;
  /** By the accessor of their mount. */
  readonly counts: Readonly<Record<string, number>>;
};

/** Count the leases that could not be revoked. */
export async function countLeases(
  client: Caller,
  query: CountLeasesInput,
  options?: CallOptions,
): Promise<Answer<CountLeasesAnswer>> {
  return client.call({ method: "GET", path: "sys/leases/count", query, answer: "data" }, options);
}

export type ReadLeasesInput = {
  /** Which leases. */
  readonly type: "irrevocable";
  /** Whether those of child namespaces count as well. */
  readonly include_child_namespaces?: boolean | undefined;
  /** How many at most, or none for no limit. Default 10000. */
  readonly limit?: string | undefined;
};

export type ReadLeasesAnswer = {
  /** How many there are. */
  readonly lease_count: number;
  /** Those that could not be revoked. */
  readonly leases: readonly {
    /** Id of the lease. */
    readonly lease_id: string;
    /** Accessor of its mount. */
    readonly mount_id: string;
    /** Why it could not be revoked. */
    readonly error: string;
  }[];
};

/** Read the leases that could not be revoked, and why. */
export async function readLeases(
  client: Caller,
  query: ReadLeasesInput,
  options?: CallOptions,
): Promise<Answer<ReadLeasesAnswer>> {
  return client.call({ method: "GET", path: "sys/leases", query, answer: "data" }, options);
}

export type RenewLeaseOlderInput = RenewLeaseInput;

/** Renew a lease. Under the path that older clients use. */
export async function renewLeaseOlder(
  client: Caller,
  body: RenewLeaseOlderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/renew", body, answer: "nothing" }, options);
}

export type RenewLeaseByIdOlderInput = RenewLeaseByIdInput;

/** Renew the lease that the path names. Under the path that older clients use. */
export async function renewLeaseByIdOlder(
  client: Caller,
  input: RenewLeaseByIdOlderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { lease_id, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/renew/${restOfPath(lease_id)}`, body, answer: "nothing" },
    options,
  );
}

export type RevokeLeaseOlderInput = RevokeLeaseInput;

/** Revoke a lease. Under the path that older clients use. */
export async function revokeLeaseOlder(
  client: Caller,
  body: RevokeLeaseOlderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/revoke", body, answer: "nothing" }, options);
}

export type RevokeLeaseByIdOlderInput = RevokeLeaseByIdInput;

/** Revoke the lease that the path names. Under the path that older clients use. */
export async function revokeLeaseByIdOlder(
  client: Caller,
  input: RevokeLeaseByIdOlderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { lease_id, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/revoke/${restOfPath(lease_id)}`, body, answer: "nothing" },
    options,
  );
}

export type RevokeLeasesBelowOlderInput = RevokeLeasesBelowInput;

/** Revoke all leases below a path. Under the path that older clients use. */
export async function revokeLeasesBelowOlder(
  client: Caller,
  input: RevokeLeasesBelowOlderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { prefix, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/revoke-prefix/${restOfPath(prefix)}`, body, answer: "nothing" },
    options,
  );
}

export type ForceRevokeLeasesOlderInput = ForceRevokeLeasesInput;

/** Forget all leases below a path, revoked or not. Under the path that older clients use. */
export async function forceRevokeLeasesOlder(
  client: Caller,
  input: ForceRevokeLeasesOlderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { prefix } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/revoke-force/${restOfPath(prefix)}`, answer: "nothing" },
    options,
  );
}
