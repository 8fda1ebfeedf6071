// Where in the cluster a request is answered: decided from its declaration and from what this node is to its
// cluster, before anybody looks at the token, counts the request or records it. All that belongs to the node
// that answers: it may know tokens, mounts and namespaces that this one has not heard of yet.

import type { NodeRole } from "../seal/health.ts";
import type { RequestState } from "./request-state.ts";

/** What a placement depends on. */
export type Placeable = Pick<RequestState, "endpoint" | "route"> & {
  readonly incoming: Pick<RequestState["incoming"], "wrapTtl">;
};

export function runsHere(role: NodeRole, request: Placeable): boolean {
  if (role === "active" || request.endpoint?.runs === "here") return true;
  return role === "performance-standby" && isPlainRead(request);
}

/** Whether what this node has followed so far is enough to answer, and nothing has to be written. */
function isPlainRead({ endpoint, route, incoming }: Placeable): boolean {
  if (incoming.wrapTtl !== null) return false;
  // Without an endpoint: help about a path that is known; what is not known may be there already.
  return endpoint === null ? route.methods.size > 0 : endpoint.runs === "anywhere";
}
