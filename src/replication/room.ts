// The room of replication: what this cluster is among others.

import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import { admissionApi, primaryApi } from "./api-primary.ts";
import { joiningApi, secondaryApi } from "./api-secondary.ts";
import { statusApi } from "./api-status.ts";
import { divergentApi, treesApi } from "./api-trees.ts";
import { Replication } from "./replication.ts";

export interface ReplicationNeeds extends Omit<AdmissionOptions, "view" | "replication"> {
  /** Of everything below core/. */
  readonly node: View;
}

export interface ReplicationParts {
  readonly replication: Replication;
  readonly admission: Admission;
}

export const replicationRoom: RoomPlan<ReplicationNeeds, ReplicationParts> = {
  name: "replication",
  declares: [
    declares(
      "src/replication/api-status.ts",
      statusApi,
      ({ replication }: ReplicationParts) => replication,
    ),
    declares(
      "src/replication/api-primary.ts",
      primaryApi,
      ({ replication }: ReplicationParts) => replication,
    ),
    declares(
      "src/replication/api-primary.ts",
      admissionApi,
      ({ admission }: ReplicationParts) => admission,
    ),
    declares(
      "src/replication/api-secondary.ts",
      joiningApi,
      ({ admission }: ReplicationParts) => admission,
    ),
    declares(
      "src/replication/api-secondary.ts",
      secondaryApi,
      ({ replication }: ReplicationParts) => replication,
    ),
    declares(
      "src/replication/api-trees.ts",
      treesApi,
      ({ replication }: ReplicationParts) => replication.trees,
    ),
    declares(
      "src/replication/api-trees.ts",
      divergentApi,
      ({ replication }: ReplicationParts) => replication,
    ),
  ],
  build: (needs) => {
    const view = needs.node.sub("replication/dr/");
    const replication = new Replication({ ...needs, view });
    const admission = new Admission({ ...needs, view, replication });
    return {
      replication,
      admission,
      whileFollowing: "leads",
      lead: () => replication.lead(),
      rest: () => replication.rest(),
    };
  },
};
