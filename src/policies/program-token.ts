// A token as the programs of RGPs and EGPs see it (contract 5.7). Name and metadata are those of its
// origin: what a caller has chosen for its child says nothing about who it is.

import type { Caller } from "../endpoint/request.ts";
import type { ProgramInput, ProgramToken } from "../policy/expr/program-input.ts";

/** Until there are replicas. */
export const NO_REPLICATION: ProgramInput["replication"] = {
  dr: "disabled",
  performance: "disabled",
};

export function programToken(caller: Caller): ProgramToken {
  const { accessor, type, policies, global, created, expires, namespace, origin, terms } = caller;
  return {
    accessor,
    displayName: origin?.name ?? "",
    type,
    policies,
    global,
    metadata: origin?.metadata ?? {},
    created,
    creationTtl: expires === null ? 0n : expires - created,
    expires,
    numUses: terms?.usesLeft ?? 0,
    period: terms?.period ?? 0n,
    explicitMaxTtl: terms?.longest ?? 0n,
    path: terms?.path ?? "acl/token",
    role: "",
    entityId: "",
    namespace: { id: namespace.id, path: namespace.path },
  };
}
