// Every declaration of the house, without a server around it: for the documents and the client that
// are made from them, and for the tests that must miss none. The server serves the same lists.

import { auditApi } from "./audit/api.ts";
import { browserApi } from "./browser/api.ts";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { identityApi } from "./identity/api.ts";
import { introspectionApi } from "./introspection/api.ts";
import { loggersApi } from "./introspection/api-loggers.ts";
import { approleType } from "@holdfast/engines/approle/approle";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import { cubbyholePaths } from "@holdfast/engines/cubbyhole/engine";
import { kvEngine } from "@holdfast/engines/kv/kv";
import { userpassType } from "@holdfast/engines/userpass/userpass";
import { leasesApi, olderLeasesApi } from "./leases/api.ts";
import { orphansApi } from "./mounts/api/api-orphans.ts";
import { mountsApi } from "./mounts/api/api.ts";
import { mountViewsApi } from "./mounts/api/api-views.ts";
import { namespacesApi } from "./namespaces/api.ts";
import { aclViewsApi } from "./policies/api-acl-views.ts";
import { capabilitiesApi } from "./policies/inspection/api-capabilities.ts";
import { governingApi } from "./policies/governing/api-governing.ts";
import { inspectionApi } from "./policies/inspection/api-inspect.ts";
import { olderPoliciesApi, policiesApi } from "./policies/api.ts";
import { quotasApi } from "./quotas/api.ts";
import { leaseQuotasApi } from "./quotas/api-lease-count.ts";
import { ceremonyApi } from "./seal/ceremonies/api-ceremonies.ts";
import { nodeApi } from "./seal/api-node.ts";
import { sealApi } from "./seal/api.ts";
import { authTokenApi } from "./tokens/auth/api-auth-token.ts";
import { tokensApi } from "./tokens/acl/api.ts";
import { wrappingApi } from "./wrapping/api.ts";

export interface DeclaredFile {
  readonly file: string;
  readonly endpoints: readonly Endpoint<never>[];
}

/** By the file that declares them, in the order in which they are documented. */
export const surface: readonly DeclaredFile[] = [
  { file: "src/seal/api.ts", endpoints: sealApi },
  { file: "src/seal/api-node.ts", endpoints: nodeApi },
  { file: "src/seal/ceremonies/api-ceremonies.ts", endpoints: ceremonyApi },
  { file: "src/tokens/acl/api.ts", endpoints: tokensApi },
  { file: "src/tokens/auth/api-auth-token.ts", endpoints: authTokenApi },
  { file: "src/namespaces/api.ts", endpoints: namespacesApi },
  { file: "src/mounts/api/api.ts", endpoints: mountsApi },
  { file: "src/mounts/api/api-views.ts", endpoints: mountViewsApi },
  { file: "src/leases/api.ts", endpoints: [...leasesApi, ...olderLeasesApi] },
  { file: "src/wrapping/api.ts", endpoints: wrappingApi },
  { file: "src/identity/api.ts", endpoints: identityApi },
  { file: "src/policies/api.ts", endpoints: [...policiesApi, ...olderPoliciesApi] },
  { file: "src/policies/governing/api-governing.ts", endpoints: governingApi },
  { file: "src/policies/inspection/api-capabilities.ts", endpoints: capabilitiesApi },
  { file: "src/policies/inspection/api-inspect.ts", endpoints: inspectionApi },
  { file: "src/policies/api-acl-views.ts", endpoints: aclViewsApi },
  { file: "src/audit/api.ts", endpoints: auditApi },
  { file: "src/quotas/api.ts", endpoints: quotasApi },
  { file: "src/quotas/api-lease-count.ts", endpoints: leaseQuotasApi },
  { file: "src/browser/api.ts", endpoints: browserApi },
  { file: "src/introspection/api.ts", endpoints: introspectionApi },
  { file: "src/introspection/api-loggers.ts", endpoints: loggersApi },
];

export interface MountedEndpoints {
  /** What to call such a mount. */
  readonly title: string;
  /** The client's module for it. */
  readonly group: string;
  /** Where it is, or what stands for that. */
  readonly at: string;
  readonly endpoints: readonly Endpoint<never>[];
}

/** What mounts answer to, by type; paths begin at the mount. */
export const mountedSurface: readonly MountedEndpoints[] = [
  { title: "cubbyhole", group: "cubbyhole", at: "cubbyhole", endpoints: cubbyholePaths },
  { title: "kv, version 2", group: "kv", at: "<kv>", endpoints: kvEngine.paths({ version: "2" }) },
  { title: "kv, version 1", group: "kv1", at: "<kv>", endpoints: kvEngine.paths({ version: "1" }) },
  { title: "clouda", group: "clouda", at: "<clouda>", endpoints: cloudaType.paths({}) },
  { title: "cloudb", group: "cloudb", at: "<cloudb>", endpoints: cloudbType.paths({}) },
  {
    title: "userpass",
    group: "userpass",
    at: "auth/<userpass>",
    endpoints: userpassType().paths({}),
  },
  { title: "approle", group: "approle", at: "auth/<approle>", endpoints: approleType().paths({}) },
  {
    title: "every type that makes something outside",
    group: "mounts",
    at: "<mount>",
    endpoints: orphansApi,
  },
];

export const everyEndpoint: readonly Endpoint<never>[] = surface.flatMap(
  ({ endpoints }) => endpoints,
);
