// The right of a caller to do something somewhere, by its policies.

import type { Capability } from "@holdfast/shared/endpoint/access";
import type { Decision } from "../endpoint/decision.ts";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { capabilityFor } from "@holdfast/shared/endpoint/operation";
import type { RequestState } from "./request-state.ts";
import type { Decisions } from "./seams.ts";

const NO_RIGHT: Decision = { allowed: false, granting: [] };
const MANAGEMENT: Decision = {
  allowed: true,
  granting: [{ name: "root", namespaceId: ROOT_NAMESPACE.id }],
};

export function decisionOn(
  state: RequestState,
  decisions: Decisions,
  context: RequestContext,
  sudo: boolean,
): Decision | Promise<Decision> {
  const { caller, namespace, meant, incoming } = state;
  if (caller === null || namespace === null || meant === null) {
    return NO_RIGHT;
  }
  if (caller.type === "management") return MANAGEMENT;
  const { policyPath: path } = state;
  const decide = (capability: Exclude<Capability, "sudo">) =>
    decisions.decide(caller, {
      namespace,
      path,
      capability,
      sudo,
      // Brought into its one form when a rule on parameters looks at it: who has no right at all to the path
      // makes the server do nothing more.
      get data() {
        return state.data ?? {};
      },
      fields: state.endpoint?.byName,
      wrapTtl: incoming.wrapTtl,
    });
  if (asksFar(state)) return decideBeforeAsking(state, context, decide);
  const capability = capabilityOn(state, context);
  return capability instanceof Promise ? capability.then(decide) : decide(capability);
}

/** Whether it takes more than a look to say if it creates or updates, and nobody has asked yet. */
function asksFar({ endpoint, meant, exists }: RequestState): boolean {
  return endpoint?.existsElsewhere === true && meant?.operation === "update" && exists === null;
}

/** Whom neither word lets in makes nobody work. */
async function decideBeforeAsking(
  state: RequestState,
  context: RequestContext,
  decide: (capability: "create" | "update") => Decision | Promise<Decision>,
): Promise<Decision> {
  const update = await decide("update");
  const create = await decide("create");
  if (!update.allowed && !create.allowed) return update;
  return (await capabilityOn(state, context)) === "create" ? create : update;
}

/** What the request is in the words of policies: a write is `create` where nothing is there yet. */
export function capabilityOn(
  state: RequestState,
  context: RequestContext,
): Exclude<Capability, "sudo"> | Promise<Exclude<Capability, "sudo">> {
  const { endpoint, meant } = state;
  if (meant?.scans === true) return "scan";
  const operation = meant?.operation ?? "read";
  const looks = operation === "update" ? (endpoint?.exists ?? null) : null;
  if (looks === null) return capabilityFor(operation, false);
  if (state.exists !== null) return capabilityFor(operation, !state.exists);
  const found = looks(state.pathValues, context);
  const judgedBy = (exists: boolean) => {
    state.exists = exists;
    return capabilityFor(operation, !exists);
  };
  return found instanceof Promise ? found.then(judgedBy) : judgedBy(found);
}
