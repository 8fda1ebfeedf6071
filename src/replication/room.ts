// The room of replication: what this cluster is among others.

import type { Tx, View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import { admissionApi, primaryApi, recoverApi } from "./api-primary.ts";
import { joiningApi, secondaryApi } from "./api-secondary.ts";
import { statusApi } from "./api-status.ts";
import { divergentApi, treesApi } from "./api-trees.ts";
import type { OperationsNeeds } from "./operations/operations.ts";
import { operationsDeclared, type OperationsParts, operationsParts } from "./operations/part.ts";
import { Replication } from "./replication.ts";
import { isFenced, type Role } from "./roles/role.ts";

export interface ReplicationNeeds extends Omit<
  AdmissionOptions,
  "view" | "replication" | "revokeOperationTokens" | "takeTicketsFrom" | "spendTicket"
> {
  readonly keeper: OperationsNeeds["keeper"];
  readonly operationTokenMaxAge: OperationsNeeds["operationTokenMaxAge"];
  readonly operationTokenAuth: OperationsNeeds["operationTokenAuth"];
  /** Of everything below core/. */
  readonly node: View;
}

export interface ReplicationParts extends OperationsParts {
  readonly replication: Replication;
  readonly admission: Admission;
}

export const replicationRoom: RoomPlan<ReplicationNeeds, ReplicationParts> = {
  name: "replication",
  declares: [
    declares(
      "src/replication/api-status.ts",
      statusApi,
      ({ replication }: ReplicationParts) => replication.status,
    ),
    declares(
      "src/replication/api-primary.ts",
      [...primaryApi, ...recoverApi],
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
    ...operationsDeclared,
  ],
  build: (needs) => {
    const view = needs.node.sub("replication/dr/");
    const { operations } = operationsParts({
      ...needs,
      role: () => ({ mode: replication.mode, ...placeOf(replication.role) }),
    });
    const tickets = {
      revokeOperationTokens: (tx: Tx) => operations.revokeAll(tx),
      takeTicketsFrom: (tx: Tx, epoch: number) => operations.takeFrom(tx, epoch),
    };
    const replication: Replication = new Replication({ ...needs, view, ...tickets });
    const admission = new Admission({
      ...needs,
      ...tickets,
      spendTicket: (tx, caller) => operations.spend(tx, caller),
      view,
      replication,
    });
    return {
      replication,
      admission,
      operations,
      whileFollowing: "leads",
      lead: () => replication.lead(),
      rest: () => replication.rest(),
      metrics: {
        recordsHealed: () => replication.trees.healed,
        replication: () => replication.status.reading,
      },
    };
  },
};

/** In which set, and when. */
function placeOf(role: Role) {
  if (role.mode === "disabled") return { set: "", epoch: 0, isFenced: false };
  return { set: role.set, epoch: role.epoch.number, isFenced: isFenced(role) };
}
