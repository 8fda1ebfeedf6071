// A request as the programs of RGPs and EGPs see it (policies-and-plugins 5.7): the passage without its
// credential, and without headers that nobody has declared fit for a record.

import type { Instant } from "../base/world.ts";
import type { Asked } from "../endpoint/request.ts";
import { ROOT_NAMESPACE } from "../endpoint/request.ts";
import { NO_REPLICATION, programToken } from "../policies/program-token.ts";
import type { ProgramInput } from "../policy/expr/program-input.ts";
import { capabilityOn } from "./decision.ts";
import type { Passage } from "./passage.ts";

export async function programInput(
  passage: Passage,
  asked: Asked,
  { now, headers }: { readonly now: Instant; readonly headers: readonly string[] },
): Promise<ProgramInput> {
  const { incoming, caller, home } = passage;
  const { id, path } = passage.namespace ?? ROOT_NAMESPACE;
  return {
    now,
    request: {
      id: incoming.id,
      path: passage.policyPath,
      operation: await capabilityOn(passage, asked),
      data: passage.data,
      remoteAddress: incoming.remote.address,
      remotePort: incoming.remote.port,
      headers: shownHeaders(passage, headers),
      wrapTtl: incoming.wrapTtl,
      policyOverride: incoming.policyOverride,
      unauthenticated: caller === null,
      mountPoint: home.point,
      mountType: home.type,
      mountAccessor: passage.mount?.accessor ?? "",
    },
    token: caller === null ? null : programToken(caller),
    namespace: { id, path },
    replication: NO_REPLICATION,
  };
}

/** Each value by itself, however they came: in several headers or with commas between (T-A21). */
function shownHeaders({ incoming }: Passage, names: readonly string[]) {
  const shown: Record<string, readonly string[]> = {};
  for (const name of names) {
    const given = incoming.header(name);
    if (given !== undefined) shown[name] = given.split(",").map((value) => value.trim());
  }
  return shown;
}
