// Every declaration of the house, without a server around it: for the documents and the client that
// are made from them, and for the tests that must miss none. The server serves the same lists.

import { auditApi } from "./audit/api.ts";
import { browserApi } from "./browser/api.ts";
import type { Endpoint } from "./endpoint/endpoint.ts";
import { introspectionApi } from "./introspection/api.ts";
import { loggersApi } from "./introspection/api-loggers.ts";
import { namespacesApi } from "./namespaces/api.ts";
import { aclViewsApi } from "./policies/api-acl-views.ts";
import { capabilitiesApi } from "./policies/api-capabilities.ts";
import { governingApi } from "./policies/api-governing.ts";
import { inspectionApi } from "./policies/api-inspect.ts";
import { olderPoliciesApi, policiesApi } from "./policies/api.ts";
import { quotasApi } from "./quotas/api.ts";
import { ceremonyApi } from "./seal/api-ceremonies.ts";
import { nodeApi } from "./seal/api-node.ts";
import { sealApi } from "./seal/api.ts";
import { authTokenApi } from "./tokens/api-auth-token.ts";
import { tokensApi } from "./tokens/api.ts";

export interface DeclaredFile {
  readonly file: string;
  readonly endpoints: readonly Endpoint<never>[];
}

/** By the file that declares them, in the order in which they are documented. */
export const surface: readonly DeclaredFile[] = [
  { file: "src/seal/api.ts", endpoints: sealApi },
  { file: "src/seal/api-node.ts", endpoints: nodeApi },
  { file: "src/seal/api-ceremonies.ts", endpoints: ceremonyApi },
  { file: "src/tokens/api.ts", endpoints: tokensApi },
  { file: "src/tokens/api-auth-token.ts", endpoints: authTokenApi },
  { file: "src/namespaces/api.ts", endpoints: namespacesApi },
  { file: "src/policies/api.ts", endpoints: [...policiesApi, ...olderPoliciesApi] },
  { file: "src/policies/api-governing.ts", endpoints: governingApi },
  { file: "src/policies/api-capabilities.ts", endpoints: capabilitiesApi },
  { file: "src/policies/api-inspect.ts", endpoints: inspectionApi },
  { file: "src/policies/api-acl-views.ts", endpoints: aclViewsApi },
  { file: "src/audit/api.ts", endpoints: auditApi },
  { file: "src/quotas/api.ts", endpoints: quotasApi },
  { file: "src/browser/api.ts", endpoints: browserApi },
  { file: "src/introspection/api.ts", endpoints: introspectionApi },
  { file: "src/introspection/api-loggers.ts", endpoints: loggersApi },
];

export const everyEndpoint: readonly Endpoint<never>[] = surface.flatMap(
  ({ endpoints }) => endpoints,
);
