// Whether a request needs a token, by the access that its endpoint declares and what its listener
// lets pass.

import {
  type Caller,
  isAtOrBelow,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";
import type { RequestState } from "./request-state.ts";
import type { Route } from "@holdfast/shared/endpoint/router";

export type Need = "nobody" | "optional" | "required";

export function needOf(state: RequestState): Need {
  const { endpoint, incoming, route, namespace } = state;
  const { listener } = incoming;
  // What the node says of itself has nothing to do with namespaces: only in that of all is a token looked at.
  if (endpoint?.everywhere === true && endpoint.access.kind === "open") {
    const isLookedAt = endpoint.access.caller === "optional" && namespace?.id === ROOT_NAMESPACE.id;
    return isLookedAt ? "optional" : "nobody";
  }
  if (endpoint === null || namespace === null) {
    return namespace?.id === ROOT_NAMESPACE.id && isPublic(route) ? "optional" : "required";
  }
  const { access } = endpoint;
  switch (access.kind) {
    case "open":
      if (access.caller === "ignored") return "nobody";
      // Otherwise anybody could try out which namespaces there are.
      return namespace.id === ROOT_NAMESPACE.id ? "optional" : "required";
    case "ceremony":
      if (listener.keyCeremonies === "off") throw failures.ceremoniesOff();
      if (access.ofDrSecondary === true) return "nobody"; // there are no tokens there
      // Open to whoever is on this machine. A proxy on it brings in everybody.
      return listener.keyCeremonies === "open" && incoming.remote.loopback
        ? "optional"
        : "required";
    case "capability":
      return access.openTo !== null && listener.openings[access.openTo] ? "optional" : "required";
    case "token":
    case "management":
    case "drOperation":
      return "required";
  }
}

/** Whether anybody knows of this path: some operation on it is open to all. */
export function isPublic(route: Route): boolean {
  return [...route.methods.values()].some(({ access }) => access.kind === "open");
}

export function reaches(caller: Caller, namespace: NamespaceRef): boolean {
  return isAtOrBelow(namespace, caller.namespace);
}
