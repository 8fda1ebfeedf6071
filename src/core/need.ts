// Whether a request needs a token, by the access that its endpoint declares and what its listener
// lets pass.

import type { Caller, NamespaceRef } from "../endpoint/request.ts";
import * as failures from "./failures.ts";
import type { Passage } from "./passage.ts";

export type Need = "nobody" | "optional" | "required";

export function needOf({ endpoint, incoming, meant, route, namespace }: Passage): Need {
  const { listener } = incoming;
  const publicRoute = [...route.methods.values()].some(({ access }) => access.kind === "open");
  if (endpoint === null || namespace === null) {
    const told = meant?.operation === "help" || route.methods.size > 0;
    return told && publicRoute && namespace !== null ? "optional" : "required";
  }
  const { access } = endpoint;
  switch (access.kind) {
    case "open":
      return access.caller === "optional" ? "optional" : "nobody";
    case "ceremony":
      if (listener.keyCeremonies === "off") throw failures.ceremoniesOff();
      return listener.keyCeremonies === "open" ? "optional" : "required";
    case "capability":
      return access.openTo !== null && listener.openings[access.openTo] ? "optional" : "required";
    case "token":
    case "management":
      return "required";
  }
}

/** A token works in its namespace and below. */
export function reaches(caller: Caller, namespace: NamespaceRef): boolean {
  const own = caller.namespace.path;
  return own === "" || namespace.path === own || namespace.path.startsWith(`${own}/`);
}
