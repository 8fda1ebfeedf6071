// Every endpoint of the API, by room or type of engine.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

export * as seal from "./api/seal.ts";
export * as tokens from "./api/tokens.ts";
export * as namespaces from "./api/namespaces.ts";
export * as plugins from "./api/plugins.ts";
export * as mounts from "./api/mounts.ts";
export * as leases from "./api/leases.ts";
export * as wrapping from "./api/wrapping.ts";
export * as identity from "./api/identity.ts";
export * as policies from "./api/policies.ts";
export * as evidence from "./api/evidence.ts";
export * as audit from "./api/audit.ts";
export * as quotas from "./api/quotas.ts";
export * as browser from "./api/browser.ts";
export * as attention from "./api/attention.ts";
export * as introspection from "./api/introspection.ts";
export * as snapshots from "./api/snapshots.ts";
export * as replication from "./api/replication.ts";
export * as cubbyhole from "./api/cubbyhole.ts";
export * as kv from "./api/kv.ts";
export * as kv1 from "./api/kv1.ts";
export * as clouda from "./api/clouda.ts";
export * as cloudb from "./api/cloudb.ts";
export * as database from "./api/database.ts";
export * as userpass from "./api/userpass.ts";
export * as approle from "./api/approle.ts";
