// Whether a request needs a token, by the access that its endpoint declares and what its listener
// lets pass.

import type { Caller, NamespaceRef } from "../endpoint/request.ts";
import * as failures from "./failures.ts";
import type { Passage } from "./passage.ts";
import type { Route } from "./router.ts";

export type Need = "nobody" | "optional" | "required";

export function needOf(passage: Passage): Need {
  const { endpoint, incoming, route, namespace } = passage;
  const { listener } = incoming;
  if (endpoint === null || namespace === null) {
    const known = !passage.restricted && namespace !== null;
    return known && isPublic(route) ? "optional" : "required";
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

/** Whether anybody knows of this path: some operation on it is open to all. */
export function isPublic(route: Route): boolean {
  return [...route.methods.values()].some(({ access }) => access.kind === "open");
}

/** A token works in its namespace and below. */
export function reaches(caller: Caller, namespace: NamespaceRef): boolean {
  const own = caller.namespace.path;
  return own === "" || namespace.path === own || namespace.path.startsWith(`${own}/`);
}
