// A request on its way as governing policies are told of it: the passage without its credential.

import type { Instant } from "@holdfast/shared/world";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { GovernedRequest } from "../policies/governing/program-request.ts";
import { capabilityOn } from "./decision.ts";
import type { RequestState } from "./request-state.ts";

export async function governedRequest(
  state: RequestState,
  context: RequestContext,
  now: Instant,
): Promise<GovernedRequest> {
  const { incoming, caller, home } = state;
  return {
    now,
    id: incoming.id,
    namespace: state.namespace ?? ROOT_NAMESPACE,
    path: state.policyPath,
    operation: await capabilityOn(state, context),
    data: state.data,
    remote: incoming.remote,
    header: (name) => incoming.header(name),
    wrapTtl: incoming.wrapTtl,
    override: incoming.policyOverride,
    caller,
    home: { ...home, accessor: state.mount?.accessor ?? "" },
  };
}
