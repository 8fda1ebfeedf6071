// Who follows this primary, as those outside are told: each cluster once, under the id that it came with last.

import type { Serving } from "../links/serving.ts";
import { leftIds } from "../stream/members.ts";
import type { SecondaryFacts } from "./status.ts";

export interface Followers {
  readonly present: readonly SecondaryFacts[];
  /** They were there once, and have not come since this began. */
  readonly absent: readonly string[];
  /** Ids that a cluster has left: it comes as another one by now. */
  readonly left: readonly string[];
}

export function followersOf(
  serving: Pick<Serving, "members" | "absent" | "secondaries"> | null,
): Followers {
  if (serving === null) return { present: [], absent: [], left: [] };
  const { secondaries } = serving;
  const members = serving.members();
  const used = secondaries.known().filter((one) => one.used !== null);
  const left = leftIds(
    used.map(({ id, clusterId: cluster }) => ({ id, cluster })),
    members,
  );
  return {
    present: members
      .filter(({ id }) => !left.has(id))
      .map((one) => ({
        ...one,
        later: secondaries.laterKnownBy(one.id),
        region: used.find(({ id }) => id === one.id)?.region ?? "",
      })),
    absent: serving.absent().filter((id) => !left.has(id)),
    left: [...left],
  };
}
