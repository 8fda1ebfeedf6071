// A token as the programs of RGPs and EGPs see it (contract 5.7).

import type { Caller } from "../endpoint/request.ts";
import type { ProgramInput, ProgramToken } from "../policy/expr/program-input.ts";

/** Until there are replicas. */
export const NO_REPLICATION: ProgramInput["replication"] = {
  dr: "disabled",
  performance: "disabled",
};

export function programToken(caller: Caller): ProgramToken {
  const { accessor, name, type, policies, global, created, expires, namespace, terms } = caller;
  return {
    accessor,
    displayName: name,
    type,
    policies,
    global,
    metadata: terms?.metadata ?? {},
    created,
    creationTtl: expires === null ? 0n : expires - created,
    expires,
    numUses: terms?.usesLeft ?? 0,
    period: terms?.period ?? 0n,
    explicitMaxTtl: terms?.longest ?? 0n,
    path: pathOf(caller),
    role: "",
    entityId: "",
    namespace: { id: namespace.id, path: namespace.path },
  };
}

function pathOf({ terms }: Caller): string {
  if (terms === undefined) return "acl/token";
  return terms.orphan ? "auth/token/create-orphan" : "auth/token/create";
}
